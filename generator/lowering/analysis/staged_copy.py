"""A possible shared copy of a kernel, as its KernelShape knows it."""

from __future__ import annotations

from dataclasses import dataclass

from generator.decisions.size_lists import InnerTiles, Sizes
from generator.lowering.memory.swizzle import swizzle_of
from generator.polyhedral.memory.footprint import StagedArray, widened


@dataclass(frozen=True, slots=True)
class StagedCopy:
    """A possible shared copy: its footprint, and the bytes of an element.

    `extents`: those of the loops that are tiled around it. `first`: the number of the first of them in `KernelShape`'s
    `inner`. `outer`: those of the loops around these, of which a copy has a single value. `operated`: it can hold the
    results of operations on its elements. `row`: the length of the array's rows. `lows`: the least values of the
    parallel and the tiled loops. `aligned`: as in KernelPlan.
    """

    box: StagedArray
    element: int
    extents: Sizes = ()
    first: int = 0
    operated: bool = False
    outer: Sizes = ()
    row: int = 1
    lows: Sizes = ()
    aligned: int = 0

    def inside(self, inner_tile: InnerTiles) -> Sizes:
        """Return the number of values of each loop for one copy."""
        inner = (e if size == 1 else min(size, e)
                 for size, e in zip(self._sizes(inner_tile), self.extents, strict=True))
        return (*(1 for _ in self.outer), *inner)

    def is_renewed(self, inner_tile: InnerTiles) -> bool:
        """Return whether there are several tiles, each with its own copy."""
        sizes = zip(self._sizes(inner_tile), self.extents, strict=True)
        return max(self.outer, default=1) > 1 or any(1 < size < e for size, e in sizes)

    def sizes(self, tile: Sizes, inner_tile: InnerTiles, steps: Sizes = ()) -> Sizes:
        """Return the sizes of a copy of what a `tile` accesses; `steps`: distances of tiles, if these are larger."""
        inside, extent = self.inside(inner_tile), self.box.extents[-1]
        *rows, row = self.box.sizes(tile, inside)
        if self.aligned and self.row % self.aligned == 0:
            distances = (*(steps or tile), *self._steps(inner_tile))
            shift = extent.shift(self.lows, (*tile, *inside), distances, self.aligned)
            row = row if shift is None else widened(row, shift, self.aligned)
        return (*rows, row)

    def _steps(self, inner_tile: InnerTiles) -> Sizes:
        """Return the distances of the tiles of all loops around it; 0: none is tiled."""
        sizes = self._sizes(inner_tile)
        if max(sizes, default=1) == 1 and not self.outer:
            return (0,) * len(sizes)
        inner = (e if size == 1 else size for size, e in zip(sizes, self.extents, strict=True))
        return (*(1 for _ in self.outer), *inner)

    def has_swizzle(self, tile: Sizes, inner_tile: InnerTiles, vector: int, steps: Sizes = ()) -> bool:
        """Return whether its rows can be swizzled if accesses transfer up to `vector` elements, at most 16 bytes."""
        sizes = self.sizes(tile, inner_tile, steps)
        return swizzle_of(sizes, self.element, max(1, min(vector, 16 // self.element))) is not None

    def _sizes(self, inner_tile: InnerTiles) -> Sizes:
        count = len(self.extents)
        return (inner_tile,) * count if isinstance(inner_tile, int) else inner_tile[self.first:self.first + count]
