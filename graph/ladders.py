"""Tile and block sizes of a kernel's parallel dimensions: which ones are worth offering and can be completed.

Sizes are powers of two, so a block size that is not larger than the tile size divides it. Limits on products (the
points of a tile, the threads of a block) run over all dimensions; an option is offered only if some options of
the dimensions to come complete it within the limits, so no choice leads to a dead end.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from generator.target import Target

WARP = 32  # fewer threads per block leave lanes idle on every GPU


@dataclass(frozen=True, slots=True)
class Ladders:
    """Tile sizes on offer in x, y and z, and the most points in a tile."""

    sizes: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
    max_points: int


PAPER = Ladders(((32, 64, 128, 256, 512), (4, 8, 16, 32), (2, 4, 8, 16)), 1024)
"""What Coding Ants offers; its limit on the tile is a limit on threads, applied to points."""

WIDE = Ladders(
    ((8, 16, 32, 64, 128, 256, 512), (1, 2, 4, 8, 16, 32, 64, 128), (1, 2, 4, 8, 16)), 16384
)
"""Also small tiles, and large ones of which each thread computes several points."""

Step = tuple[int, int]
"""Tile and block size of one dimension, or their products over several."""


@dataclass(frozen=True)
class Geometry:
    """The sizes on offer for a kernel whose parallel dimensions have `extents`, x first (at most three)."""

    extents: tuple[int, ...]
    target: Target
    ladders: Ladders
    rest: tuple[frozenset[Step], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Collect, for every dimension, the products that the dimensions after it can add."""
        rest = [frozenset({(1, 1)})]
        for dim in reversed(range(len(self.extents))):
            steps = [(tile, block) for tile in self._tiles(dim) for block in self._blocks(dim, tile)]
            rest.append(frozenset((t * ts, b * bs) for t, b in steps for ts, bs in rest[-1]))
        object.__setattr__(self, "rest", tuple(reversed(rest)))
