"""The properties that every explorer has, whatever its method."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from explorer.base import Explorer
from explorer.registry import EXPLORERS, make_explorer
from generator.errors import InputError
from generator.plan import Plan
from graph.optimization_graph import OptimizationGraph
from graph.policies import first, prefer, preferences
from graph.space import Chooser, Decision, Space
from graph.walk import Walk
from metrics.outcome import Outcome
from tests.support_spaces import (
    DeadEnds,
    FlatSpace,
    Kernels,
    NoWayOut,
    Staircase,
    chosen,
    failed,
    plan_of,
    timed,
)

Judge = Callable[[Plan], Outcome]


def by_digest(plan: Plan) -> Outcome:
    """A cost without any structure; every fifth plan fails."""
    number = int(plan.digest[:6], 16)
    return failed() if number % 5 == 0 else timed(1.0 + number % 1000)


def always_failed(plan: Plan) -> Outcome:
    return failed()


def advance(explorer: Explorer, judge: Judge, counts: Sequence[int]) -> list[list[Walk]]:
    """Run one iteration per count."""
    iterations = []
    for count in counts:
        walks = list(explorer.ask(count))
        for walk in walks:
            explorer.tell(walk, judge(walk.plan))
        iterations.append(walks)
    return iterations


def plans(iterations: list[list[Walk]]) -> list[str]:
    return [walk.identity for walks in iterations for walk in walks]


@pytest.mark.parametrize("name", EXPLORERS)
class TestEveryExplorer:
    @pytest.mark.parametrize("space", [Kernels(2), Staircase(6), DeadEnds(7)], ids=["kernels", "stairs", "dead ends"])
    def test_proposes_only_legal_walks(self, name: str, space: Space) -> None:
        for walks in advance(make_explorer(name, space, 1), by_digest, [10] * 6):
            for walk in walks:
                assert OptimizationGraph().walk(space, prefer(preferences(walk.choices), first)) == walk

    def test_respects_the_budget_and_never_repeats(self, name: str) -> None:
        counts = [10, 1, 7, 0, 3] * 4
        iterations = advance(make_explorer(name, Kernels(2), 1), by_digest, counts)
        assert [len(walks) for walks in iterations] == counts
        assert len(set(plans(iterations))) == sum(counts)

    def test_is_determined_by_the_seed(self, name: str) -> None:
        runs = [plans(advance(make_explorer(name, Kernels(2), seed), by_digest, [10] * 5)) for seed in (3, 3, 4)]
        assert runs[0] == runs[1]
        assert runs[0] != runs[2]

    def test_survives_rounds_in_which_everything_fails(self, name: str) -> None:
        explorer = make_explorer(name, Kernels(2), 1)
        iterations = advance(explorer, always_failed, [10] * 5) + advance(explorer, by_digest, [10] * 5)
        iterations += advance(explorer, always_failed, [10] * 5)
        assert len(set(plans(iterations))) == 150

    def test_state_is_a_function_of_the_history(self, name: str) -> None:
        explorer = make_explorer(name, Kernels(3), 7)
        counts = [10, 4, 10, 10, 9, 10]
        advance(explorer, Kernels(3).outcome, counts)
        resumed = make_explorer(name, Kernels(3), 7)
        advance(resumed, Kernels(3).outcome, counts)
        assert list(resumed.ask(10)) == list(explorer.ask(10))

    def test_a_foreign_walk_can_be_told_and_is_not_asked_again(self, name: str) -> None:
        explorer, other = make_explorer(name, FlatSpace((3, 3)), 1), make_explorer("random", FlatSpace((3, 3)), 2)
        seeds = other.ask(4)
        for walk in seeds:
            explorer.tell(walk, timed(1.0))
        asked = plans(advance(explorer, by_digest, [3] * 4))
        assert len(asked) == 5
        assert not {walk.identity for walk in seeds} & set(asked)

    def test_a_walk_of_another_space_is_refused(self, name: str) -> None:
        explorer = make_explorer(name, FlatSpace((3, 3)), 1)
        [walk] = make_explorer("random", Kernels(1), 2).ask(1)
        with pytest.raises(ValueError, match="belong"):
            explorer.tell(walk, timed(1.0))

    @pytest.mark.parametrize("judge", [by_digest, always_failed])
    @pytest.mark.parametrize("count", [1, 3, 10, 1000])
    def test_uses_up_a_small_space_and_then_asks_nothing(self, name: str, judge: Judge, count: int) -> None:
        for space, total in ((Staircase(4), 35), (FlatSpace((5, 1, 4, 2)), 40), (DeadEnds(4), 22)):
            explorer = make_explorer(name, space, 1)
            asked = plans(advance(explorer, judge, [count] * (total // count + 1)))
            assert len(asked) == len(set(asked)) == total
            assert list(explorer.ask(5)) == []

    def test_counts_walks_that_make_the_same_plan_once(self, name: str) -> None:
        def space(chooser: Chooser) -> Plan:
            return plan_of([sum(chosen(chooser, Decision(f"d{i}"), range(4)) for i in range(3))])

        asked = plans(advance(make_explorer(name, space, 1), by_digest, [4] * 4))
        assert len(asked) == len(set(asked)) == 10

    def test_works_where_there_is_nothing_to_decide(self, name: str) -> None:
        explorer = make_explorer(name, FlatSpace((1, 1)), 1)
        assert [len(walks) for walks in advance(explorer, by_digest, [3, 3])] == [1, 0]

    def test_works_where_nothing_is_legal(self, name: str) -> None:
        assert plans(advance(make_explorer(name, NoWayOut(), 1), by_digest, [3, 3])) == []

    def test_works_with_one_decision(self, name: str) -> None:
        assert len(plans(advance(make_explorer(name, FlatSpace((12,)), 1), by_digest, [5] * 4))) == 12

    def test_works_with_ten_thousand_options(self, name: str) -> None:
        iterations = advance(make_explorer(name, FlatSpace((10_000, 2)), 1), by_digest, [10] * 20)
        assert len(set(plans(iterations))) == 200


def test_an_unknown_name_is_an_input_error_that_lists_the_names() -> None:
    with pytest.raises(InputError, match=r"'bees'.*colony, random"):
        make_explorer("bees", FlatSpace((2,)), 0)


def test_a_negative_seed_is_an_input_error() -> None:
    with pytest.raises(InputError, match="-1"):
        make_explorer("colony", FlatSpace((2,)), -1)
