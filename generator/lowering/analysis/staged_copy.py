"""A possible shared copy of a kernel, as its KernelShape knows it."""

from __future__ import annotations

from dataclasses import dataclass

from generator.decisions.size_lists import InnerTiles, Sizes
from generator.lowering.memory.swizzle import swizzle_of
from generator.polyhedral.memory.footprint import StagedArray


@dataclass(frozen=True, slots=True)
class StagedCopy:
    """A possible shared copy: its footprint, and the bytes of an element.

    `extents`: those of the loops that are tiled around it. `first`: the number of the first of them in `KernelShape`'s
    `inner`. `outer`: those of the loops around these, of which a copy has a single value. `operated`: it can hold the
    results of operations on its elements.
    """

    box: StagedArray
    element: int
    extents: Sizes = ()
    first: int = 0
    operated: bool = False
    outer: Sizes = ()

    def inside(self, inner_tile: InnerTiles) -> Sizes:
        """Return the number of values of each loop for one copy."""
        inner = (e if size == 1 else min(size, e)
                 for size, e in zip(self._sizes(inner_tile), self.extents, strict=True))
        return (*(1 for _ in self.outer), *inner)

    def is_renewed(self, inner_tile: InnerTiles) -> bool:
        """Return whether there are several tiles, each with its own copy."""
        sizes = zip(self._sizes(inner_tile), self.extents, strict=True)
        return max(self.outer, default=1) > 1 or any(1 < size < e for size, e in sizes)

    def has_swizzle(self, tile: Sizes, inner_tile: InnerTiles, vector: int) -> bool:
        """Return whether its rows can be swizzled if accesses transfer up to `vector` elements, at most 16 bytes."""
        sizes = self.box.sizes(tile, self.inside(inner_tile))
        return swizzle_of(sizes, self.element, max(1, min(vector, 16 // self.element))) is not None

    def _sizes(self, inner_tile: InnerTiles) -> Sizes:
        count = len(self.extents)
        return (inner_tile,) * count if isinstance(inner_tile, int) else inner_tile[self.first:self.first + count]
