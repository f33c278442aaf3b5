"""The Program: what is optimized, as an immutable value.

Sets, relations and schedules are isl text: a Program is hashable, can be pickled and stored, and only
`generator.polyhedral` turns the text into isl objects. Sizes are bound: the text has no symbolic parameters.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from math import prod
from typing import Literal, TypeAlias

from generator.expr import Expr, Load, Name, names_of

ElementType: TypeAlias = Literal["float", "double", "int", "unsigned int", "long", "unsigned long", "char",
                                 "unsigned char", "short", "unsigned short", "half"]
"""Types of C, and `half`: 16 bits of a floating-point number, which functions turn into a float and back."""
Role: TypeAlias = Literal["in", "out", "inout", "temp"]
AccessKind: TypeAlias = Literal["read", "write", "may_write"]
Lets: TypeAlias = tuple[tuple[Name, Expr], ...]
Where: TypeAlias = Literal["inline", "block"]

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
class Access:
    """One reference to an array: isl text `{ S0[i, j] -> A[i, j] }`."""

    array: str
    relation: str
    kind: AccessKind


@dataclass(frozen=True, slots=True, repr=False)
class Assignment:
    """`target op= value` (`op` is "" for a plain assignment, else + - * / ...), if `guard` (if any) is not 0.

    `lets` are values that these expressions use by name, each after those that it uses itself. Those that the guard
    uses are computed before it, the others only where it holds.
    """

    target: Load
    op: str
    value: Expr
    guard: Expr | None = None
    lets: Lets = ()

    def __repr__(self) -> str:
        """Names are the same for all programs without lets: digests depend on it."""
        named = [(name.name, name.type, value) for name, value in self.lets]
        return (f"Assignment(target={self.target!r}, op={self.op!r}, value={self.value!r}, guard={self.guard!r}"
                f"{f', lets={named!r}' if named else ''})")

    @property
    def computed(self) -> tuple[Expr, ...]:
        """What it computes besides subscripts of the target and the guard: the lets, then the value."""
        return (*(value for _, value in self.lets), self.value)

    @property
    def before_guard(self) -> int:
        """How many of the lets, from the first on, are computed before the guard."""
        needed = names_of(self.guard) if self.guard is not None and self.lets else frozenset()
        return max((k + 1 for k, (name, _) in enumerate(self.lets) if name.name in needed), default=0)

    def variables(self, expr: Expr) -> frozenset[str]:
        """The iterators on which `expr` depends, also by way of lets."""
        found = names_of(expr)
        for name, value in reversed(self.lets):
            if name.name in found:
                found = found - {name.name} | names_of(value)
        return found


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of the SCoP.

    `accesses[k]` belongs to the `Load` with `access == k`. A compound assignment has two accesses to its
    target: the write is `target.access`, the read comes right before it.
    """

    name: str
    iterators: tuple[str, ...]
    domain: str
    body: Assignment
    accesses: tuple[Access, ...]
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Step:
    """A statement that computes elements of its target, each from nothing but that element and other arrays.

    The element `e` of the target is computed by the instances whose iterator `dims[d][0]` is `e[d] - dims[d][1]`; the
    other iterators are `loops` (position, first and last value), outermost first. Of all these instances, those exist
    for which `condition`, on the iterators, holds (None: all).
    """

    statement: Statement
    dims: tuple[tuple[int, int], ...]
    loops: tuple[tuple[int, int, int], ...]
    condition: Expr | None = None


@dataclass(frozen=True, slots=True)
class Stage:
    """An array that kernels compute where they need it: its first step assigns, the others update.

    `inline`: each thread computes the elements that one of its points reads, in registers. `block`: the threads of a
    block compute all that a tile reads, in shared memory (overlapped tiles: neighbours compute some elements twice).
    """

    array: str
    where: Where
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangular part of an array: `low[d] <= index[d] <= high[d]`."""

    array: str
    low: tuple[int, ...]
    high: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """A static control part with all sizes bound.

    `schedule` is the original execution order (isl schedule tree text). `poison` lists boxes of elements that
    are surely written and not live at the entry: a runner fills them with garbage before a checked run.
    `stages`: arrays that no statement writes, computed where they are read (only in parts of a program: `sections`).
    """

    name: str
    file: str
    arrays: tuple[Array, ...]
    statements: tuple[Statement, ...]
    schedule: str
    parameters: tuple[tuple[str, int], ...]
    poison: tuple[Box, ...]
    stages: tuple[Stage, ...] = field(default=(), repr=False)  # digests are older
    _hash: int = field(default=0, init=False, repr=False, compare=False)

    def __hash__(self) -> int:
        """Computed once, and the same in every process: a Program is the key of many caches, and it may be large."""
        if not self._hash:
            found = hashlib.sha256(f"{self!r}{self.stages!r}".encode()).digest()
            object.__setattr__(self, "_hash", int.from_bytes(found[:7], "big") + 1)
        return self._hash

    def array(self, name: str) -> Array:
        """The array called `name`. Raises KeyError when there is none."""
        for array in self.arrays:
            if array.name == name:
                return array
        raise KeyError(name)

    def statement(self, name: str) -> Statement:
        """The statement called `name`, also one of a stage. Raises KeyError when there is none."""
        for statement in (*self.statements, *(step.statement for stage in self.stages for step in stage.steps)):
            if statement.name == name:
                return statement
        raise KeyError(name)

    def with_arrays(self, more: tuple[Array, ...]) -> Program:
        """The program with `more` arrays: those that only a Variant has."""
        return replace(self, arrays=(*self.arrays, *more)) if more else self

    @property
    def outputs(self) -> tuple[Array, ...]:
        """The arrays whose values after the SCoP are compared with the reference."""
        return tuple(a for a in self.arrays if a.role in ("out", "inout"))

    @property
    def digest(self) -> str:
        """A hash of the whole content (hex): the program's identity in a store."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:16]
