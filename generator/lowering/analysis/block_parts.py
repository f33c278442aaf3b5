"""What the blocks of a kernel compute, update and add up in shared memory or on tensor cores, for its KernelShape."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from generator.errors import IllegalPlan
from generator.polyhedral.kit.limited import ChildError, limited
from generator.polyhedral.kit.memoized import memoized
from generator.polyhedral.memory.contractions import contraction_of
from generator.polyhedral.memory.diagonals import places_of, shared_rows, with_inner_tiles
from generator.polyhedral.memory.footprint import Extent, StagedArray
from generator.polyhedral.memory.private import update_box
from generator.polyhedral.memory.rough_boxes import block_bytes
from generator.polyhedral.memory.tile_boxes import TileBox
from generator.polyhedral.memory.wavefront_boxes import is_copied, worthwhile_boxes
from generator.polyhedral.schedules.kernels import KernelPart, reordered
from generator.program import ELEMENT_BYTES, Program

_NO_ROOM = 2**62
_MOST_SHARED = 256 * 1024
"""More shared memory than a block has on any GPU (227 KiB on NVIDIA's, 160 KiB on AMD's): larger boxes are not tested.
"""


@dataclass(frozen=True, slots=True)
class BlockStages:
    """The stages that the blocks of a kernel compute, with its parallel dimensions in `order`.

    `walk`: the number of rows of a tile that a block computes at a time (0: all), except for the stages `whole`.
    """

    program: Program
    part: KernelPart
    order: tuple[int, ...] = ()
    walk: int = 0
    whole: tuple[str, ...] = ()

    def bytes(self, tile: tuple[int, ...], inner_tile: int, padding: int) -> int:
        """Return their approximate shared memory; more than any device has where blocks cannot hold them."""
        inner, part = 1 if self.walk else inner_tile, reordered(self.part, self.order)
        try:
            return block_bytes(self.program, part, tile, inner, padding, self.walk, self.whole)
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

    def bytes(self, tile: tuple[int, ...]) -> int:
        """Return the shared memory of the copies."""
        part = reordered(self.part, self.order)
        boxes = [update_box(self.program, part, name, tile, self.prefix) for name in self.reductions]
        return sum(ELEMENT_BYTES[self.program.array(box.array).type] * prod(box.sizes) for box in boxes)


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
        bytes of an element. () if all of it together is larger than the shared memory of any GPU.
        """
        part = reordered(self.part, order)
        boxes = worthwhile_boxes(self.program, part, self.prefix)
        elements = [ELEMENT_BYTES[self.program.array(box.array).type] for box in boxes]
        if sum(element * prod(box.sizes) for element, box in zip(elements, boxes, strict=True)) > _MOST_SHARED:
            return ()
        legal = _legal_copies(self.program, part, self.prefix)
        fixed = (0,) * len(part.parallel)
        return tuple((StagedArray(box.array, tuple(Extent(fixed, (), 0, size - 1) for size in box.sizes), ()), element)
                     for box, element in zip(boxes, elements, strict=True) if box.array in legal)

    def inner_tiles(self, order: tuple[int, ...], size: int) -> tuple[int, ...]:
        """Return the number of inner tiles of `size` along each row with threads; () if their diagonals are illegal."""
        try:
            part = with_inner_tiles(reordered(self.part, order), size)
        except IllegalPlan:
            return ()
        return tuple(places_of(part)[row] for row in shared_rows(part))


@memoized(maxsize=1024)
def _legal_copies(program: Program, part: KernelPart, prefix: tuple[str, ...]) -> tuple[str, ...]:
    """Return the arrays that can be copied by the exact test; none if that takes too long or isl fails."""
    boxes = worthwhile_boxes(program, part, prefix)

    def legal(box: TileBox) -> bool:
        return is_copied(program, part, box, len(prefix))

    try:
        numbers = limited(lambda: " ".join(str(n) for n, box in enumerate(boxes) if legal(box)), "testing copies")
    except (IllegalPlan, ChildError):
        return ()
    return tuple(boxes[int(number)].array for number in numbers.split())
