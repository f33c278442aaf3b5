"""Schedules that Halide's prototype makes without parents: all root, reasonable and random ones, patterns for a stage.

A tile of its GPU mode (n x n points with one thread each) is a tile and a block of n x n in x and y here; parallel rows
are tiles of one row. The graph repairs options that are not offered: on a GPU, the block nearest to 4x4 threads has 32.

In a space of stages, a random list is drawn in two steps, because the options of a stage's loops are known only if it
has loops: first a walk with all other directives off, which is not asked, then the list.
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
"""Longer than any offered tile, so that the longest tile is chosen as the closest."""
LINE = 8
"""The tile length of stages with one dimension, in points."""
LANES = 32
"""Threads along a row."""
PARTS = ("tile", "lanes", "threads")
"""The parts of a reasonable schedule of a stage: tiles (else rows), threads along x (else one), threads along y."""


@dataclass(frozen=True, slots=True)
class Patterns:
    """Makes lists for the stages of `graph`."""

    graph: StageGraph
    options: HalideGaOptions

    def placed(self, rng: np.random.Generator, *roles: Role) -> List:
        """Return a list with a random place of these roles, and no other directive."""
        places = [option for role in roles for option in self.graph.options(role)] or self.graph.options("own loops")
        return {(self.graph.decision, ()): places[int(rng.integers(len(places)))]}

    def sized(self, tile: Sequence[int], block: Sequence[int]) -> List:
        """Return a list for loops of its own, in tiles of `tile` points computed by `block` threads, x first."""
        tiles, blocks = ((name for name in names) for names in (self.graph.tile, self.graph.block))
        sizes = [*zip_longest(tiles, tile, fillvalue=1), *zip_longest(blocks, block, fillvalue=1)]
        return {(self.graph.decision, ()): self.graph.options("own loops")[0],
                **{(str(name), ()): int(size) for name, size in sizes}}

    def square(self, rng: np.random.Generator) -> List:
        """Return a list with a random square tile and one thread per point."""
        side = int(rng.choice(self.options.squares))
        return self.sized((side, side), (side, side))

    def human(self, rng: np.random.Generator) -> List:
        """Return a typical hand-written list for a stage.

        With probability 1/2 a square tile; else loops in a reader, a tile of one thread, or a row with threads along x.
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
        """Return lists in which every stage has loops of its own, in tiles of 4 x 4."""
        return {(stage.name,): self.sized((4, 4), (4, 4)) for stage in self.graph.stages}

    def reasonable(self, tiled: float, parts: Sequence[str], rng: np.random.Generator) -> Lists:
        """Return lists without loops for stages with `point`; others get tiles with probability `tiled`, else rows."""
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
        """Return the lists of a seed: all root for number 0, reasonable ones for all others.

        Two for each share of tiles from 0 to 1 in tenths: one with all parts, and one with some.
        """
        if number == 0:
            return self.all_root()
        parts = PARTS if number % 2 else rng.permutation(PARTS)[: int(rng.integers(1, len(PARTS) + 1))].tolist()
        return self.reasonable((number - 1) // 2 / 10, parts, rng)


@dataclass(frozen=True, slots=True)
class Drawing:
    """Draws lists for the walks of a space. `patterns`: None if the space has no stage graph."""

    space: Space
    graph: OptimizationGraph
    stages: Stages
    patterns: Patterns | None
    options: HalideGaOptions

    def path(self, lists: Lists, rng: np.random.Generator) -> Path:
        """Return the path of the walk that follows `lists`; empty if no walk is legal."""
        walk = self.graph.walk(self.space, self.stages.following(lists, rng))
        return () if walk is None else self.graph.path(walk)

    def random(self, rng: np.random.Generator) -> Lists:
        """Return a random or a reasonable schedule; without a stage graph {}, so that all decisions are random."""
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
        """Return `lists` with random lists of up to `length` directives for the `chosen` stages."""
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
        """Return the first directive of a list of `length`: where the stage is computed."""
        assert self.patterns is not None
        return self.patterns.placed(rng, *(("own loops", "in a reader") if length else ("no loops",)))
