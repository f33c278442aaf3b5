"""Shared copies of one kernel: origins of the boxes, the copies to fill, subscripts into them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from generator.expr import Binary, Expr, Load, Name
from generator.linear import combination, simplify
from generator.lowering.naming import fresh_name
from generator.nest import Copy
from generator.plan import KernelPlan
from generator.polyhedral.footprint import Extent, StagedArray, StagePoint
from generator.polyhedral.kernels import Dimension, KernelPart
from generator.polyhedral.mapping import block_names
from generator.program import ELEMENT_BYTES, Program


@dataclass(frozen=True, slots=True)
class LocalArray:
    """A shared array of a kernel: the copy of a box (of size `box`) of `array` at stage `stage`.

    `sizes` is what is declared: rows may be longer than those of the box, against bank conflicts.
    """

    name: str
    array: str
    type: str
    sizes: tuple[int, ...]
    box: tuple[int, ...]
    stage: int
    footprint: StagedArray

    @property
    def bytes(self) -> int:
        """Size in bytes."""
        return ELEMENT_BYTES[self.type] * prod(self.sizes)


def tile_sizes(part: KernelPart, plan: KernelPlan) -> tuple[int, ...]:
    """Tile sizes cut to the extents: what a block really touches."""
    return tuple(min(t, d.extent) for t, d in zip(plan.tile, part.parallel, strict=True))


def inner_sizes(point: StagePoint, inner_tile: int) -> tuple[int, ...]:
    """Values that each tiled member takes below the stage point; everything when untiled."""
    return tuple(d.extent if inner_tile == 1 else min(inner_tile, d.extent) for d in point.tiled)


def local_arrays(program: Program, part: KernelPart, plan: KernelPlan,
                 points: tuple[StagePoint, ...], taken: set[str]) -> tuple[LocalArray, ...]:
    """All shared arrays of a kernel, by stage; () when the plan wants none. Their names are added to `taken`."""
    if not plan.shared:
        return ()
    staged = [(number, point, a) for number, point in enumerate(points) for a in point.arrays]
    result: list[LocalArray] = []
    for number, point, footprint in staged:
        copies_of = [stage for stage, _, a in staged if a.array == footprint.array]
        here = sum(local.array == footprint.array for local in result)
        which = number if len(set(copies_of)) == len(copies_of) else here  # one per stage, or several
        name = fresh_name(f"{footprint.array}_shared{which if len(copies_of) > 1 else ''}", taken)
        sizes = footprint.sizes(tile_sizes(part, plan), inner_sizes(point, plan.inner_tile))
        kind = program.array(footprint.array).type
        declared = (*sizes[:-1], sizes[-1] + plan.padding)
        result.append(LocalArray(name, footprint.array, kind, declared, sizes, number, footprint))
    return tuple(result)


def origin(extent: Extent, part: KernelPart, plan: KernelPlan, point: StagePoint,
           tiles: tuple[Expr, ...]) -> Expr:
    """The first index of the box in one array dimension, from block indices and tile indices `tiles`."""
    terms: dict[Expr, int] = {}
    constant = extent.low
    outer = zip(extent.parallel, part.parallel, plan.tile, tile_sizes(part, plan),
                map(Name, block_names(len(part.parallel))), strict=True)
    inner = zip(extent.tiled, point.tiled, _steps(point, plan), inner_sizes(point, plan.inner_tile), tiles,
                strict=True)
    for coefficient, dim, step, size, index in (*outer, *inner):
        if coefficient == 0:
            continue
        constant += coefficient * dim.low + min(0, coefficient * (size - 1))
        if step:
            terms[index] = terms.get(index, 0) + coefficient * step
    return combination(terms, constant)


def _steps(point: StagePoint, plan: KernelPlan) -> tuple[int, ...]:
    return tuple(0 if plan.inner_tile == 1 else plan.inner_tile for _ in point.tiled)


def origin_range(extent: Extent, part: KernelPart, plan: KernelPlan, point: StagePoint) -> tuple[int, int]:
    """Least and greatest value of `origin` over all blocks and tiles."""
    low = high = extent.low
    outer = zip(extent.parallel, part.parallel, plan.tile, tile_sizes(part, plan), strict=True)
    inner = zip(extent.tiled, point.tiled, _steps(point, plan), inner_sizes(point, plan.inner_tile), strict=True)
    for coefficient, dim, step, size in (*outer, *inner):
        ends = [coefficient * (dim.low + k * step) + min(0, coefficient * (size - 1)) for k in (0, _last(dim, step))]
        low, high = low + min(ends), high + max(ends)
    return low, high


def _last(dim: Dimension, step: int) -> int:
    return (dim.extent - 1) // step if step else 0


def copies(arrays: tuple[LocalArray, ...], program: Program, part: KernelPart, plan: KernelPlan,
           point: StagePoint, tiles: tuple[Expr, ...]) -> Iterator[Copy]:
    """What fills the shared arrays of one stage."""
    for local in arrays:
        shape = program.array(local.array).extents
        corner = tuple(origin(e, part, plan, point, tiles) for e in local.footprint.extents)
        ranges = [origin_range(e, part, plan, point) for e in local.footprint.extents]
        below = tuple(low < 0 for low, _ in ranges)
        above = tuple(high + size > n for (_, high), size, n in zip(ranges, local.box, shape, strict=True))
        yield Copy(local.name, local.array, corner, local.box, shape, below, above)


def into_local(load: Load, local: LocalArray, corner: tuple[Expr, ...]) -> Load:
    """The element of the shared copy that `load` means."""
    index = tuple(simplify(Binary("-", i, o)) for i, o in zip(load.index, corner, strict=True))
    return Load(local.name, index)
