"""Tile and block sizes: the points that a block computes, and its threads.

Decided for x first, because x matters most (coalescing): a tile size, then the block size within it, dimension by
dimension. An option is offered only if the remaining dimensions can complete it (`candidate_sizes`).
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from generator.decisions.base import Decided, Depends, KernelDecision, Known, Offer, Option, Question, Row
from generator.decisions.candidate_sizes import caps, geometry
from generator.decisions.diagonals import DIAGONALS, inside_tiles
from generator.decisions.fragments import asked_in_fragments
from generator.decisions.products import PRODUCTS
from generator.decisions.size_lists import HOST, INNER_TILES, LONG, PAPER, TILES, WIDE, CandidateSizes, Sizes
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


def _candidates(known: Known) -> CandidateSizes:
    if known.shape.coarse or _is_long(known):
        return TILES if known.shape.coarse else LONG
    return PAPER if not known.wide else HOST if known.target.shares_host_cores else WIDE


def _is_long(known: Known) -> bool:
    return known.shape.privatizes and known.wide and not known.shape.coarse


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
        shape, candidates = known.shape, _candidates(known)
        largest = caps(shape.extents[::-1], candidates)
        offer = geometry(largest, known.target, candidates, known[WALK])
        # by the schedule, for the same statements
        kinds = {"skewed": shape.skewed, "coarse": shape.coarse, "long": _is_long(known), "walk": known[WALK]}
        special: Depends = tuple((kind, value) for kind, value in kinds.items() if value)
        whole = shape.coarse or (shape.skewed and len(largest) > 1)  # one point per thread: see Shape.skewed
        tiles: list[int] = []
        blocks: list[int] = []
        points = threads = 1
        for dim in range(len(largest)):
            depends: Depends = (("largest tiles", largest), ("points", points), ("threads", threads), *special)
            options = offer.tile_options(dim, points, threads, whole)
            if shape.computes:
                options = _roomy(known, tiles, options, [more[0] for more in offer.tiles[dim + 1:]])
                depends = (*depends, ("offered", options))
            tile = yield Question(f"{TILE} {AXES[dim]}", options, depends)
            assert isinstance(tile, int)
            options = (tile,) if whole else offer.block_options(dim, tile, points, threads)
            block = yield Question(f"{BLOCK} {AXES[dim]}", options, (*depends, ("tile", tile)))
            assert isinstance(block, int)
            points, threads = points * tile, threads * block
            tiles.append(tile)
            blocks.append(block)
        return TileAndBlock(tuple(reversed(tiles)), tuple(reversed(blocks)))

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
        each = f" ({_by(points)} points each)" if max(points) > 1 else ""
        return f"{TILE} {_by(found.tile)}, {BLOCK} {_by(found.block)}{each}"


def _roomy(known: Known, tiles: Sequence[int], options: Sizes, least: Sequence[int]) -> Sizes:
    """Return the tile sizes of a dimension with which the stages of a block fit in its shared memory; at least one.

    `tiles`: the sizes chosen before. `least`: the smallest of the remaining dimensions, x first.
    """
    inner = min(t for t in INNER_TILES if t > 1) if known.shape.sequential else 1

    def fits(size: int) -> bool:
        tile = tuple(reversed((*tiles, size, *least)))
        return known.shape.shared_bytes(tile, inner, copies=False) <= known.target.local_bytes

    return tuple(size for size in options if fits(size)) or options[:1]


def _by(numbers: Sequence[int]) -> str:
    return "x".join(str(number) for number in numbers)


_BLOCK_ROW = Row("powers of two up to the tile",
                 "a thread computes tile / block points with a stride of the block size, so that neighbouring threads"
                 " access neighbouring elements")
SIZES = _Sizes(
    "tile", TILE, TileAndBlock((), ()), sizes("parallel dimension"), lambda _: Offer(()),
    Row("powers of two",
        "points per block: up to 512 along x and 16384 in all; on CPUs, where one thread may run whole rows, 4096 and"
        " 65536"))
