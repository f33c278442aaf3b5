"""The operators of the language on numpy arrays: the definition of their meaning."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from generator.frontend_py.types import Type

Values: TypeAlias = NDArray[Any]

_BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "<": np.less, "<=": np.less_equal, ">": np.greater,
    ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal, "&": np.bitwise_and, "|": np.bitwise_or,
    "^": np.bitwise_xor, "pow": np.power, "atan2": np.arctan2, "hypot": np.hypot}
_ERF = np.frompyfunc(math.erf, 1, 1)  # numpy has none
_UNARY: Mapping[str, Callable[[Any], Any]] = {
    "neg": np.negative,
    "!": np.logical_not,
    "~": np.invert,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "log": np.log,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,
    "trunc": np.trunc,
}


def apply(name: str, kind: Type, args: list[Values]) -> Values:
    """Return the result of an operator, of type `kind`; operands are as in `nodes.Op`. float16 is float32 here."""
    if name not in ("cast", "reinterpret"):
        kind = kind.computed
    if name in _BINARY:
        return np.asarray(_BINARY[name](*args))
    if name in _UNARY:
        return np.asarray(_UNARY[name](*args))
    match name:
        case "/":
            return np.asarray(np.divide(*args)) if kind.is_float() else _divided(*args)[0]
        case "%":
            return _divided(*args)[1]
        case "fmod":
            return np.asarray(args[0] - args[1] * np.floor(args[0] / args[1]))
        case "min" | "max":
            if kind.is_float():
                return np.asarray((np.fmin if name == "min" else np.fmax)(*args))
            return np.asarray((np.minimum if name == "min" else np.maximum)(*args))
        case "select":
            return np.asarray(np.where(args[0], args[1], args[2]))
        case "<<" | ">>":
            count = np.abs(args[1]).astype(args[0].dtype)
            there, back = (np.left_shift, np.right_shift) if name == "<<" else (np.right_shift, np.left_shift)
            return np.asarray(np.where(args[1] < 0, back(args[0], count), there(args[0], count)))
        case "abs":
            return np.asarray(np.abs(args[0])).astype(kind.numpy, copy=False)
        case "absd":
            one, other = (np.asarray(a).astype(kind.numpy) for a in args)
            return np.asarray(np.where(args[0] < args[1], other - one, one - other))
        case "erf":
            return np.asarray(_ERF(args[0])).astype(kind.numpy)
        case "popcount" | "clz":
            return _bits(name, args[0]).astype(kind.numpy)
        case "reinterpret":
            return _same_bits(kind, args[0])
        case "cast":
            return converted(kind, args[0])
        case _:
            raise AssertionError(f"unknown operation {name}")


def converted(kind: Type, value: Values) -> Values:
    """Return `value` in another type: integers wrap around, floating-point numbers are truncated towards 0."""
    if kind.is_bool():
        return np.asarray(value != 0)
    if value.dtype.kind == "f" and not kind.is_float() and kind.bits < 64:
        value = value.astype(np.int64)  # values outside of the narrow type wrap around in the same way everywhere
    return np.asarray(value.astype(kind.numpy).astype(kind.computed.numpy))


def _same_bits(kind: Type, value: Values) -> Values:
    bits = value.astype(np.float16) if kind.bits == 16 and not kind.is_float() else np.array(value)
    return np.asarray(bits.view(kind.numpy).astype(kind.computed.numpy))


def _bits(name: str, value: Values) -> Values:
    """Return the number of set bits, or of leading zeros."""
    size = 8 * value.dtype.itemsize
    bits = np.array(value).view(f"uint{size}")
    if name == "popcount":
        return np.asarray(np.bitwise_count(bits))
    for shift in (1, 2, 4, 8, 16, 32):
        if shift < size:
            bits = bits | (bits >> bits.dtype.type(shift))
    return np.asarray(size - np.bitwise_count(bits).astype(np.int32))


def _divided(left: Values, right: Values) -> tuple[Values, Values]:
    """Return quotient and remainder of integers: the remainder is not negative; both are 0 for a divisor of 0."""
    zero = right == 0
    divisor = np.where(zero, right.dtype.type(1), right)
    quotient, rest = np.floor_divide(left, divisor), np.remainder(left, divisor)
    wrong = rest < 0  # numpy gives the remainder the sign of the divisor
    quotient = np.where(wrong, quotient + quotient.dtype.type(1), quotient)
    rest = np.where(wrong, rest - divisor, rest)
    none = quotient.dtype.type(0)
    return np.where(zero, none, quotient), np.where(zero, none, rest)
