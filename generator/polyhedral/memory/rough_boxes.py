"""Fast estimates of the boxes of stages that a block computes, for a search that asks for many tile sizes.

`boxes.py` finds boxes exactly, for all blocks. Here a block in the middle represents all, subscripts are evaluated by
interval arithmetic, and a box may be too long by an element or two. Kernels whose loops are not plain boxes are left to
`boxes.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any, TypeAlias

from generator.decisions.size_lists import InnerTiles
from generator.decisions.walk import walked
from generator.expr import Binary, Expr, Int, Name, Select, Unary
from generator.polyhedral.kit.members import ends, step_of
from generator.polyhedral.kit.parsed import set_of
from generator.polyhedral.memory.boxes import fixes_launch, ring_rows, stage_boxes
from generator.polyhedral.memory.footprint import FillPoint, fill_points
from generator.polyhedral.memory.mapping import step_tile
from generator.polyhedral.pipelines.stages import loads_in, reached
from generator.polyhedral.schedules.kernels import Dimension, KernelPart, dimension
from generator.program import ELEMENT_BYTES, Program, Stage, Statement, Step

Range: TypeAlias = tuple[int, int]
"""The least and the greatest value."""

Ranges: TypeAlias = tuple[Range, ...]


@lru_cache(maxsize=16384)
def block_bytes(program: Program, part: KernelPart, tile: tuple[int, ...], inner_tile: InnerTiles, padding: int,
                walk: int = 0, whole: tuple[str, ...] = (), around: tuple[str, ...] = ()) -> int:
    """Return the bytes of shared memory that a block of the kernel needs for its stages, without those of `around`.

    With `walk`, so many rows at a time: a box is kept as a ring in the dimension along which it slides, as in
    `boxes.py`. Of the stages `whole`, the box of the whole tile.
    """
    total = tile_bytes(program, part, tile, padding, whole) if whole else 0
    launch, lines = fixes_launch(part, tile), {stage.array: stage.lines for stage in program.stages} if walk else {}
    for number, point in enumerate(fill_points(program, part)):
        sizes = _sizes(program, part, step_tile(tile, walk), inner_tile, number, launch) if point.computed else ()
        found = {array: box for array, box in sizes if array not in (*whole, *around)}
        if walk and found:
            later = _later(program, part, tile, inner_tile, number, walk, found)
            found = {array: _with_ring(step, later[array], lines[array]) for array, step in found.items()}
        total += _room(program, found, padding)
    return total


@lru_cache(maxsize=16384)
def tile_bytes(program: Program, part: KernelPart, tile: tuple[int, ...], padding: int, stages: tuple[str, ...]) -> int:
    """Return the bytes of shared memory of the boxes of `stages` for a whole tile."""
    held, launch = dict[str, tuple[int, ...]](), fixes_launch(part, tile)
    for number, point in enumerate(fill_points(program, part)):
        for array, sizes in _sizes(program, part, tile, 1, number, launch) if point.computed else ():
            if array in stages:
                held[array] = tuple(map(max, sizes, held.get(array, sizes)))
    return _room(program, held, padding)


def _later(program: Program, part: KernelPart, tile: tuple[int, ...], inner_tile: InnerTiles, number: int, walk: int,
           found: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    """Return the sizes of the boxes of two steps together; of the whole tile where those are as in one step (`found`).

    A box of a stage with an eighth of the rows, say, moves in every fourth step only if steps have two rows.
    """
    rows, launch = tile[walked(len(tile))], fixes_launch(part, tile)
    two = min(2 * walk, rows)  # a tile of one step has no second one
    later = dict(_sizes(program, part, step_tile(tile, two), inner_tile, number, launch))
    if two < rows and any(later[array] == sizes for array, sizes in found.items()):
        whole = dict(_sizes(program, part, tile, inner_tile, number, launch))
        later |= {array: whole[array] for array, sizes in found.items() if later[array] == sizes}
    return later


def _room(program: Program, boxes: Mapping[str, Sequence[int]], padding: int) -> int:
    """The bytes of boxes of these sizes, with longer rows."""
    return sum(ELEMENT_BYTES[program.array(array).type] * prod(sizes[:-1]) * (sizes[-1] + padding)
               for array, sizes in boxes.items())


def _with_ring(step: Sequence[int], more: Sequence[int], lines: Collection[int]) -> tuple[int, ...]:
    """Return the stored sizes of a box, given those of one step and of more: with a ring in the dimension that grows.

    If none grows, the ring is in the first dimension that is not one of the whole `lines`; if several grow, there is
    none.
    """
    grown = [d for d, (n, later) in enumerate(zip(step, more, strict=True)) if later > n]
    grown = grown or [next((d for d in range(len(step)) if d not in lines), 0)]
    return tuple(ring_rows(n) if [d] == grown else n for d, n in enumerate(step))


@lru_cache(maxsize=2048)
def _sizes(program: Program, part: KernelPart, tile: tuple[int, ...], inner_tile: InnerTiles, number: int,
           launch: bool) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Return the sizes of the box of each stage that is computed at a fill point; with `launch` of one launch, else of
    all of them.
    """
    loops = _loops(program, part, number)
    if loops is None:
        return tuple((box.array, tuple(box.sizes)) for box in stage_boxes(program, part, tile, inner_tile, number))
    point = fill_points(program, part)[number]
    inner = point.tiles(inner_tile) or (1,) * len(point.tiled)
    sizes = (*(int(launch),) * len(part.prefix), *tile, *inner)
    finder = _Finder(program, {name: one.middle(sizes) for name, one in loops.items()})
    return tuple((stage.array, tuple(1 + high - low for low, high in finder.read(stage)))
                 for stage in program.stages if stage.array in point.computed)


