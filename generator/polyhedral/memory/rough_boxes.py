"""Fast estimates of the boxes of stages that a block computes, for a search that asks for many tile sizes.

`boxes.py` finds boxes exactly, for all blocks. Here a block in the middle represents all, subscripts are evaluated by
interval arithmetic, and a box may be too long by an element or two. Kernels whose loops are not plain boxes are left to
`boxes.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import TypeAlias

from generator.decisions.size_lists import InnerTiles
from generator.decisions.walk import walked
from generator.polyhedral.kit.members import ends, step_of
from generator.polyhedral.kit.parsed import set_of
from generator.polyhedral.memory.boxes import fixes_launch, ring_rows, stage_boxes
from generator.polyhedral.memory.footprint import fill_points
from generator.polyhedral.memory.mapping import step_tile
from generator.polyhedral.memory.rough_reads import BlockReads, Range, Ranges, reads_stages
from generator.polyhedral.schedules.kernels import KernelPart, dimension
from generator.program import ELEMENT_BYTES, Program

Boxes: TypeAlias = Mapping[str, tuple[int, ...]]
"""The extents of the boxes of stages."""


@lru_cache(maxsize=16384)
def block_bytes(program: Program, part: KernelPart, tile: tuple[int, ...], inner_tile: InnerTiles, padding: int,
                walk: int = 0, whole: tuple[str, ...] = (), around: tuple[str, ...] = (),
                order: tuple[int, ...] = ()) -> int:
    """Return the bytes of shared memory that a block of the kernel needs for its stages, without those of `around`,
    with the parallel dimensions in `order`.

    With `walk`, so many rows at a time: a box is kept as a ring in the dimension along which it slides, as in
    `boxes.py`. Of the stages `whole`, the box of the whole tile.
    """
    total = tile_bytes(program, part, tile, padding, whole, order) if whole else 0
    launch, stages = fixes_launch(part, _unordered(tile, order)), _stages(program)
    tiles = _Tiles(program, part, order, inner_tile, launch)
    for number, point in enumerate(fill_points(program, part)):
        if not point.computed:
            continue
        found = tiles.sizes(step_tile(tile, walk), number)
        if whole or around:
            found = {array: box for array, box in found.items() if array not in (*whole, *around)}
        if walk and found:
            later = _later(tiles, tile, number, walk, found)
            found = {array: _with_ring(step, later[array], stages[array].lines) for array, step in found.items()}
        total += _room(stages, found, padding)
    return total


@lru_cache(maxsize=16384)
def tile_bytes(program: Program, part: KernelPart, tile: tuple[int, ...], padding: int, stages: tuple[str, ...],
               order: tuple[int, ...] = ()) -> int:
    """Return the bytes of shared memory of the boxes of `stages` for a whole tile."""
    held = dict[str, tuple[int, ...]]()
    tiles = _Tiles(program, part, order, 1, fixes_launch(part, _unordered(tile, order)))
    for number, point in enumerate(fill_points(program, part)):
        for array, sizes in tiles.sizes(tile, number).items() if point.computed else ():
            if array in stages:
                held[array] = tuple(map(max, sizes, held.get(array, sizes)))
    return _room(_stages(program), held, padding)


@dataclass(frozen=True, slots=True)
class _Tiles:
    """The tiles of a kernel. `launch`: boxes have the elements of one launch, else of all of them."""

    program: Program
    part: KernelPart
    order: tuple[int, ...]
    inner: InnerTiles
    launch: bool

    def sizes(self, tile: tuple[int, ...], number: int) -> Boxes:
        """Return the sizes of the box of each stage that is computed at a fill point for a tile."""
        return _sizes(self.program, self.part, _unordered(tile, self.order), self.inner, number, self.launch)


def _unordered(tile: tuple[int, ...], order: tuple[int, ...]) -> tuple[int, ...]:
    """Return the tile sizes in the schedule's order of the dimensions."""
    return tuple(tile[order.index(d)] for d in range(len(order))) if order else tile


