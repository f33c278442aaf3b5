"""The scalar types of the pipeline language, and their combination (Halide's rules).

    u8 + i16 -> i16    u8 + u16 -> u16    u8 + i8 -> i8    i32 + f32 -> f32    f32 + f64 -> f64
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

import numpy as np

from generator.errors import InputError
from generator.frontend_py.called import Count, Word
from generator.frontend_py.where import here
from generator.program import NUMPY_TYPES, ElementType

Code: TypeAlias = Literal["int", "uint", "float"]
_WORDS = {8: "char", 16: "short", 32: "int", 64: "long"}


@dataclass(frozen=True, slots=True, init=False)
class Type:
    """A scalar type; one bit is a truth value, stored in a byte. Called, it returns itself: `e.type()` is `e.type`."""

    code: Code
    bits: Count

    def __init__(self, code: Code, bits: int) -> None:
        object.__setattr__(self, "code", Word(code))
        object.__setattr__(self, "bits", Count(bits))

    def __call__(self) -> Type:
        """Return itself."""
        return self

    def __str__(self) -> str:
        return f"{self.code}{self.bits}"

    def is_float(self) -> bool:
        """Return whether values are floating-point numbers."""
        return self.code == "float"

    def is_int(self) -> bool:
        """Return whether values are signed integers."""
        return self.code == "int"

    def is_uint(self) -> bool:
        """Return whether values are unsigned integers, including truth values."""
        return self.code == "uint"

    def is_bool(self) -> bool:
        """Return whether values are truth values."""
        return self.code == "uint" and self.bits == 1

    def bytes(self) -> int:
        """Return the bytes of a value."""
        return (self.bits + 7) // 8

    def lanes(self) -> int:
        """Return 1: there are no vectors here."""
        return 1

    def is_scalar(self) -> bool:
        """Return True: there are no vectors here."""
        return True

    def is_vector(self) -> bool:
        """Return False."""
        return False

    def can_represent(self, other: Type) -> bool:
        """Return whether all values of another type exist in this one (integers in a floating type: exactly)."""
        if self.is_float():
            digits = {16: 11, 32: 24, 64: 53}[int(self.bits)]
            return other.bits <= (self.bits if other.is_float() else digits + other.is_int())
        return not other.is_float() and self.least <= other.least and other.greatest <= self.greatest

    def with_bits(self, bits: int) -> Type:
        """Return the same kind of number with so many bits."""
        return Type(self.code, bits)

    @property
    def least(self) -> int | float:
        """The least value: minus infinity for floating types."""
        if self.is_float():
            return -float("inf")
        return 0 if self.is_uint() else -int(2 ** (self.bits - 1))

    @property
    def greatest(self) -> int | float:
        """The greatest value: infinity for floating types."""
        if self.is_float():
            return float("inf")
        return int(2**self.bits - 1 if self.is_uint() else 2 ** (self.bits - 1) - 1)

    def min(self) -> Any:
        """Return the least value, as an expression of the type."""
        from generator.frontend_py.nodes import Const

        return Const(self, self.least)

    def max(self) -> Any:
        """Return the greatest value, as an expression of the type."""
        from generator.frontend_py.nodes import Const

        return Const(self, self.greatest)

    @property
    def element(self) -> ElementType:
        """The element type of arrays of such values."""
        if self.is_float():
            return "half" if self.bits == 16 else "float" if self.bits == 32 else "double"
        word = _WORDS[max(self.bits, 8)]
        return cast(ElementType, f"unsigned {word}" if self.is_uint() else word)

    @property
    def numpy(self) -> np.dtype[Any]:
        """The numpy type of such values."""
        return np.dtype("bool") if self.is_bool() else np.dtype(NUMPY_TYPES[self.element])

    @property
    def computed(self) -> Type:
        """The type of computations with its values: float32 for float16, else itself."""
        return FLOAT32 if self == FLOAT16 else self

    def holds(self, value: float) -> bool:
        """Return whether the number `value` exists in this type (for floating types: up to rounding)."""
        return self.is_float() or (float(value).is_integer() and self.least <= value <= self.greatest)


def Int(bits: int) -> Type:
    """Signed integers: 8, 16, 32 or 64 bits."""
    return _type("int", bits, (8, 16, 32, 64))


def UInt(bits: int) -> Type:
    """Unsigned integers: 8, 16, 32 or 64 bits, or 1 (a truth value)."""
    return _type("uint", bits, (1, 8, 16, 32, 64))


def Float(bits: int) -> Type:
    """Floating-point numbers: 32 or 64 bits; or 16, which are only stored, and computed as float32."""
    return _type("float", bits, (16, 32, 64))


def Bool() -> Type:
    """Truth values."""
    return Type("uint", 1)


def _type(code: Code, bits: int, known: tuple[int, ...]) -> Type:
    if bits not in known:
        raise InputError(f"there is no type {code}{bits}; use {', '.join(map(str, known))} bits", here())
    return Type(code, bits)


INT32, BOOL = Type("int", 32), Type("uint", 1)
FLOAT16, FLOAT32, FLOAT64 = Type("float", 16), Type("float", 32), Type("float", 64)


def promoted(one: Type, other: Type) -> Type:
    """Return the common type of operands of two types.

    A floating type wins over an integer; of two floating or two unsigned types, the wider one; otherwise the result is
    signed with the greater number of bits (narrower than in C: u32 and i32 give i32).
    """
    if one == other:
        return one
    if one.is_float() or other.is_float():
        return max((t for t in (one, other) if t.is_float()), key=lambda t: t.bits)
    if one.is_uint() and other.is_uint():
        return max(one, other, key=lambda t: t.bits)
    return Type("int", max(one.bits, other.bits))


def type_of_numpy(kind: Any) -> Type:
    """Return the type of the elements of a numpy array. Raises InputError for an unsupported one."""
    found = np.dtype(kind)
    if found == np.dtype("bool"):
        return BOOL
    codes: dict[str, Code] = {"i": "int", "u": "uint", "f": "float"}
    if found.kind not in codes or found.itemsize > 8:
        raise InputError(f"arrays of {found} cannot be used; convert them to an integer type, float16, 32 or 64")
    return Type(codes[found.kind], 8 * found.itemsize)
