"""Beam search over prefixes: what it finds with a guide that knows, and what the switches do."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from explorer.beam import Beam, greedy, search
from explorer.beam_pass import BeamOptions
from explorer.frozen import freeze, thaw
from explorer.random_walk import RandomWalk
from generator.plan import Plan
from graph.guiding import Guide, Prefix
from graph.space import Chooser, DeadEnd, Decision, Option
from graph.states import State, start_of
from tests.support.slow import in_turn
from tests.support.spaces import DeadEnds, FlatSpace, Kernels, NoWayOut, chosen, plan_of, timed


@dataclass
class Sums:
    """A guide: a prefix costs 1 + the sum of its numbers, each minus the best one there, and is like all others with
    the same sum of words. Counts what it was asked.
    """

    best: Sequence[int]
    asked: int = 0
    frozen_at: list[Prefix] = field(default_factory=list)
    turns: list[int] = field(default_factory=list)

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

    def frozen(self, end: Prefix, turn: int = 0) -> Guide:
        self.frozen_at.append(end)
        self.turns.append(turn)
        return self


@dataclass
class Threads(Sums):
    """A guide that notes how many threads linear algebra has."""

    seen: set[int] = field(default_factory=set)

    def costs(self, prefixes: Sequence[Prefix]) -> list[float]:
        self.seen |= {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}
        return super().costs(prefixes)


BEST = (3, 0, 7, 5)
SPACE = FlatSpace((8, 8, 8, 8))


def options_of(end: Prefix | None) -> list[Option]:
    assert end is not None
    return [choice.option for choice in end.choices]


def test_without_sampling_it_finds_what_is_best() -> None:
    found = search(SPACE, Sums(BEST), BeamOptions(sampling=False), np.random.default_rng(0))
    assert options_of(found.end) == list(BEST)


@in_turn
def test_guides_compute_in_one_thread() -> None:
    guide = Threads(BEST)
    with threadpool_limits(2):
        search(SPACE, guide, BeamOptions(passes=1), np.random.default_rng(0))
        greedy(SPACE, guide, BeamOptions(), np.random.default_rng(0), 4)
    assert guide.seen == {1}


def test_sampling_judges_less_and_comes_close() -> None:
    whole, drawn = (search(SPACE, Sums(BEST), BeamOptions(sampling=on, freezing=False), np.random.default_rng(0))
                    for on in (False, True))
    assert drawn.end is not None
    assert Sums(BEST).costs([drawn.end])[0] <= 3.0
    assert 0 < drawn.judged < whole.judged


def test_after_a_coarse_pass_each_pass_leaves_other_decisions_open() -> None:
    guide = Sums(BEST)
    end = search(SPACE, guide, BeamOptions(passes=3, turns=2), np.random.default_rng(0)).end
    assert guide.turns == [0, 1, 2, 3, 0], "the last one is for samples near the best walk"
    assert guide.frozen_at[-1] is end
    search(SPACE, guide, BeamOptions(freezing=False), np.random.default_rng(0))
    search(SPACE, guide, BeamOptions(passes=1), np.random.default_rng(0))
    assert len(guide.turns) == 5


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


@dataclass(frozen=True)
class Unequal:
    """A walk of one choice (0), or of four (1 first)."""

    def __call__(self, chooser: Chooser) -> Plan:
        if not (first := chosen(chooser, Decision("long"), (0, 1))):
            return plan_of([0])
        others = [chosen(chooser, Decision(f"d{k}"), range(4)) for k in range(1, 4)]
        return plan_of([first, *others])


class Lengths(Sums):
    """The short walk costs `short`, all others 1."""

    short = 100.0

    def costs(self, prefixes: Sequence[Prefix]) -> list[float]:
        return [self.short if one.choices and one.choices[0].option == 0 else 1.0 for one in prefixes]


class Blind(Lengths):
    """The short walk looks cheapest until it is complete."""

    def costs(self, prefixes: Sequence[Prefix]) -> list[float]:
        complete = [one.choices and one.choices[0].option == 0 and one.state.decision is None for one in prefixes]
        return [100.0 if done else float(2 - (len(one.choices) == 1 and one.choices[0].option == 0))
                for one, done in zip(prefixes, complete, strict=True)]


def test_walks_of_unequal_length_compete_by_cost() -> None:
    for guide in (Lengths(()), Blind(())):
        for passes in (1, 3):
            end = search(Unequal(), guide, BeamOptions(passes=passes), np.random.default_rng(0)).end
            assert end is not None and len(end.choices) == 4
    dear = Lengths(())
    dear.short = 0.5
    end = search(Unequal(), dear, BeamOptions(), np.random.default_rng(0)).end
    assert end is not None and len(end.choices) == 1


@dataclass(frozen=True)
class HeavyDeadEnds:
    """The least answers, of which there are `dead`, lead nowhere, which is found out afterwards."""

    dead: int = 3

    def __call__(self, chooser: Chooser) -> Plan:
        first = chosen(chooser, Decision("a"), range(8))
        second = chosen(chooser, Decision("b", depends=(("a", first),)), range(2))
        if first < self.dead:
            raise DeadEnd
        return plan_of([first, second, chosen(chooser, Decision("c"), range(2))])


class Heavy(Sums):
    """All prefixes of two choices are heavy."""

    def is_heavy(self, prefix: Prefix) -> bool:
        return len(prefix.choices) == 2


def test_heavy_dead_ends_leave_room_for_others() -> None:
    found = search(HeavyDeadEnds(), Heavy((0, 0, 0)), BeamOptions(sampling=False), np.random.default_rng(0))
    assert options_of(found.end) == [3, 0, 0]


def test_the_length_of_walks_is_known_though_no_walk_was_found() -> None:
    assert search(SPACE, Sums(BEST), BeamOptions(), np.random.default_rng(0)).length == 4
    assert search(NoWayOut(), Sums((0, 0)), BeamOptions(), np.random.default_rng(0)).length >= 1
    nowhere = search(HeavyDeadEnds(8), Heavy((0, 0)), BeamOptions(), np.random.default_rng(0))
    assert nowhere.end is None and nowhere.length == 1


def test_the_first_walk_is_the_beams() -> None:
    space, options = GuidedFlat(), BeamOptions(beam=2, sampling=False)
    [first] = Beam(space, 1, options).ask(1)
    assert [choice.option for choice in first.choices] == list(BEST)
    assert options_of(search(space, space.guide, options, np.random.default_rng(0)).end) == list(BEST)
    explorer = Beam(space, 1, options)
    assert len({walk.identity for walk in explorer.ask(6)}) == 6


def test_start_walks_come_after_the_walk_of_a_guided_beam_and_before_that_of_another() -> None:
    options = BeamOptions(beam=2, sampling=False)
    [start] = RandomWalk(SPACE, 5).ask(1)
    guided = Beam(GuidedFlat(), 1, options, [start]).ask(2)
    assert [choice.option for choice in guided[0].choices] == list(BEST) and guided[1].identity == start.identity
    assert Beam(SPACE, 1, options, [start]).ask(1)[0].identity == start.identity


@dataclass(frozen=True)
class GuidedFlat:
    """SPACE with a guide, which holds what cannot be frozen."""

    guide: Guide = field(default_factory=lambda: Sums(BEST))

    def __call__(self, chooser: Chooser) -> Plan:
        return SPACE(chooser)

    def start(self) -> State:
        return start_of(SPACE)


def test_a_frozen_guided_beam_goes_on_like_the_first() -> None:
    space, known = GuidedFlat(), dict[str, Plan]()
    explorer = Beam(space, 1, BeamOptions(beam=2))
    for walk in explorer.ask(5):
        known[walk.identity] = walk.plan
        explorer.tell(walk, timed(1.0))
    again = thaw(freeze(explorer, space, known), space, known)
    assert [walk.identity for walk in again.ask(5)] == [walk.identity for walk in explorer.ask(5)]
