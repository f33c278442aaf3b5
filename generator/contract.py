"""The data contract: the arrays that kernels take, the results they must compute, and the tolerance.

It does not mention loops or text: a polyhedral Program has a contract, and so has a kernel template.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Literal, TypeAlias

ElementType: TypeAlias = Literal["float", "double", "int", "unsigned int", "long", "unsigned long", "char",
                                 "unsigned char", "short", "unsigned short", "half"]
"""C types, and `half`: the 16 bits of a floating-point number, which functions convert to float and back."""
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
    """An array, or a scalar if `extents` is empty.

    `role`: `in` is only read; `out` is written, and no element is live at the entry; `inout` is written, and some
    element is live at the entry; `temp` is local to the SCoP (neither live in nor out). `expanded`: the loops along
    which the array is expanded (one copy per iteration), as leading dimensions. `declared`: the extents in the source
    if they differ from those of the model (a matrix stored in one dimension); the model's array may have a few more
    elements at its end. `boolean`: its bytes are truth values, 0 or 1, which a user passes as such.
    """

    name: str
    type: ElementType
    extents: tuple[int, ...]
    role: Role
    expanded: tuple[str, ...] = ()
    declared: tuple[int, ...] = field(default=(), repr=False)  # digests are older
    boolean: bool = field(default=False, repr=False, compare=False)

    @property
    def own_extents(self) -> tuple[int, ...]:
        """The extents in the source: the shape of the data outside of kernels."""
        return self.declared or self.extents

    @property
    def numpy_type(self) -> str:
        """The name of numpy's type of its elements, as a user passes them."""
        return "bool" if self.boolean and self.extents else NUMPY_TYPES[self.type]

    @property
    def c_type(self) -> str:
        """The C type of an element; a half is stored in 16 bits."""
        return "unsigned short" if self.type == "half" else self.type

    @property
    def own_elements(self) -> int:
        """The number of elements of the array in the source (1 for a scalar)."""
        return prod(self.own_extents)

    @property
    def own_bytes(self) -> int:
        """The size of the array in the source, in bytes."""
        return self.own_elements * ELEMENT_BYTES[self.type]

    @property
    def by_value(self) -> bool:
        """Whether it is a scalar that is only read: such a scalar is passed to kernels by value."""
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
    """The allowed error of an output element: `absolute + relative * |expected|`, as in `numpy.allclose`."""

    relative: float
    absolute: float


@dataclass(frozen=True, slots=True)
class Contract:
    """The arrays of a computation with their roles.

    `poison`: boxes of elements that are always written and not live at the entry; a runner fills them with garbage
    before a checked run. `tolerance`: None if it follows from the types and the longest chain of updates
    (`generator.rounding`).
    """

    arrays: tuple[Array, ...]
    poison: tuple[Box, ...] = ()
    tolerance: Tolerance | None = None

    @property
    def outputs(self) -> tuple[Array, ...]:
        """The arrays that are compared with the reference after a run."""
        return tuple(a for a in self.arrays if a.role in ("out", "inout"))

    def array(self, name: str) -> Array:
        """Return the array called `name`. Raises KeyError if there is none."""
        for array in self.arrays:
            if array.name == name:
                return array
        raise KeyError(name)
