"""Tiles that run several time steps, as relations from tiles to their instances and elements."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

import islpy as isl

from generator.polyhedral.dependences.model import model
from generator.polyhedral.kit.memoized import memoized
from generator.polyhedral.memory.overlap import OverlappedTiles, check_overlap
from generator.polyhedral.time.time_steps import (
    Margin,
    Overlap,
    Sweep,
    TimeLoop,
    TimeTiling,
    overlap,
    required_time_loop,
    time_tiling,
)
from generator.program import Program


@memoized(maxsize=256)
def check_time_tiles(program: Program, steps: int, tile: tuple[int, ...]) -> None:
    """Raise IllegalPlan unless every tile can run a chunk of steps independently. `tile`: in the dimensions of the
    arrays.

    The instances of a tile may only need values from before the chunk or values that are computed for the tile.
    """
    loop = required_time_loop(program)
    blocks = _Blocks(loop, overlap(loop, steps), time_tiling(loop, steps), tile)
    runs = reduce(isl.UnionMap.union, (blocks.computed(number) for number in range(len(loop.sweeps))))
    stores = reduce(isl.UnionMap.union, map(blocks.own, loop.sweeps))
    launch = reduce(isl.UnionMap.union, (blocks.in_chunk(sweep, "") for sweep in loop.sweeps))
    touched = isl.UnionMap("{ }")
    for sweep in loop.sweeps:
        for access in sweep.statement.accesses:
            if access.array in loop.arrays:
                touched = touched.union(isl.UnionMap(access.relation))
    check_overlap(
        OverlappedTiles(runs, stores, launch, blocks.held()),
        model(program).domain,
        model(program).flow.reverse(),
        touched,
    )


@dataclass(frozen=True, slots=True)
class _Blocks:
    """Relations from a chunk with a block, `[c, b0, ..]`, to instances or elements, as isl UnionMaps."""

    loop: TimeLoop
    overlap: Overlap
    tiling: TimeTiling
    tile: tuple[int, ...]

    def computed(self, number: int) -> Any:
        """Return what blocks compute in sweep `number`."""
        sweep = self.loop.sweeps[number]
        return self.in_chunk(sweep, self._around(sweep, self.overlap.sweeps[number], "(last - v0)"))

    def own(self, sweep: Sweep) -> Any:
        """Return what blocks compute of their own tiles."""
        return self.in_chunk(sweep, self._around(sweep, ((0, 0),) * len(self.tile), "0"))

    def _around(self, sweep: Sweep, margin: Margin, left: str) -> str:
        parts = []
        for d, ((low, high), (by_low, by_high)) in enumerate(zip(margin, self.overlap.slope, strict=True)):
            position, constant = sweep.dims[d]
            element = str(constant) if position is None else f"v{position} + {constant}"
            parts.append(f"{self.tile[d]} b{d} - {low} - {by_low} * {left} <= {element} <= "
                         f"{self.tile[d]} b{d} + {self.tile[d] - 1 + high} + {by_high} * {left}")
        return " and ".join(parts)

    def in_chunk(self, sweep: Sweep, condition: str) -> Any:
        """Return instances of a sweep in the steps of a chunk, under a condition on `last`, its last step, and
        iterators `v0`, ..
        """
        names = ", ".join(f"v{k}" for k in range(len(sweep.statement.iterators)))
        least, shorter, first = self.tiling.least, self.tiling.shorter, self.loop.first
        steps = (f"((c < {shorter} and begin = {first} + {least} c and last = begin + {least - 1}) or "
                 f"(c >= {shorter} and begin = {first - shorter} + {least + 1} c and last = begin + {least}))")
        where = " and ".join(part for part in (steps, "begin <= v0 <= last", condition) if part)
        text = (f"{{ [{', '.join(['c', *self._names()])}] -> {sweep.statement.name}[{names}] : "
                f"{self._grid()} and exists begin, last : {where} }}")
        return isl.UnionMap(text).intersect_range(isl.UnionSet(sweep.statement.domain))

    def held(self) -> Any:
        """Return the elements of arrays that blocks hold."""
        parts = []
        for name, margin in self.overlap.arrays:
            index = [f"e{d}" for d in range(len(self.tile))]
            inside = " and ".join(f"{t} b{d} - {low} <= e{d} <= {t} b{d} + {t - 1 + high}"
                                  for d, (t, (low, high)) in enumerate(zip(self.tile, margin, strict=True)))
            parts.append(f"[{', '.join(['c', *self._names()])}] -> {name}[{', '.join(index)}] : {inside}")
        return isl.UnionMap("{ " + "; ".join(parts) + " }")

    def _names(self) -> list[str]:
        return [f"b{d}" for d in range(len(self.tile))]

    def _grid(self) -> str:
        counts = [-(-extent // size) for extent, size in zip(self.loop.extents, self.tile, strict=True)]
        return " and ".join([f"0 <= c < {self.tiling.chunks}", *(f"0 <= b{d} < {n}" for d, n in enumerate(counts))])
