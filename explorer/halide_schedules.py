"""Schedules that Halide's prototype makes without a parent: all root, reasonable and random ones, patterns for a stage.

A tile of its GPU mode, n x n points with a thread each, is a tile and a block of n x n in x and y, rows that run in
parallel are tiles of one row. What is not on offer the graph repairs: on a GPU the nearest block to 4x4 threads has 32.

In the space of stages a random list is drawn in two steps, since what a stage's loops have on offer shows only when it
has loops: a walk with all else switched off comes first and is not asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from explorer.halide_lists import List, Lists, Stages, lists_of
from explorer.halide_options import HalideGaOptions
from explorer.variation import Subject
from graph.optimization_graph import OptimizationGraph
from graph.prefixes import Path
from graph.space import Space
from graph.stage_graph import Role, StageGraph, StageNode

ROW = 1 << 20
"""Longer than any tile on offer, so that the longest is closest to it."""
LINE = 8
"""The length of tiles of stages with one dimension."""
LANES = 32
"""Neighbours in a row."""
PARTS = ("tile", "lanes", "threads")
"""What a reasonable schedule may do to a stage: tiles (else rows), threads along x (else one), threads along y."""


@dataclass(frozen=True, slots=True)
class Patterns:
    """Lists for the stages of `graph`."""

    graph: StageGraph
    options: HalideGaOptions

    def placed(self, rng: np.random.Generator, *roles: Role) -> List:
        """A place that means one of these, and nothing else."""
        places = [option for role in roles for option in self.graph.options(role)] or self.graph.options("own loops")
        return {(self.graph.decision, ()): places[int(rng.integers(len(places)))]}

    def sized(self, tile: Sequence[int], block: Sequence[int]) -> List:
        """Loops of its own, in tiles of so many points, each computed by so many threads, x first."""
        tiles, blocks = ((name for name in names) for names in (self.graph.tile, self.graph.block))
        sizes = [*zip_longest(tiles, tile, fillvalue=1), *zip_longest(blocks, block, fillvalue=1)]
        return {(self.graph.decision, ()): self.graph.options("own loops")[0],
                **{(str(name), ()): int(size) for name, size in sizes}}

    def square(self, rng: np.random.Generator) -> List:
        """A square tile with a thread per point."""
        side = int(rng.choice(self.options.squares))
        return self.sized((side, side), (side, side))

    def human(self, rng: np.random.Generator) -> List:
        """What people write for a stage: a square three times of six, else loops in a reader, a tile of a single
        thread, or a row whose threads are neighbours along x.
        """
        width = int(rng.choice(self.options.vectors))
        match int(rng.integers(6)):
            case 0:
                return self.placed(rng, "in a reader")
            case 1:
                return self.sized((width, width), (1, 1))
            case 2:
                return self.sized((ROW, 1), (width, 1))
            case _:
                return self.square(rng)

    def all_root(self) -> Lists:
        """Loops of its own for every stage, in tiles of 4 x 4."""
        return {(stage.name,): self.sized((4, 4), (4, 4)) for stage in self.graph.stages}

    def reasonable(self, tiled: float, parts: Sequence[str], rng: np.random.Generator) -> Lists:
        """No loops for stages of which a point needs one point; the others have tiles with probability `tiled`, else
        rows.
        """
        side = int(rng.choice(self.options.squares))
        return {(stage.name,): self._reasonable(stage, rng.random() < tiled, parts, side, rng)
                for stage in self.graph.stages}

    def _reasonable(self, stage: StageNode, tiled: bool, parts: Sequence[str], side: int,
                    rng: np.random.Generator) -> List:
        if stage.point:
            return self.placed(rng, "no loops")
        if stage.dims < 2:
            return self.sized((LINE,), (LINE if tiled and "lanes" in parts else 1,))
        if not tiled or "tile" not in parts:
            return self.sized((ROW, 1), (LANES if "lanes" in parts else 1, 1))
        return self.sized((side, side), (side if "lanes" in parts else 1, side if "threads" in parts else 1))

    def seed(self, number: int, rng: np.random.Generator) -> Lists:
        """All root for 0; for each share of tiles from 0 to 1 in tenths a reasonable one with all parts, and one with
        some.
        """
        if number == 0:
            return self.all_root()
        parts = PARTS if number % 2 else rng.permutation(PARTS)[: int(rng.integers(1, len(PARTS) + 1))].tolist()
        return self.reasonable((number - 1) // 2 / 10, parts, rng)


@dataclass(frozen=True, slots=True)
class Drawing:
    """Draws lists for the walks of a space; `patterns` is None where it names no stages."""

    space: Space
    graph: OptimizationGraph
    stages: Stages
    patterns: Patterns | None
    options: HalideGaOptions

    def path(self, lists: Lists, rng: np.random.Generator) -> Path:
        """Where `lists` lead; nowhere if nothing is legal."""
        walk = self.graph.walk(self.space, self.stages.following(lists, rng))
        return () if walk is None else self.graph.path(walk)

    def random(self, rng: np.random.Generator) -> Lists:
        """A random schedule, or a reasonable one: everything by chance where the space names no stages."""
        patterns = self.patterns
        if patterns is None:
            return {}
        if rng.random() < self.options.reasonable:
            return patterns.reasonable(float(rng.random()), PARTS, rng)
        root = patterns.square(rng)
        lists: Lists = {(stage.name,): dict(root) for stage in patterns.graph.stages}
        names = list(lists)
        chosen = rng.choice(len(names), size=min(self.options.redrawn, len(names)), replace=False)
        return self.redrawn(lists, [names[place] for place in sorted(chosen)], rng)

    def redrawn(self, lists: Lists, chosen: Sequence[Subject], rng: np.random.Generator) -> Lists:
        """`lists` with random ones for the `chosen` stages, of up to `length` directives each."""
        if self.patterns is None:
            return {stage: given for stage, given in lists.items() if stage not in chosen}
        lengths = {stage: int(rng.integers(self.options.length + 1)) for stage in chosen}
        begun = {stage: self._begun(length, rng) for stage, length in lengths.items()}
        spots = self.stages.spots(self.path({**lists, **begun}, rng))
        drawn = lists_of(spots)
        for stage, length in lengths.items():
            offered = [spot for spot in spots.get(stage, ()) if self.stages.is_directive(spot)]
            count = min(max(length - 1, 0), len(offered))
            for place in rng.choice(len(offered), size=count, replace=False) if count else ():
                others = offered[place].others()
                if others:
                    drawn[stage][offered[place].key] = others[int(rng.integers(len(others)))]
        return {**lists, **drawn}

    def _begun(self, length: int, rng: np.random.Generator) -> List:
        """The beginning of a list of `length` directives: where the stage is computed."""
        assert self.patterns is not None
        return self.patterns.placed(rng, *(("own loops", "in a reader") if length else ("no loops",)))
