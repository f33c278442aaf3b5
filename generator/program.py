"""The Program to optimize, as an immutable value.

Sets, relations and schedules are isl text: a Program is hashable, can be pickled and stored, and only
`generator.polyhedral` turns the text into isl objects. Sizes are bound: the text has no symbolic parameters.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from generator.contract import ELEMENT_BYTES, NUMPY_TYPES, Array, Box, Contract, ElementType, Role
from generator.expr import Expr, Load, Name, names_of

__all__ = ["ELEMENT_BYTES", "NUMPY_TYPES", "Access", "AccessKind", "Array", "Assignment", "Box", "ElementType", "Lets",
           "Program", "Role", "Stage", "Statement", "Step", "Where", "computed_by", "lines_of"]

AccessKind: TypeAlias = Literal["read", "write", "may_write"]
Lets: TypeAlias = tuple[tuple[Name, Expr], ...]
Where: TypeAlias = Literal["inline", "block"]


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
        """The computed expressions except subscripts of the target and the guard: the lets, then the value."""
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


@dataclass(frozen=True, slots=True, repr=False)
class Step:
    """A statement that computes elements of its target, each from nothing but that element and other arrays.

    The element `e` of the target is computed by the instances whose iterator `dims[d][0]` is `e[d] - dims[d][1]`; the
    other iterators are `loops` (position, first and last value), outermost first. Of all these instances, those exist
    for which `condition`, on the iterators, holds (None: all).

    Steps with the same `nest` share loops, dimensions and condition: their statements run one after the other in each
    iteration, and may read what the others computed for the element. Where a position is -1, an element also depends
    on others along that dimension: only whole lines are computed, in order (`Stage.lines`). `local`: the target only
    passes a value from statement to statement of one iteration.
    """

    statement: Statement
    dims: tuple[tuple[int, int], ...]
    loops: tuple[tuple[int, int, int], ...]
    condition: Expr | None = None
    nest: int | None = None
    local: bool = False

    def __repr__(self) -> str:
        """Without what few steps have: stored digests are older."""
        more = "" if self.nest is None else f", nest={self.nest}, local={self.local}"
        return (f"Step(statement={self.statement!r}, dims={self.dims!r}, loops={self.loops!r}, "
                f"condition={self.condition!r}{more})")


@dataclass(frozen=True, slots=True)
class Stage:
    """An array that kernels compute where they need it: its first step assigns, the others update.

    `inline`: each thread computes the elements that one of its points reads, in registers. `block`: the threads of a
    block compute all that a tile reads, in shared memory (overlapped tiles: neighbours compute some elements twice).
    """

    array: str
    where: Where
    steps: tuple[Step, ...]

    @property
    def arrays(self) -> tuple[str, ...]:
        """All that the steps compute, sorted: the values of a tuple are arrays that the same steps compute."""
        return computed_by(self.steps)

    @property
    def lines(self) -> tuple[int, ...]:
        """The dimensions of which only all elements can be computed, one after the other (scans, histograms)."""
        return lines_of(self.steps)

    @property
    def nests(self) -> tuple[tuple[Step, ...], ...]:
        """The steps that share loops, in order."""
        found: list[tuple[Step, ...]] = []
        for step in self.steps:
            if found and step.nest is not None and found[-1][0].nest == step.nest:
                found[-1] = (*found[-1], step)
            else:
                found.append((step,))
        return tuple(found)


def computed_by(steps: tuple[Step, ...]) -> tuple[str, ...]:
    """The arrays that steps compute, without those that are `local`; sorted."""
    return tuple(sorted({step.statement.body.target.array for step in steps if not step.local}))


def lines_of(steps: tuple[Step, ...]) -> tuple[int, ...]:
    """The dimensions of which steps compute all elements, one after the other."""
    return tuple(d for d, (position, _) in enumerate(steps[0].dims) if position < 0)


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
    def contract(self) -> Contract:
        """The inputs and the expected results of a kernel, independent of its loops."""
        return Contract(self.arrays, self.poison)

    @property
    def sizes(self) -> tuple[tuple[str, int], ...]:
        """The parameters: the sizes that are bound, by name."""
        return self.parameters

    @property
    def outputs(self) -> tuple[Array, ...]:
        """The arrays whose values after the SCoP are compared with the reference."""
        return self.contract.outputs

    @property
    def digest(self) -> str:
        """A hash of the whole content (hex): the program's identity in a store."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:16]
