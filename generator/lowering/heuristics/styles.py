"""Sizes and options of the kernels of start plans; `starts` describes what they are for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from generator.decisions.size_lists import Sizes

_BySize: TypeAlias = tuple[Sizes, Sizes, Sizes, Sizes]

INNER_TILE = 16
"""The size of inner tiles. Loops over them are unrolled completely in products."""


@dataclass(frozen=True, slots=True)
class Style:
    """Tile and block sizes for kernels with 0, 1, 2 and 3 parallel dimensions, outermost first."""

    tiles: _BySize
    blocks: _BySize
    inside: bool = False
    shared: bool = False
    registers: bool = False
    unroll: int = 1
    columns: bool = False
    neighbours: int = 1

    def sized(self, tile: Sizes, block: Sizes) -> Style:
        """Return this style with other sizes for kernels with as many dimensions."""
        return replace(self, tiles=_with(self.tiles, tile), blocks=_with(self.blocks, block))


def _with(sizes: _BySize, other: Sizes) -> _BySize:
    """Return `sizes` with `other` for kernels with as many dimensions."""
    none, one, two, three = (other if len(given) == len(other) else given for given in sizes)
    return none, one, two, three


ROWS = Style(((), (256,), (4, 256), (1, 4, 256)), ((), (1,), (1, 1), (1, 1, 1)), inside=True)
STRIPS = Style(
    ((), (64,), (8, 32), (1, 8, 32)), ((), (8,), (1, 16), (1, 1, 32)), inside=True, registers=True, unroll=4
)
SUMS = Style(((), (256,), (16, 32), (4, 16, 32)), ((), (16,), (1, 32), (1, 1, 32)), inside=True)
VECTORS = Style(
    ((), (16,), (4, 16), (1, 4, 16)), ((), (1,), (1, 1), (1, 1, 1)), inside=True, registers=True, columns=True
)
POINTS = Style(((), (64,), (8, 32), (1, 8, 32)), ((), (64,), (8, 32), (1, 8, 32)))
BLOCKED = Style(
    ((), (64,), (32, 64), (1, 32, 64)), ((), (32,), (8, 16), (1, 8, 16)), inside=True, shared=True, registers=True
)
OUTER = Style(
    ((), (256,), (128, 128), (1, 128, 128)), ((), (64,), (16, 16), (1, 16, 16)),
    inside=True, shared=True, registers=True, unroll=INNER_TILE, neighbours=4,
)
WIDE = Style(((), (256,), (4, 512), (1, 4, 512)), ((), (256,), (1, 128), (1, 1, 128)), unroll=4, neighbours=4)
DOWN = Style(((), (64,), (16, 64), (4, 4, 64)), ((), (64,), (4, 64), (1, 4, 64)), unroll=4)
BELOW = Style(((), (64,), (8, 64), (1, 8, 64)), ((), (64,), (1, 64), (1, 1, 64)), unroll=8)
AROUND = Style(((), (128,), (64, 64), (8, 16, 32)), ((), (128,), (16, 64), (2, 8, 32)))
SURROUNDED = Style(((), (2048,), (64, 256), (8, 16, 64)), ((), (1,), (1, 1), (1, 1, 1)))
