"""The data contract: which arrays kernels are given, what they have to compute, and how exactly.

It says nothing of loops or texts: a polyhedral Program has one, and so has a kernel template.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Literal, TypeAlias

ElementType: TypeAlias = Literal["float", "double", "int", "unsigned int", "long", "unsigned long", "char",
                                 "unsigned char", "short", "unsigned short", "half"]
"""Types of C, and `half`: 16 bits of a floating-point number, which functions turn into a float and back."""
Role: TypeAlias = Literal["in", "out", "inout", "temp"]

ELEMENT_BYTES: dict[str, int] = {"float": 4, "double": 8, "int": 4, "unsigned int": 4, "long": 8,
                                 "unsigned long": 8, "char": 1, "unsigned char": 1, "short": 2,
                                 "unsigned short": 2, "half": 2}
NUMPY_TYPES: dict[str, str] = {"float": "float32", "double": "float64", "int": "int32", "unsigned int": "uint32",
                               "long": "int64", "unsigned long": "uint64", "char": "int8",
                               "unsigned char": "uint8", "short": "int16", "unsigned short": "uint16",
                               "half": "float16"}


@dataclass(frozen=True, slots=True)
class Array:
    """An array, or a scalar when `extents` is empty.

    `role`: `in` is only read; `out` is written and none of its elements is live at the entry; `inout` is
    written and some element is live at the entry; `temp` is local to the SCoP (neither live in nor out).
    `expanded` names the loops whose iterations have copies of their own: the leading dimensions. `declared` are the
    extents that the program itself gives the array, where they are others than those of the model (a matrix in one
    dimension); the model's array may then have a few elements more at its end.
    """

    name: str
    type: ElementType
    extents: tuple[int, ...]
    role: Role
    expanded: tuple[str, ...] = ()
    declared: tuple[int, ...] = field(default=(), repr=False)  # digests are older

    @property
    def own_extents(self) -> tuple[int, ...]:
        """The extents that the program gives it: the shape of its data outside of kernels."""
        return self.declared or self.extents

    @property
    def c_type(self) -> str:
        """The type that C gives an element: a half is 16 bits there."""
        return "unsigned short" if self.type == "half" else self.type

    @property
    def own_elements(self) -> int:
        """The number of elements that the program's own array has (1 for a scalar)."""
        return prod(self.own_extents)

    @property
    def own_bytes(self) -> int:
        """The size of the program's own array in bytes."""
        return self.own_elements * ELEMENT_BYTES[self.type]

    @property
    def by_value(self) -> bool:
        """True for a scalar that is only read: it is passed to kernels by value."""
        return not self.extents and self.role == "in"

    @property
    def elements(self) -> int:
        """The number of elements (1 for a scalar)."""
        return prod(self.extents)

    @property
    def bytes(self) -> int:
        """The size in bytes."""
        return self.elements * ELEMENT_BYTES[self.type]


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangular part of an array: `low[d] <= index[d] <= high[d]`."""

    array: str
    low: tuple[int, ...]
    high: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far an element of an output may be off: `absolute + relative * |expected|`, as `numpy.allclose` has it."""

    relative: float
    absolute: float


@dataclass(frozen=True, slots=True)
class Contract:
    """The arrays of a computation with their roles.

    `poison` lists boxes of elements that are surely written and not live at the entry: a runner fills them with garbage
    before a checked run. `tolerance`: None where it follows from types and the longest chain of updates
    (`generator.rounding`).
    """

    arrays: tuple[Array, ...]
    poison: tuple[Box, ...] = ()
    tolerance: Tolerance | None = None

    @property
    def outputs(self) -> tuple[Array, ...]:
        """The arrays whose values afterwards are compared with the reference."""
        return tuple(a for a in self.arrays if a.role in ("out", "inout"))

    def array(self, name: str) -> Array:
        """The array called `name`. Raises KeyError when there is none."""
        for array in self.arrays:
            if array.name == name:
                return array
        raise KeyError(name)
