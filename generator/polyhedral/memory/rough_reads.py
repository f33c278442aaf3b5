"""The elements of stages that a block reads, by interval arithmetic.

The reads of a kernel are prepared once, for many sizes of tiles. Ranges of values have numbers: first those of the
iterators of its statements, then those of the dimensions of its stages, each stage after all that read it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

from generator.expr import Binary, Expr, Int, Name, Select, Unary, names_of
from generator.intervals import operated
from generator.polyhedral.pipelines.stages import loads_in, reached
from generator.program import Program, Stage, Statement, Step

Range: TypeAlias = tuple[int, int]
"""The least and the greatest value."""

Ranges: TypeAlias = tuple[Range, ...]


@dataclass(frozen=True, slots=True)
class _Along:
    """Subscripts of a dimension: iterators with the least and the greatest constant added to them, and others."""

    moves: tuple[tuple[str, int, int], ...]
    others: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class _Name:
    """The values of an iterator: those of range `number`, each with `added`; without a number those of `fixed`."""

    number: int | None
    added: int = 0
    fixed: Range = (0, 0)

    def values(self, known: Sequence[Range]) -> Range:
        """Return the values, given the ranges."""
        low, high = self.fixed if self.number is None else known[self.number]
        return low + self.added, high + self.added


@dataclass(frozen=True, slots=True)
class _Evaluated:
    """A subscript that is no sum of an iterator and a constant, with the iterators in it."""

    subscript: Expr
    names: tuple[tuple[str, _Name], ...]

    def values(self, known: Sequence[Range]) -> Range | None:
        """Return its values, given the ranges; None if they depend on data."""
        return _interval(self.subscript, {name: one.values(known) for name, one in self.names})


@dataclass(slots=True)
class _Dimension:
    """How a dimension of a stage is read. `moves`: by number of a range, the least and the greatest constant that is
    added to it. `fixed`: all other values that are known. `others`: subscripts that are evaluated.
    """

    extent: int
    moves: dict[int, Range] = field(default_factory=dict)
    fixed: list[Range] = field(default_factory=list)
    others: list[_Evaluated] = field(default_factory=list)

    def read(self, known: Sequence[Range]) -> Range:
        """Return the range of all elements that are read, within the array."""
        last = self.extent - 1
        found = [*self.fixed, *(one.values(known) or (0, last) for one in self.others)]
        for number, (least, greatest) in self.moves.items():
            low, high = known[number]
            found.append((low + least, high + greatest))
        lows, highs = zip(*found, strict=True)
        return min(max(min(lows), 0), last), max(min(max(highs), last), 0)

    def add(self, along: _Along, names: Mapping[str, _Name]) -> None:
        """Add the subscripts of a read."""
        for name, least, greatest in along.moves:
            one = names.get(name)
            if one is None:
                self.fixed.append((0, self.extent - 1))
            elif one.number is None:
                self.fixed.append((one.fixed[0] + least, one.fixed[1] + greatest))
            else:
                low, high = self.moves.get(one.number, (one.added + least, one.added + greatest))
                self.moves[one.number] = min(low, one.added + least), max(high, one.added + greatest)
        self.others += [_Evaluated(index, tuple((name, names[name]) for name in names_of(index) if name in names))
                        for index in along.others]


class BlockReads:
    """The reads of the stages that a kernel computes in its blocks."""

    def __init__(self, program: Program, blocks: Sequence[Statement], stages: Sequence[Stage]) -> None:
        """Prepare the reads of `stages` by the statements `blocks`, directly or through other stages."""
        self._program, self._blocks = program, blocks
        inside = reached(program, tuple(one.name for one in blocks))
        self._computed = [stage for stage in program.stages if stage.array in inside]
        self._count = sum(len(one.iterators) for one in blocks)
        self._first: dict[str, int] = {}
        self._dimensions: list[_Dimension] = []
        for stage in stages:
            self._prepare(stage)
        self._wanted = tuple((stage.array, self._first[stage.array], len(program.array(stage.array).extents))
                             for stage in stages)

    def boxes(self, iterators: Iterable[Range]) -> dict[str, tuple[int, ...]]:
        """Return the extents of the boxes of the stages, given the iterators of all statements, in order."""
        known = list(iterators)
        for dimension in self._dimensions:
            known.append(dimension.read(known))
        return {array: tuple([1 + high - low for low, high in known[first:first + count]])
                for array, first, count in self._wanted}

    def _prepare(self, stage: Stage) -> int:
        """Return the number of the range of a stage's first dimension, after those of all stages that read it."""
        if stage.array in self._first:
            return self._first[stage.array]
        extents, lines = self._program.array(stage.array).extents, stage.lines
        reads = list(self._reads(stage))
        found = [_Dimension(n, fixed=[(0, n - 1)] if d in lines else []) for d, n in enumerate(extents)]
        for subscripts, names in reads:
            for d, (dimension, along) in enumerate(zip(found, subscripts, strict=True)):
                if d not in lines:
                    dimension.add(along, names)
        number = self._first[stage.array] = self._count + len(self._dimensions)
        self._dimensions += found
        return number

    def _reads(self, own: Stage) -> Iterator[tuple[tuple[_Along, ...], Mapping[str, _Name]]]:
        """Yield the subscripts of all reads of a stage except by its own steps, and the iterators in them."""
        first = 0
        for statement in self._blocks:
            names = {name: _Name(first + k) for k, name in enumerate(statement.iterators)}
            yield from ((read, names) for read in _read(statement, own.arrays))
            first += len(statement.iterators)
        for stage in self._computed:
            for step in stage.steps if stage.arrays != own.arrays else ():
                for read in _read(step.statement, own.arrays):
                    yield read, self._names(step, self._prepare(stage))

    def _names(self, step: Step, number: int) -> dict[str, _Name]:
        """Return the iterators of a step, if those of its target's dimensions begin with range `number`."""
        names = step.statement.iterators
        found = {names[position]: _Name(None, fixed=(low, high)) for position, low, high in step.loops}
        for d, (position, constant) in enumerate(step.dims):
            if position >= 0:
                found[names[position]] = _Name(number + d, -constant)
        return found


