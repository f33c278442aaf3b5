"""The Program to optimize, as an immutable value.

Sets, relations and schedules are isl text: a Program can be hashed, pickled and stored, and only `generator.polyhedral`
turns the text into isl objects. Sizes are bound: the text has no symbolic parameters.
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

    `lets`: named values that these expressions use, each after those that it uses itself. Those that the guard uses are
    computed before it, the others only if it holds.
    """

    target: Load
    op: str
    value: Expr
    guard: Expr | None = None
    lets: Lets = ()

    def __repr__(self) -> str:
        """Unchanged for programs without lets: digests depend on it."""
        named = [(name.name, name.type, value) for name, value in self.lets]
        return (f"Assignment(target={self.target!r}, op={self.op!r}, value={self.value!r}, guard={self.guard!r}"
                f"{f', lets={named!r}' if named else ''})")

    @property
    def computed(self) -> tuple[Expr, ...]:
        """The computed expressions except subscripts of the target and the guard: the lets, then the value."""
        return (*(value for _, value in self.lets), self.value)

    @property
    def before_guard(self) -> int:
        """The number of leading lets that are computed before the guard."""
        needed = names_of(self.guard) if self.guard is not None and self.lets else frozenset()
        return max((k + 1 for k, (name, _) in enumerate(self.lets) if name.name in needed), default=0)

    def variables(self, expr: Expr) -> frozenset[str]:
        """Return the iterators on which `expr` depends, directly or through lets."""
        found = names_of(expr)
        for name, value in reversed(self.lets):
            if name.name in found:
                found = found - {name.name} | names_of(value)
        return found


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of the SCoP.

    `accesses[k]` belongs to the `Load` with `access == k`. A compound assignment accesses its target twice: the write
    is `target.access`, and the read comes right before it.
    """

    name: str
    iterators: tuple[str, ...]
    domain: str
    body: Assignment
    accesses: tuple[Access, ...]
    text: str
    line: int

    def __hash__(self) -> int:
        """Without expressions, which may be large: a Statement is a key of caches."""
        return hash((self.name, self.domain, self.text, self.line))


@dataclass(frozen=True, slots=True, repr=False)
class Step:
    """A statement that computes elements of its target, each from that element and other arrays only.

    Element `e` of the target is computed by the instances whose iterator `dims[d][0]` is `e[d] - dims[d][1]`; the other
    iterators are `loops` (position, first and last value), outermost first. Only the instances that satisfy
    `condition`, on the iterators, exist (None: all).

    Steps with the same `nest` share loops, dimensions and condition: their statements run in sequence in each
    iteration, and may read what the others computed for the element. If a position is -1, an element also depends on
    others along that dimension: only whole lines are computed, in order (`Stage.lines`). `local`: the target only
    passes a value from statement to statement of one iteration.
    """

    statement: Statement
    dims: tuple[tuple[int, int], ...]
    loops: tuple[tuple[int, int, int], ...]
    condition: Expr | None = None
    nest: int | None = None
    local: bool = False

    def __repr__(self) -> str:
        """Without fields that few steps have: stored digests are older."""
        more = "" if self.nest is None else f", nest={self.nest}, local={self.local}"
        return (f"Step(statement={self.statement!r}, dims={self.dims!r}, loops={self.loops!r}, "
                f"condition={self.condition!r}{more})")


@dataclass(frozen=True, slots=True)
class Stage:
    """An array that kernels compute where they need it: its first step assigns, the others update.

    `inline`: each thread computes the elements that one of its points reads, in registers. `block`: the threads of a
    block compute all elements that a tile reads, in shared memory (overlapped tiling: neighbouring blocks repeat some
    work).
    """

    array: str
    where: Where
    steps: tuple[Step, ...]

    @property
    def arrays(self) -> tuple[str, ...]:
        """All arrays that the steps compute, sorted: the values of a tuple are arrays with the same steps."""
        return computed_by(self.steps)

    @property
    def lines(self) -> tuple[int, ...]:
        """The dimensions along which all elements must be computed together, in order (scans, histograms)."""
        return lines_of(self.steps)

    @property
    def nests(self) -> tuple[tuple[Step, ...], ...]:
        """The steps, grouped by shared loops, in order."""
        found: list[tuple[Step, ...]] = []
        for step in self.steps:
            if found and step.nest is not None and found[-1][0].nest == step.nest:
                found[-1] = (*found[-1], step)
            else:
                found.append((step,))
        return tuple(found)


def computed_by(steps: tuple[Step, ...]) -> tuple[str, ...]:
    """Return the arrays that the steps compute, without `local` ones, sorted."""
    return tuple(sorted({step.statement.body.target.array for step in steps if not step.local}))


def lines_of(steps: tuple[Step, ...]) -> tuple[int, ...]:
    """Return the dimensions along which steps compute all elements, in order."""
    return tuple(d for d, (position, _) in enumerate(steps[0].dims) if position < 0)


@dataclass(frozen=True, slots=True)
class Program:
    """A static control part with all sizes bound.

    `schedule`: the original execution order (isl schedule tree text). `poison`: boxes of elements that are always
    written and not live at the entry; a runner fills them with garbage before a checked run. `stages`: arrays that no
    statement writes, computed where they are read (only in parts of a program: `sections`). `arguments`: the names of
    inputs and outputs in the order in which a function for users takes them (empty: that of `arrays`).
    `constants`: inputs of which the program itself has the data.
    """

    name: str
    file: str
    arrays: tuple[Array, ...]
    statements: tuple[Statement, ...]
    schedule: str
    parameters: tuple[tuple[str, int], ...]
    poison: tuple[Box, ...]
    stages: tuple[Stage, ...] = field(default=(), repr=False)  # digests are older
    arguments: tuple[str, ...] = field(default=(), repr=False, compare=False)  # not of what it computes
    constants: tuple[str, ...] = field(default=(), repr=False, compare=False)
    _hash: int = field(default=0, init=False, repr=False, compare=False)

    def __hash__(self) -> int:
        """Computed once, and equal in every process: a Program is a key of many caches and may be large.

        Expressions do not count. The search makes many parts of a program, and printing them would take longest.
        """
        if not self._hash:
            steps = (step for stage in self.stages for step in stage.steps)
            parts = [self.name, self.file, self.schedule, repr(self.arrays), repr(self.parameters),
                     *(f"{stage.array} {stage.where}" for stage in self.stages)]
            for statement in (*self.statements, *(step.statement for step in steps)):
                parts += [statement.domain, statement.text, *(access.relation for access in statement.accesses)]
            text = "\n".join(parts).encode(errors="backslashreplace")  # a file's name may be no text in the locale
            found = hashlib.sha256(text).digest()
            object.__setattr__(self, "_hash", int.from_bytes(found[:7], "big") + 1)
        return self._hash

    def array(self, name: str) -> Array:
        """Return the array called `name`. Raises KeyError if there is none."""
        for array in self.arrays:
            if array.name == name:
                return array
        raise KeyError(name)

    def statement(self, name: str) -> Statement:
        """Return the statement called `name`, also one of a stage. Raises KeyError if there is none."""
        for statement in (*self.statements, *(step.statement for stage in self.stages for step in stage.steps)):
            if statement.name == name:
                return statement
        raise KeyError(name)

    def with_arrays(self, more: tuple[Array, ...]) -> Program:
        """Return the program with `more` arrays: those that only a Variant has."""
        return replace(self, arrays=(*self.arrays, *more)) if more else self

    @property
    def passed(self) -> tuple[Array, ...]:
        """The arrays and scalars that come from outside or go there, in the order of `arguments`."""
        place = {name: number for number, name in enumerate(self.arguments)}
        return tuple(sorted((a for a in self.arrays if a.role != "temp"), key=lambda a: place.get(a.name, len(place))))

    @property
    def contract(self) -> Contract:
        """The inputs and the expected results, independent of loops."""
        return Contract(self.arrays, self.poison)

    @property
    def sizes(self) -> tuple[tuple[str, int], ...]:
        """The parameters: the bound sizes, by name."""
        return self.parameters

    @property
    def outputs(self) -> tuple[Array, ...]:
        """The arrays that are compared with the reference after the SCoP."""
        return self.contract.outputs

    @property
    def digest(self) -> str:
        """A hash of the whole content (hex): the program's identity in a store."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:16]