def _later(tiles: _Tiles, tile: tuple[int, ...], number: int, walk: int, found: Boxes) -> Boxes:
    """Return the sizes of the boxes of two steps together; of the whole tile where those are as in one step (`found`).

    A box of a stage with an eighth of the rows, say, moves in every fourth step only if steps have two rows.
    """
    rows = tile[walked(len(tile))]
    two = min(2 * walk, rows)  # a tile of one step has no second one
    later = tiles.sizes(step_tile(tile, two), number)
    alike = [array for array, sizes in found.items() if later[array] == sizes] if two < rows else []
    if not alike:
        return later
    whole = tiles.sizes(tile, number)
    return {**later, **{array: whole[array] for array in alike}}


@dataclass(frozen=True, slots=True)
class _Stage:
    """The dimensions of a stage that blocks compute completely, and the bytes of an element."""

    lines: tuple[int, ...]
    element: int


@lru_cache(maxsize=1024)
def _stages(program: Program) -> Mapping[str, _Stage]:
    """Return the stages of a program by their arrays."""
    return {one.array: _Stage(one.lines, ELEMENT_BYTES[program.array(one.array).type]) for one in program.stages}


def _room(stages: Mapping[str, _Stage], boxes: Boxes, padding: int) -> int:
    """The bytes of boxes of these sizes, with longer rows."""
    return sum(stages[array].element * prod(sizes[:-1]) * (sizes[-1] + padding) for array, sizes in boxes.items())


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
           launch: bool) -> Boxes:
    """Return what `_Tiles.sizes` returns, with the dimensions in the schedule's order."""
    loops = _loops(program, part, number)
    if loops is None:
        return {box.array: tuple(box.sizes) for box in stage_boxes(program, part, tile, inner_tile, number)}
    inner = fill_points(program, part)[number].tiles(inner_tile) or (1,) * loops.tiled
    return loops.reads.boxes(loops.middle((*(int(launch),) * len(part.prefix), *tile, *inner)))


@dataclass(frozen=True, slots=True)
class _Loops:
    """The iterators of the statements below a fill point, and the host loops, parallel and tiled loops around them.

    `ranges`: of the iterators. `followed`: for each loop, its least and greatest value, and the iterators that follow
    it (number, constant). The last `tiled` ones may be untiled (size 1). `reads`: what the statements read of stages.
    """

    ranges: Ranges
    followed: tuple[tuple[int, int, tuple[tuple[int, int], ...]], ...]
    tiled: int
    reads: BlockReads

    def middle(self, sizes: Sequence[int]) -> list[Range]:
        """Return the ranges in a block in the middle of the loops, of these sizes (0: all values of a loop)."""
        ranges, whole = list(self.ranges), len(sizes) - self.tiled
        for number, ((low, high, iterators), size) in enumerate(zip(self.followed, sizes, strict=True)):
            if not size or (size == 1 and number >= whole):
                continue
            begin = low + (high - low) // 2 // size * size
            for position, constant in iterators:
                first = begin - constant
                ranges[position] = first, min(first + size - 1, self.ranges[position][1])
        return ranges


@lru_cache(maxsize=4096)
def _loops(program: Program, part: KernelPart, number: int) -> _Loops | None:
    """Return the loops around the statements below a fill point that read stages; None if they are not plain boxes."""
    point = fill_points(program, part)[number]
    loops = (*(dimension(member, part.domain) for member in part.prefix), *part.parallel, *point.tiled)
    ranges, followed = list[Range](), [list[tuple[int, int]]() for _ in loops]
    statements = [one for one in map(program.statement, point.statements) if reads_stages(program, one)]
    for statement in statements:
        domain = point.domain.extract_set(set_of(statement.domain).get_space())
        if not domain.is_box():
            return None
        for loop, iterators in zip(loops, followed, strict=True):
            if (found := step_of(loop.member, domain)) is None:
                return None
            iterators.append((len(ranges) + found[0], found[1]))
        ranges += ends(domain)
    computed = [stage for stage in program.stages if stage.array in point.computed]
    return _Loops(
        tuple(ranges), tuple((loop.low, loop.high, tuple(which)) for loop, which in zip(loops, followed, strict=True)),
        len(point.tiled), BlockReads(program, statements, computed))
