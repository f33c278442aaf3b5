"""The properties that every explorer has, whatever its method: the clauses of the contract, one after another."""

from __future__ import annotations

import os
import random  # noqa: TID251 (to show that nothing draws from it)
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import get_args

import numpy as np
import pytest

from antune.command_run import Explorer as ExplorerOption
from explorer.ant_systems import ANT_SYSTEMS
from explorer.base import EagerExplorer, Explorer
from explorer.colony import Starts
from explorer.registry import EXPLORERS, make_explorer
from generator.errors import InputError
from generator.plan import Plan, plan_from_json
from graph.optimization_graph import OptimizationGraph
from graph.policies import first, prefer, preferences
from graph.space import Chooser, Decision, Space
from graph.walk import Choice, Walk, choices_from_json, walk_to_json
from metrics.outcome import Outcome
from tests.support.paths import ROOT
from tests.support.searches import DISTINCT, always_failed, by_digest, mostly_failed, plans
from tests.support.slow import few
from tests.support.spaces import DeadEnds, FlatSpace, Kernels, NoWayOut, Staircase, chosen, failed, plan_of, timed

Judge = Callable[[Plan], Outcome]

MOST = few(EXPLORERS, DISTINCT)
SPACES = ((Kernels(2), 4), (DeadEnds(7), 4), (Kernels(2), 6), (Staircase(6), 6), (DeadEnds(7), 6))
SEEDLESS = {"exhaustive"}  # an enumeration has one order
HINTLESS = {"exhaustive", "random", "coding-ants-base", "coding-ants-metrics", "coding-ants", *ANT_SYSTEMS}
"""These follow their own order and chance, or do what was published, whatever is known beforehand."""


def first_failed(count: int, judge: Judge) -> Judge:
    """The first `count` plans fail."""
    lives: Iterator[int] = iter(range(count))
    return lambda plan: judge(plan) if next(lives, None) is None else failed()


def advance(explorer: Explorer, judge: Judge, counts: Sequence[int]) -> list[list[Walk]]:
    """Run one iteration per count."""
    iterations = []
    for count in counts:
        walks = list(explorer.ask(count))
        for walk in walks:
            explorer.tell(walk, judge(walk.plan))
        iterations.append(walks)
    return iterations


def ahead(explorer: Explorer, judge: Judge, counts: Sequence[int]) -> list[list[Walk]]:
    """Run one iteration per count; each is asked before the outcomes of the previous one are told."""
    iterations = list[list[Walk]]()
    for count in [*counts, 0]:
        iterations.append(list(explorer.ask(count)) if count else [])
        for walk in iterations[-2] if len(iterations) > 1 else ():
            explorer.tell(walk, judge(walk.plan))
    return iterations[:-1]