@dataclass(frozen=True, slots=True)
class _Loops:
    """The ranges of a statement's iterators, and the iterator of each host loop, parallel and tiled loop.

    `followed`: position, constant, least and greatest value of the loop; the last `tiled` ones may be untiled (size 1).
    """

    ranges: Ranges
    followed: tuple[tuple[int, int, int, int], ...]
    tiled: int

    def middle(self, sizes: Sequence[int]) -> Ranges:
        """Return the ranges in a block in the middle of the loops, of these sizes (0: all values of a loop)."""
        ranges = list(self.ranges)
        for number, ((position, constant, low, high), size) in enumerate(zip(self.followed, sizes, strict=True)):
            if not size or (size == 1 and number >= len(sizes) - self.tiled):
                continue
            first = low + (high - low) // 2 // size * size - constant
            ranges[position] = first, min(first + size - 1, self.ranges[position][1])
        return tuple(ranges)


@lru_cache(maxsize=4096)
def _loops(program: Program, part: KernelPart, number: int) -> Mapping[str, _Loops] | None:
    """Return the loops around every statement below a fill point that reads stages; None if they are not plain boxes.
    """
    point: FillPoint = fill_points(program, part)[number]
    found, hosts = {}, [dimension(member, part.domain) for member in part.prefix]
    stages = {array for stage in program.stages for array in stage.arrays}
    for name in (one for one in point.statements if not stages.isdisjoint(_subscripts(program.statement(one)))):
        domain = point.domain.extract_set(set_of(program.statement(name).domain).get_space())
        followed = [_followed(dim, domain) for dim in (*hosts, *part.parallel, *point.tiled)]
        known = tuple(one for one in followed if one is not None)
        if not domain.is_box() or len(known) < len(followed):
            return None
        found[name] = _Loops(ends(domain), known, len(point.tiled))
    return found


def _followed(dim: Dimension, domain: Any) -> tuple[int, int, int, int] | None:
    """Return position and constant of a loop `iterator + constant`, with its range; None for others."""
    found = step_of(dim.member, domain)
    return (*found, dim.low, dim.high) if found else None


@dataclass(frozen=True, slots=True)
class _Along:
    """Subscripts of a dimension: iterators with the least and the greatest constant added to them, and others."""

    moves: tuple[tuple[str, int, int], ...]
    others: tuple[Expr, ...]

    def ranges(self, names: Mapping[str, Range], extent: int) -> Iterator[Range]:
        """Yield the values of the subscripts; of those that depend on data, all."""
        for name, least, greatest in self.moves:
            at = names.get(name)
            yield (0, extent - 1) if at is None else (at[0] + least, at[1] + greatest)
        for index in self.others:
            yield _interval(index, names) or (0, extent - 1)


