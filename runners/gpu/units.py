"""Compile text to device code of one architecture, kernel by kernel, in the compile pool. Needs no GPU."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from generator.target import Target
from generator.variant import Variant
from runners.driver import Built, check_limits
from runners.kernel_codes import KernelCodes, alone, errors_name


@dataclass(frozen=True, slots=True)
class Binary:
    """A compiled kernel, sent from the compile pool to the device worker: its code, and the bytes that a thread spills.

    `spills` is None if the compiler does not report them.
    """

    code: bytes
    spills: int | None

    def packed(self) -> bytes:
        """Return one string of bytes: a line of JSON, then the code."""
        return json.dumps(self.spills).encode() + b"\n" + self.code


def unpacked(packed: bytes) -> Binary:
    """Return the result of `Binary.packed` as a Binary."""
    spills, _, code = packed.partition(b"\n")
    return Binary(code, json.loads(spills))


def _spills(found: Sequence[int | None]) -> int | None:
    """Return the bytes that kernels spill together; None if they are not known of one of them."""
    known = [spills for spills in found if spills is not None]
    return sum(known) if len(known) == len(found) else None


class UnitCompiler:
    """`driver.Compiler`: needs the GPU's architecture, not the GPU."""

    def __init__(self, target: Target, translate: Callable[[Variant], Binary], folder: Path | None = None) -> None:
        """`translate` compiles a Variant of one kernel; `folder` is that of `kernel_codes.KernelCodes`."""
        self._target, self._translate, self._codes = target, translate, KernelCodes(folder)

    def compile(self, variant: Variant, begin: Callable[[], None] = lambda: None) -> Built:
        """See `driver.Compiler`."""
        for kernel in variant.kernels:
            check_limits(kernel, self._target.max_threads, self._target.local_bytes)
        units = [alone(kernel, variant) for kernel in variant.kernels]
        codes = [self._codes.get(unit) for unit in units]
        compiled = None in codes
        for number, unit in enumerate(units):
            if codes[number] is None:
                begin()
                with errors_name(variant.kernels[number], unit):
                    codes[number] = self._translated(unit)
        found = tuple(code for code in codes if code is not None)
        return Built(found, compiled, _spills([unpacked(code).spills for code in found]))

    def _translated(self, unit: Variant) -> bytes:
        code = self._translate(unit).packed()
        self._codes.put(unit, None, code)
        return code