@pytest.mark.parametrize("name", MOST)
class TestEveryExplorer:
    @pytest.mark.parametrize(("space", "iterations"), few(SPACES, 2), ids=lambda case: type(case).__name__)
    def test_proposes_only_legal_walks(self, name: str, space: Space, iterations: int) -> None:
        for walks in advance(make_explorer(name, space, 1), by_digest, [10] * iterations):
            for walk in walks:
                assert OptimizationGraph().walk(space, prefer(preferences(walk.choices), first)) == walk

    @pytest.mark.parametrize("times", few([2, 4], 1))
    def test_respects_the_budget_and_never_repeats(self, name: str, times: int) -> None:
        counts = [10, 1, 7, 0, 3] * times
        iterations = advance(make_explorer(name, Kernels(2), 1), by_digest, counts)
        assert [len(walks) for walks in iterations] == counts
        assert len(set(plans(iterations))) == sum(counts)

    @pytest.mark.parametrize("many", few([50, 150], 1))
    def test_takes_iterations_of_any_size(self, name: str, many: int) -> None:
        counts = [1] * 20 + [many, 1, 2]
        iterations = advance(make_explorer(name, Kernels(3), 1), Kernels(3).outcome, counts)
        assert [len(walks) for walks in iterations] == counts
        assert len(set(plans(iterations))) == sum(counts)

    @pytest.mark.parametrize("rounds", few([3, 5], 1))
    def test_is_determined_by_the_seed(self, name: str, rounds: int) -> None:
        runs = [plans(advance(make_explorer(name, Kernels(2), seed), by_digest, [10] * rounds)) for seed in (3, 3, 4)]
        assert runs[0] == runs[1]
        assert (runs[0] == runs[2]) == (name in SEEDLESS)

    @pytest.mark.parametrize("rounds", few([3, 5], 1))
    def test_draws_from_no_global_generator_and_leaves_it_alone(self, name: str, rounds: int) -> None:
        runs, after = [], []
        for global_seed in (1, 2):
            random.seed(global_seed)
            np.random.seed(global_seed)
            runs.append(plans(advance(make_explorer(name, Kernels(2), 3), by_digest, [10] * rounds)))
            after.append((random.random(), float(np.random.random())))
            random.seed(global_seed)
            np.random.seed(global_seed)
            assert after[-1] == (random.random(), float(np.random.random()))
        assert runs[0] == runs[1]

    @pytest.mark.parametrize("rounds", few([2, 5], 1))
    def test_survives_rounds_in_which_everything_fails(self, name: str, rounds: int) -> None:
        explorer = make_explorer(name, Kernels(2), 1)
        iterations = advance(explorer, always_failed, [10] * rounds) + advance(explorer, by_digest, [10] * rounds)
        iterations += advance(explorer, always_failed, [10] * rounds)
        assert len(set(plans(iterations))) == 30 * rounds

    @pytest.mark.parametrize("rounds", few([6, 15], 1))
    @pytest.mark.parametrize("judge", few([always_failed, mostly_failed, by_digest], 1))
    def test_survives_whatever_share_of_the_walks_fails(self, name: str, judge: Judge, rounds: int) -> None:
        assert len(set(plans(advance(make_explorer(name, Kernels(2), 1), judge, [10] * rounds)))) == 10 * rounds

    @pytest.mark.parametrize("rounds", few([6, 15], 1))
    def test_searches_as_ever_after_a_start_of_failures(self, name: str, rounds: int) -> None:
        judge = first_failed(25, Kernels(2).outcome)
        assert len(set(plans(advance(make_explorer(name, Kernels(2), 1), judge, [10] * rounds)))) == 10 * rounds

    def test_asked_ahead_it_repeats_nothing_and_the_same_history_gives_the_same_walks(self, name: str) -> None:
        if not isinstance(make_explorer(name, Kernels(2), 3), EagerExplorer):
            return  # the loop does not ask it ahead
        first, again = [ahead(make_explorer(name, Kernels(2), 3), by_digest, [10, 4, 10, 1, 10]) for _ in range(2)]
        assert first == again and [len(walks) for walks in first] == [10, 4, 10, 1, 10]
        assert len(set(plans(first))) == 35
        small = plans(ahead(make_explorer(name, Staircase(4), 3), by_digest, [10] * 6))
        assert len(small) == len(set(small)) == 35

    @pytest.mark.parametrize("counts", few([[10, 4, 9], [10, 4, 10, 9], [10, 4, 10, 10, 9, 10, 10, 10]], 1), ids=len)
    @pytest.mark.parametrize("judge", few([mostly_failed, Kernels(3).outcome, by_digest], 1))
    def test_state_is_a_function_of_the_history(self, name: str, judge: Judge, counts: list[int]) -> None:
        """An explorer that is told stored outcomes of walks read back from JSON goes on like the first."""
        explorer, resumed = make_explorer(name, Kernels(3), 7), make_explorer(name, Kernels(3), 7)
        stored = [[(walk_to_json(walk), walk.plan.to_json(), judge(walk.plan)) for walk in walks]
                  for walks in advance(explorer, judge, counts)]
        for entries in stored:
            assert [walk_to_json(walk) for walk in resumed.ask(len(entries))] == [choices for choices, _, _ in entries]
            for choices, plan, outcome in entries:
                resumed.tell(Walk(choices_from_json(choices), plan_from_json(plan)), outcome)
        assert list(resumed.ask(10)) == list(explorer.ask(10))

    def test_follows_the_starts_first(self, name: str) -> None:
        wanted = [walk for walks in advance(make_explorer("random", Kernels(3), 5), by_digest, [3]) for walk in walks]
        starts = wanted
        if name in HINTLESS:
            assert make_explorer(name, Kernels(3), 1, starts).ask(10) == make_explorer(name, Kernels(3), 1).ask(10)
            return
        for counts in ([10], [1, 1, 1, 1], [2, 5]):
            iterations = advance(make_explorer(name, Kernels(3), 1, starts), by_digest, counts)
            assert plans(iterations)[:3] == [walk.identity for walk in wanted]
            assert [len(walks) for walks in iterations] == counts

    def test_starts_that_name_nothing_of_the_space_do_no_harm(self, name: str) -> None:
        plan = plan_of([1])
        starts: Starts = [Walk((Choice(Decision("no such decision"), 1),), plan), Walk((), plan)]
        assert len(set(plans(advance(make_explorer(name, Kernels(2), 1, starts), by_digest, [4] * 4)))) == 16

    def test_a_foreign_walk_can_be_told_and_is_not_asked_again(self, name: str) -> None:
        explorer, other = make_explorer(name, FlatSpace((3, 3)), 1), make_explorer("random", FlatSpace((3, 3)), 2)
        seeds = other.ask(4)
        for walk in seeds:
            explorer.tell(walk, timed(1.0))
        asked = plans(advance(explorer, by_digest, [3] * 4))
        assert len(asked) == 5
        assert not {walk.identity for walk in seeds} & set(asked)

    @pytest.mark.parametrize("times", few([1, 3], 1))
    def test_foreign_walks_may_come_in_the_middle_of_a_search(self, name: str, times: int) -> None:
        explorer, other = make_explorer(name, Kernels(2), 1), make_explorer("random", Kernels(2), 2)
        asked: list[str] = []
        for judge in (Kernels(2).outcome, always_failed, by_digest) * times:
            strangers = [walk for walk in other.ask(5) if walk.identity not in asked]
            asked += plans(advance(explorer, judge, [5]))
            for walk in strangers:
                explorer.tell(walk, judge(walk.plan))
            asked += [walk.identity for walk in strangers if walk.identity not in asked]
        assert not set(plans(advance(explorer, by_digest, [15 * times]))) & set(asked)

    def test_a_walk_of_another_space_is_refused(self, name: str) -> None:
        explorer = make_explorer(name, FlatSpace((3, 3)), 1)
        [walk] = make_explorer("random", Kernels(1), 2).ask(1)
        with pytest.raises(ValueError, match="belong"):
            explorer.tell(walk, timed(1.0))

    @pytest.mark.parametrize(("count", "judge"), few(product((3, 1000, 1, 10), (by_digest, always_failed)),
                                                     ((3, by_digest), (1000, always_failed))))
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

    @pytest.mark.parametrize("iterations", few([3, 8], 1))
    def test_works_with_ten_thousand_options(self, name: str, iterations: int) -> None:
        found = advance(make_explorer(name, FlatSpace((10_000, 2)), 1), by_digest, [10] * iterations)
        assert len(set(plans(found))) == 10 * iterations

    @pytest.mark.slow
    def test_works_with_ten_thousand_options_of_which_some_are_no_numbers(self, name: str) -> None:
        def space(chooser: Chooser) -> Plan:
            options = [f"option {number}" for number in range(10_000)]
            word = chooser.choose(Decision("word"), options)
            return plan_of([options.index(str(word)), chosen(chooser, Decision("number"), range(3))])

        assert len(set(plans(advance(make_explorer(name, space, 1), by_digest, [10] * 8)))) == 80