def reads_stages(program: Program, statement: Statement) -> bool:
    """Return whether a statement reads what stages compute."""
    stages = {array for stage in program.stages for array in stage.arrays}
    return not stages.isdisjoint(_subscripts(statement))


def _read(statement: Statement, arrays: Iterable[str]) -> Iterator[tuple[_Along, ...]]:
    """Yield how a statement reads each of the arrays that it reads: subscripts by dimension."""
    found = _subscripts(statement)
    yield from (found[array] for array in arrays if array in found)


@lru_cache(maxsize=4096)
def _subscripts(statement: Statement) -> Mapping[str, tuple[_Along, ...]]:
    """Return, for each array that a statement reads, its subscripts by dimension."""
    found: dict[str, list[tuple[Expr, ...]]] = {}
    for load in loads_in(statement):
        found.setdefault(load.array, []).append(load.index)
    return {array: tuple(_along(dict.fromkeys(same)) for same in zip(*read, strict=True))
            for array, read in found.items()}


def _along(subscripts: Iterable[Expr]) -> _Along:
    """Of sums of an iterator and constants, only the least and the greatest count for a range."""
    moves, others = dict[str, tuple[int, int]](), list[Expr]()
    for index in subscripts:
        if (at := _distance(index)) is None:
            others.append(index)
        else:
            least, greatest = moves.get(at[0], (at[1], at[1]))
            moves[at[0]] = min(least, at[1]), max(greatest, at[1])
    return _Along(tuple((name, *ends) for name, ends in moves.items()), tuple(others))


def _distance(index: Expr) -> tuple[str, int] | None:
    """Return iterator and constant of `iterator + constant`; None for other subscripts."""
    match index:
        case Name(name):
            return name, 0
        case Binary("+", Name(name), Int(value)):
            return name, value
        case Binary("-", Name(name), Int(value)):
            return name, -value
        case _:
            return None


def _interval(expr: Expr, names: Mapping[str, Range]) -> Range | None:
    """Return the values of `expr`; None if it depends on data."""
    match expr:
        case Int(value):
            return value, value
        case Name(name):
            return names.get(name)
        case Binary(op, left, right):
            first, second = _interval(left, names), _interval(right, names)
            return None if first is None or second is None else _operated(op, first, second)
        case Unary("-", operand):
            one = _interval(operand, names)
            return None if one is None else (-one[1], -one[0])
        case Select(condition, then, otherwise):
            truth = _interval(condition, names)
            branches = [then] * (truth != (0, 0)) + [otherwise] * (truth != (1, 1))
            parts = [part for part in (_interval(child, names) for child in branches) if part is not None]
            if len(parts) < len(branches):
                return None
            return min(low for low, _ in parts), max(high for _, high in parts)
        case _:
            return None


def _operated(op: str, a: Range, b: Range) -> Range | None:
    """Return None where isl has no bounds either and `boxes.py` takes the whole extent: no box may be too short."""
    match op:
        case "+" | "-" | "*" | "min" | "max":
            return operated(op, a, b)
        case "/" if b[0] == b[1]:
            return operated(op, a, b)
        case "%" if b[0] == b[1] and b[0] > 0:
            return (0, b[0] - 1) if a[0] >= 0 else (1 - b[0], b[0] - 1)
        case "<":
            return int(a[1] < b[0]), int(a[0] < b[1])
        case ">":
            return int(a[0] > b[1]), int(a[1] > b[0])
        case "<=" | ">=" | "==" | "!=" | "&&" | "||":
            return 0, 1
        case _:
            return None
