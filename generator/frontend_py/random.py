"""Random numbers: a hash of a seed and the coordinates, the same in numpy, in C and on every device.

    h = 0x9e3779b9
    for c in seed, coordinates, 0x9e3779b9, 0x3c6ef372, 0xdaa66d2b:
        h = ((h ^ c) * 0x5851f42d4c957f2d + 0x2545f491) >> 32

in 64-bit unsigned arithmetic; the lower 32 bits of the result are kept. Each step uses `h` once, so that the text stays
short.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

from generator.errors import InputError
from generator.frontend_py.nodes import Const, Expr, Op, as_expr, cast_to
from generator.frontend_py.param import Param
from generator.frontend_py.types import FLOAT32, INT32, Type, UInt
from generator.frontend_py.where import here

_FACTOR, _STEP, _START = 0x5851F42D4C957F2D, 0x2545F491, 0x9E3779B9
_WORD, _LONG = UInt(32), UInt(64)
_DIGITS = 24  # of a float32
_LAST = tuple(_START * (k + 1) % 2**32 for k in range(3))


def random_float(seed: Any = None) -> Expr:
    """A number in [0, 1), determined by seed and coordinates."""
    return _random(FLOAT32, seed)


def random_int(seed: Any = None) -> Expr:
    """Any int32, determined by seed and coordinates."""
    return _random(INT32, seed)


def random_uint(seed: Any = None) -> Expr:
    """Any uint32, determined by seed and coordinates."""
    return _random(_WORD, seed)


class Unseeded(Param):
    """The default seed: a hash of `tag`, the position of the call in a Func, and of the Func's name in its pipeline.

    The name distinguishes Funcs of the same name (or without one).
    """

    def __init__(self, tag: str) -> None:
        super().__init__(_WORD, "", zlib.crc32(tag.encode()))
        self.tag = tag

    def belong(self, func: str) -> None:
        """Set the seed for the Func that is called `func` in its pipeline."""
        self.set(zlib.crc32(f"{func}:{self.tag}".encode()))


def _random(kind: Type, seed: Any) -> Expr:
    given = None if seed is None else as_expr(seed)
    if given is not None and (given.type.is_float() or given.type.bits > 32):
        raise InputError(f"the seed of random numbers is an integer of at most 32 bits, not a {given.type}", here())
    return Op("random", kind, () if given is None else (cast_to(_WORD, given),))


def number_of(kind: Type, seed: Expr, coordinates: Sequence[Expr]) -> Expr:
    """Return the random number of a seed at `coordinates`."""
    state: Expr = Const(_WORD, _START)
    for word in (seed, *(cast_to(_WORD, c) for c in coordinates), *(Const(_WORD, last) for last in _LAST)):
        state = _step(state, word)
    if kind.is_float():
        return cast_to(kind, state >> (32 - _DIGITS)) * Const(kind, 2.0**-_DIGITS)
    return cast_to(kind, state)


def _step(state: Expr, word: Expr) -> Expr:
    if isinstance(state, Const) and isinstance(word, Const):
        mixed = (int(state.value) ^ int(word.value)) * _FACTOR + _STEP
        return Const(_WORD, mixed % 2**64 >> 32)
    long = cast_to(_LONG, state ^ word) * Const(_LONG, _FACTOR) + Const(_LONG, _STEP)
    return cast_to(_WORD, long >> 32)