HASHES = """
import sys
from explorer.registry import make_explorer
from tests.support.spaces import Kernels
for name in sys.argv[2].split():
    explorer = make_explorer(name, Kernels(3), 1)
    for count in map(int, sys.argv[1].split()):
        walks = explorer.ask(count)
        print(name, *(walk.identity for walk in walks))
        for walk in walks:
            explorer.tell(walk, Kernels(3).outcome(walk.plan))
"""


@pytest.mark.parametrize(("counts", "names"), few([("5 2", DISTINCT), ("10 5", EXPLORERS), ("10 10 5", EXPLORERS)], 1))
def test_no_explorer_depends_on_the_order_of_sets(counts: str, names: tuple[str, ...]) -> None:
    """Python orders sets of texts differently in every process."""
    runs = {subprocess.run([sys.executable, "-c", HASHES, counts, " ".join(names)], cwd=ROOT, text=True, check=True,
                           capture_output=True, env=os.environ | {"PYTHONHASHSEED": seed}).stdout for seed in "12"}
    [output] = runs
    assert len(output.splitlines()) == len(counts.split()) * len(names)


def test_an_unknown_name_is_an_input_error_that_lists_the_names() -> None:
    with pytest.raises(InputError, match=r"'bees'.*colony, .*random"):
        make_explorer("bees", FlatSpace((2,)), 0)


def test_the_help_of_tune_names_explorers_that_exist() -> None:
    option = get_args(ExplorerOption)[1]
    named = re.findall("`([a-z-]+)`", option.help)
    assert {"colony", "genetic", "local", "portfolio", "random", "exhaustive"} <= set(named) <= set(EXPLORERS)


def test_a_negative_seed_is_an_input_error() -> None:
    with pytest.raises(InputError, match="-1"):
        make_explorer("colony", FlatSpace((2,)), -1)


def asks_twice(chooser: Chooser) -> Plan:
    """The same about the same statements in two loops, one inside the other, as level o2 does with a group that
    stays whole.
    """
    outer = chooser.choose(Decision("order", ("S0", "S1"), (("depth", 0),)), [0, 1, 2])
    inner = chooser.choose(Decision("order", ("S0", "S1"), (("depth", 1),)), [0, 1, 2])
    assert isinstance(outer, int) and isinstance(inner, int)
    return plan_of((outer, inner))


@pytest.mark.parametrize("name", MOST)
def test_walks_of_others_are_taken_even_if_they_were_asked_the_same_twice(name: str) -> None:
    others = make_explorer("random", asks_twice, 3, ())
    explorer = make_explorer(name, asks_twice, 0, ())
    told = {walk.identity for walk in others.ask(4)}
    for walk in make_explorer("random", asks_twice, 3, ()).ask(4):
        explorer.tell(walk, by_digest(walk.plan))
    asked = {walk.identity for walk in explorer.ask(9)}
    assert len(told) == 4 and asked and not asked & told
