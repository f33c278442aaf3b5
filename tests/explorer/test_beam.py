"""Beam search over prefixes: what it finds with a guide that knows, and what the switches do."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np

from explorer.beam import Beam, greedy, search
from explorer.beam_pass import BeamOptions
from graph.guiding import Guide, Prefix
from graph.space import Option
from tests.support.spaces import DeadEnds, FlatSpace, Kernels, NoWayOut, timed


@dataclass
class Sums:
    """A guide: a prefix costs 1 + the sum of its numbers, each minus the best one there, and is like all others with
    the same sum of words. Counts what it was asked.
    """

    best: Sequence[int]
    asked: int = 0
    frozen_at: list[Prefix] = field(default_factory=list)

    def offered(self, prefix: Prefix) -> tuple[Option, ...]:
        return prefix.state.options

    def costs(self, prefixes: Sequence[Prefix]) -> list[float]:
        self.asked += len(prefixes)
        return [1.0 + sum(abs(int(str(c.option)) - wanted) for c, wanted in zip(p.choices, self.best, strict=False))
                for p in prefixes]

    def structure(self, prefix: Prefix, depth: int) -> Hashable:
        return tuple(int(str(c.option)) >> max(0, 3 - depth) for c in prefix.choices)

    def is_heavy(self, prefix: Prefix) -> bool:
        return False

    def coarse(self) -> Guide | None:
        return self

    def frozen(self, end: Prefix) -> Guide:
        self.frozen_at.append(end)
        return self


BEST = (3, 0, 7, 5)
SPACE = FlatSpace((8, 8, 8, 8))


def options_of(end: Prefix | None) -> list[Option]:
    assert end is not None
    return [choice.option for choice in end.choices]


def test_without_sampling_it_finds_what_is_best() -> None:
    found = search(SPACE, Sums(BEST), BeamOptions(sampling=False), np.random.default_rng(0))
    assert options_of(found.end) == list(BEST)


def test_sampling_judges_less_and_comes_close() -> None:
    whole, drawn = Sums(BEST), Sums(BEST)
    search(SPACE, whole, BeamOptions(sampling=False, freezing=False), np.random.default_rng(0))
    end = search(SPACE, drawn, BeamOptions(freezing=False), np.random.default_rng(0)).end
    assert end is not None
    assert drawn.costs([end])[0] <= 3.0
    assert len(end.choices) == 4


def test_freezing_is_a_pass_of_its_own() -> None:
    guide = Sums(BEST)
    search(SPACE, guide, BeamOptions(), np.random.default_rng(0))
    assert len(guide.frozen_at) == 1
    search(SPACE, guide, BeamOptions(freezing=False), np.random.default_rng(0))
    search(SPACE, guide, BeamOptions(passes=1), np.random.default_rng(0))
    assert len(guide.frozen_at) == 1


def test_greedy_runs_without_dropout_are_best_and_with_it_differ() -> None:
    plain = BeamOptions(sampling=False, dropout=1.0)
    assert options_of(greedy(SPACE, Sums(BEST), plain, np.random.default_rng(0), 4)) == list(BEST)
    dropping = BeamOptions(sampling=False, dropout=0.01)
    runs = [options_of(greedy(SPACE, Sums(BEST), dropping, np.random.default_rng(seed), 4)) for seed in range(20)]
    assert len({tuple(run) for run in runs}) > 10
    assert np.mean([sum(abs(int(str(a)) - b) for a, b in zip(run, BEST, strict=True)) for run in runs]) < 8.0


def test_dead_ends_are_gone_around() -> None:
    space = DeadEnds(5)
    end = search(space, Sums((4, 4, 4)), BeamOptions(sampling=False), np.random.default_rng(0)).end
    assert end is not None
    assert end.state.plan.digest in space.plans
    assert search(NoWayOut(), Sums((0, 0)), BeamOptions(), np.random.default_rng(0)).end is None


def test_without_a_guide_it_learns_from_what_was_measured() -> None:
    space = Kernels(1)
    explorer = Beam(space, 1)
    costs: list[float] = []
    for _ in range(15):
        for walk in explorer.ask(10):
            outcome = space.outcome(walk.plan)
            costs.append(getattr(outcome, "median_ms", 1e9))
            explorer.tell(walk, outcome)
    assert np.median(costs[-50:]) < np.median(costs[:20])


def test_the_first_walk_is_the_beams() -> None:
    explorer = Beam(SPACE, 1, BeamOptions(beam=2, passes=1))
    [first] = explorer.ask(1)
    explorer.tell(first, timed(1.0))
    assert len({walk.identity for walk in [first, *explorer.ask(5)]}) == 6
