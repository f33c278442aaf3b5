"""Tile and block sizes: the points that a block computes, and its threads.

Decided for x first, because x matters most (coalescing): a tile size, then the block size within it, dimension by
dimension. An option is offered only if the remaining dimensions can complete it (`candidate_sizes`, and
`room` for kernels whose blocks compute stages).
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any

from generator.decisions.base import Decided, Depends, KernelDecision, Known, Offer, Option, Question, Row
from generator.decisions.diagonals import DIAGONALS, inside_tiles
from generator.decisions.fragments import asked_in_fragments
from generator.decisions.products import PRODUCTS
from generator.decisions.room import has_few_threads, has_outer_sums, is_long, largest_tiles, room_of
from generator.decisions.size_lists import Sizes
from generator.decisions.walk import WALK
from generator.errors import InputError
from generator.forms import sizes

TILE, BLOCK = "outer tile size", "thread block size"
AXES = "xyz"


@dataclass(frozen=True, slots=True)
class TileAndBlock:
    """Sizes per parallel dimension, outermost first; a thread computes tile / block points."""

    tile: Sizes
    block: Sizes

    @property
    def several_points(self) -> bool:
        """Whether a thread computes more than one point."""
        return any(tile > block for tile, block in zip(self.tile, self.block, strict=True))


class _Sizes(KernelDecision[TileAndBlock]):
    """Two fields, two questions per parallel dimension."""

    def ask(self, known: Known) -> Generator[Question, Option, TileAndBlock]:
        """See KernelDecision."""
        if known[DIAGONALS]:
            return TileAndBlock(*(yield from inside_tiles(known, tuple(f"{BLOCK} {axis}" for axis in AXES))))
        if known[PRODUCTS] != PRODUCTS.default:
            names = tuple((f"{TILE} {axis}", f"{BLOCK} {axis}") for axis in AXES)
            why: Depends = ((PRODUCTS.name, known[PRODUCTS]),)
            return TileAndBlock(*(yield from asked_in_fragments(known, known[PRODUCTS], why, names)))
        shape, walk = known.shape, known[WALK]
        largest, room = largest_tiles(shape, known.wide, known.target), room_of(shape, known.target, known.wide, walk)
        # by the schedule, for the same statements
        kinds = {"skewed": shape.skewed, "coarse": shape.coarse, "long": is_long(shape, known.wide), "walk": walk,
                 "sums": has_outer_sums(shape, known.wide, known.target),
                 "few": known.wide and has_few_threads(shape, known.target), "reduces": known.wide and shape.reduces}
        special: Depends = tuple((kind, value) for kind, value in kinds.items() if value)
        tiles: Sizes = ()
        blocks: Sizes = ()
        points = threads = 1
        for dim in range(len(largest)):
            depends: Depends = (("largest tiles", largest), ("points", points), ("threads", threads), *special)
            options = room.tile_options(tiles, points, threads)
            if shape.computes:
                depends = (*depends, ("offered", options))
            tile = yield Question(f"{TILE} {AXES[dim]}", options, depends)
            assert isinstance(tile, int)
            options = room.block_options(tiles, tile, points, threads)
            depends = (*depends, ("tile", tile), *((("blocks", options),) if shape.computes else ()))
            block = yield Question(f"{BLOCK} {AXES[dim]}", options, depends)
            assert isinstance(block, int)
            points, threads = points * tile, threads * block
            tiles, blocks = (*tiles, tile), (*blocks, block)
        return TileAndBlock(tiles[::-1], blocks[::-1])

    def answers(self, kernel: Decided) -> dict[str, Option]:
        """See KernelDecision."""
        found: dict[str, Option] = {}
        for axis, tile, block in zip(AXES, reversed(kernel.tile), reversed(kernel.block), strict=False):
            found |= {f"{TILE} {axis}": tile, f"{BLOCK} {axis}": block}
        return found

    def of(self, kernel: Decided) -> TileAndBlock:
        """See KernelDecision."""
        return TileAndBlock(kernel.tile, kernel.block)

    def members(self, value: TileAndBlock) -> dict[str, Any]:
        """See KernelDecision."""
        return {"tile": value.tile, "block": value.block}

    def check(self, data: Mapping[str, Any], where: str) -> None:
        """See KernelDecision."""
        self.form.require(data, where, "tile", "block")
        if len(data["tile"]) != len(data["block"]):
            raise InputError(f"{where}: tile and block have different lengths")

    def rows(self) -> tuple[tuple[str, Row], ...]:
        """See KernelDecision."""
        return (f"{TILE} x, y, z", self.row), (f"{BLOCK} x, y, z", _BLOCK_ROW)

    def words(self, kernel: Decided) -> str:
        """`outer tile size 32x64, thread block size 8x32 (4x2 points each)`."""
        found = self.of(kernel)
        if not found.tile:
            return "a single thread"
        points = [max(1, tile // block) for tile, block in zip(found.tile, found.block, strict=True)]
        each = f" ({_by(tuple(points))} points each)" if max(points) > 1 else ""
        return f"{TILE} {_by(found.tile)}, {BLOCK} {_by(found.block)}{each}"


def _by(numbers: Sizes) -> str:
    return "x".join(str(number) for number in numbers)


_BLOCK_ROW = Row("as for tiles, divisors of the tile size",
                 "a thread computes tile / block points with a stride of the block size, so that neighbouring threads"
                 " access neighbouring elements")
SIZES = _Sizes(
    "tile", TILE, TileAndBlock((), ()), sizes("parallel dimension"), lambda _: Offer(()),
    Row("powers of two; on GPUs, for sums in registers, also 6, 12, 24, 48 and 96",
        "points per block: up to 512 along x and 16384 in all (65536 if threads share sums); on CPUs, where one thread"
        " may run whole rows, 4096 and 65536 (262144 if it walks)"))
