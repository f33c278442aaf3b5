"""What the blocks of a kernel compute, update and add up in shared memory or on tensor cores, for its KernelShape."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from generator.decisions.size_lists import InnerTiles
from generator.errors import IllegalPlan
from generator.expr import loads_of, names_of
from generator.polyhedral.kit.members import iterator_of
from generator.polyhedral.memory.contractions import contraction_of
from generator.polyhedral.memory.diagonals import places_of, shared_rows, with_inner_tiles
from generator.polyhedral.memory.extents import Extent
from generator.polyhedral.memory.footprint import StagedArray
from generator.polyhedral.memory.lines import own_lines
from generator.polyhedral.memory.private import update_box
from generator.polyhedral.memory.rough_boxes import block_bytes, tile_bytes
from generator.polyhedral.memory.wavefront_boxes import MOST_SHARED, box_bytes, copied_arrays, worthwhile_boxes
from generator.polyhedral.schedules.kernels import KernelPart, reordered
from generator.program import ELEMENT_BYTES, Program

_NO_ROOM = 2**62


@dataclass(frozen=True, slots=True)
class BlockStages:
    """The stages that the blocks of a kernel compute, with its parallel dimensions in `order`.

    `walk`: the number of rows of a tile that a block computes at a time (0: all), except for the stages `whole`. Those
    `around` it have other levels, and no boxes for a tile.
    """

    program: Program
    part: KernelPart
    order: tuple[int, ...] = ()
    walk: int = 0
    whole: tuple[str, ...] = ()
    around: tuple[str, ...] = ()

    def bytes(self, tile: tuple[int, ...], inner_tile: InnerTiles, padding: int) -> int:
        """Return their approximate shared memory; more than any device has where blocks cannot hold them."""
        inner = 1 if self.walk else inner_tile
        try:
            return block_bytes(self.program, self.part, tile, inner, padding, self.walk, self.whole, self.around,
                               self.order)
        except IllegalPlan:
            return _NO_ROOM

    def tile_bytes(self, stages: tuple[str, ...], tile: tuple[int, ...], padding: int) -> int:
        """Return the same for the boxes of `stages` of a whole tile."""
        try:
            return tile_bytes(self.program, self.part, tile, padding, stages, self.order)
        except IllegalPlan:
            return _NO_ROOM


@dataclass(frozen=True, slots=True)
class BlockUpdates:
    """The reductions of a kernel that a block can do in private copies, with its parallel dimensions in `order`."""

    program: Program
    part: KernelPart
    prefix: tuple[str, ...]
    reductions: tuple[str, ...]
    order: tuple[int, ...] = ()

    @property
    def arrays(self) -> tuple[str, ...]:
        """The arrays that they update."""
        return tuple(self.program.statement(name).body.target.array for name in self.reductions)

    def bytes(self, tile: tuple[int, ...]) -> int:
        """Return the shared memory of the copies."""
        part = reordered(self.part, self.order)
        boxes = [update_box(self.program, part, name, tile, self.prefix) for name in self.reductions]
        return sum(ELEMENT_BYTES[self.program.array(box.array).type] * prod(box.sizes) for box in boxes)


@dataclass(frozen=True, slots=True)
class BlockLines:
    """The lines of arrays that single threads of a kernel own, in any order of its parallel dimensions."""

    program: Program
    part: KernelPart
    prefix: tuple[str, ...]
    order: tuple[int, ...] = ()

    @property
    def arrays(self) -> tuple[str, ...]:
        """The arrays that they update."""
        return tuple(line.array for line in own_lines(self.program, self.part, self.prefix))

    @property
    def along_rows(self) -> bool:
        """Whether a thread that runs point after point reads along rows: in all reads of the updates, the last
        subscript moves with a loop inside the thread.
        """
        outside = {iterator_of(member, self.program) for member in
                   (*self.part.prefix, *(dimension.member for dimension in self.part.parallel))}
        arrays, rows = self.arrays, list[bool]()
        for statement in map(self.program.statement, self.part.statements):
            if (target := statement.body.target).array in arrays:
                inside = set(statement.iterators) - outside
                rows += (not inside.isdisjoint(names_of(load.index[-1]))
                         for expr in (*target.index, *statement.body.computed) for load in loads_of(expr)
                         if load.index and load.array not in arrays)
        return bool(rows) and all(rows)

    def bytes(self, tile: tuple[int, ...]) -> int:
        """Return the shared memory of the lines of a tile."""
        each = sum(ELEMENT_BYTES[self.program.array(line.array).type] * prod(line.sizes)
                   for line in own_lines(self.program, self.part, self.prefix))
        return each * prod(tile)


@dataclass(frozen=True, slots=True)
class BlockSums:
    """A kernel whose main part is a sum of products; its rows and columns depend on the order of its parallel
    dimensions.
    """

    program: Program
    part: KernelPart
    reductions: tuple[str, ...]

    def ordered(self, order: tuple[int, ...]) -> tuple[int, int]:
        """Return rows and columns with the dimensions in `order`."""
        found = contraction_of(self.program, reordered(self.part, order), self.reductions)
        return found.rows, found.columns

    def extents(self, order: tuple[int, ...]) -> tuple[int, ...]:
        """Return the extents of the parallel dimensions in `order`."""
        found = contraction_of(self.program, reordered(self.part, order), self.reductions)
        return tuple(one.extent for one in found.part.parallel)


@dataclass(frozen=True, slots=True)
class BlockWaves:
    """A kernel whose blocks may run one tile of a wavefront each. `prefix`: names of its host iterators."""

    program: Program
    part: KernelPart
    prefix: tuple[str, ...]

    def copied(self, order: tuple[int, ...]) -> tuple[tuple[StagedArray, int], ...]:
        """Return what a block can copy of its tile, with the parallel dimensions in `order`: boxes of one size, and the
        bytes of an element. () if all of it together is larger than the shared memory of any GPU, or isl gives up.
        """
        part = reordered(self.part, order)
        try:
            legal = copied_arrays(self.program, part, self.prefix)
        except IllegalPlan:
            return ()
        boxes = [box for box in worthwhile_boxes(self.program, part, self.prefix) if box.array in legal]
        if sum(box_bytes(self.program, box) for box in boxes) > MOST_SHARED:
            return ()
        fixed = (0,) * len(part.parallel)
        return tuple((StagedArray(box.array, tuple(Extent(fixed, (), 0, size - 1) for size in box.sizes), ()),
                      ELEMENT_BYTES[self.program.array(box.array).type]) for box in boxes)

    def inner_tiles(self, order: tuple[int, ...], size: int) -> tuple[int, ...]:
        """Return the number of inner tiles of `size` along each row with threads; () if their diagonals are illegal, or
        isl gives up.
        """
        try:
            part = with_inner_tiles(reordered(self.part, order), size)
            return tuple(places_of(part)[row] for row in shared_rows(part))
        except IllegalPlan:
            return ()