@dataclass(frozen=True, slots=True)
class _Read:
    """How a statement of a block, or the `step` of a `stage`, reads an array: subscripts by dimension."""

    subscripts: tuple[_Along, ...]
    statement: Statement
    stage: Stage | None = None
    step: Step | None = None


@lru_cache(maxsize=1024)
def _reads(program: Program, blocks: tuple[str, ...]) -> Mapping[str, tuple[_Read, ...]]:
    """Return the reads of each stage (by array) that kernels with the statements `blocks` compute, except by its own
    steps.
    """
    inside = reached(program, blocks)
    computed = [stage for stage in program.stages if stage.array in inside]
    found = {}
    for own in program.stages:
        arrays = own.arrays
        others = [(stage, step) for stage in computed if stage.arrays != arrays for step in stage.steps]
        found[own.array] = tuple(
            read for array in arrays for read in (
                *(_Read(_subscripts(one).get(array, ()), one) for one in map(program.statement, blocks)),
                *(_Read(_subscripts(step.statement).get(array, ()), step.statement, stage, step)
                  for stage, step in others))
            if read.subscripts)
    return found


class _Finder:
    """Follows reads from the statements of a block to the stages that it computes."""

    def __init__(self, program: Program, blocks: Mapping[str, Ranges]) -> None:
        self.program, self.blocks = program, blocks
        self.reads = _reads(program, tuple(blocks))
        self.known: dict[str, list[Range]] = {}

    def read(self, stage: Stage) -> list[Range]:
        """Return the elements of a stage that are read."""
        if stage.array not in self.known:
            extents, lines = self.program.array(stage.array).extents, stage.lines
            reads = [(one.subscripts, self._iterators(one)) for one in self.reads[stage.array]]
            self.known[stage.array] = [
                (0, n - 1) if d in lines else
                _hull([found for subscripts, names in reads for found in subscripts[d].ranges(names, n)], n)
                for d, n in enumerate(extents)
            ]
        return self.known[stage.array]

    def _iterators(self, one: _Read) -> Mapping[str, Range]:
        """Return the ranges of the iterators of a read."""
        if one.stage is None or one.step is None:
            return dict(zip(one.statement.iterators, self.blocks[one.statement.name], strict=True))
        return _iterators(one.step, self.read(one.stage))


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


def _hull(ranges: Sequence[Range], extent: int) -> Range:
    """Return the range from the least value to the greatest, within the array."""
    lows, highs = zip(*ranges, strict=True)
    return min(max(min(lows), 0), extent - 1), max(min(max(highs), extent - 1), 0)


def _iterators(step: Step, element: Sequence[Range]) -> dict[str, Range]:
    """Return the ranges of a step's iterators for these elements of its target."""
    names = step.statement.iterators
    found = {names[position]: (low, high) for position, low, high in step.loops}
    for (position, constant), (low, high) in zip(step.dims, element, strict=True):
        if position >= 0:
            found[names[position]] = low - constant, high - constant
    return found


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
        case "+":
            return a[0] + b[0], a[1] + b[1]
        case "-":
            return a[0] - b[1], a[1] - b[0]
        case "*":
            products = [p * q for p in a for q in b]
            return min(products), max(products)
        case "/" if b[0] == b[1] and b[0] > 0:
            return int(a[0] / b[0]), int(a[1] / b[0])
        case "%" if b[0] == b[1] and b[0] > 0:
            return (0, b[0] - 1) if a[0] >= 0 else (1 - b[0], b[0] - 1)
        case "min":
            return min(a[0], b[0]), min(a[1], b[1])
        case "max":
            return max(a[0], b[0]), max(a[1], b[1])
        case "<":
            return int(a[1] < b[0]), int(a[0] < b[1])
        case ">":
            return int(a[0] > b[1]), int(a[1] > b[0])
        case "<=" | ">=" | "==" | "!=" | "&&" | "||":
            return 0, 1
        case _:
            return None
