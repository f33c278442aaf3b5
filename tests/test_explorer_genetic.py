"""What evolution does to walks and with them: crossover between subjects, repair, survival, quality."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest

from explorer.credit import ProbabilityMatching, area_under_curve
from explorer.genetic import Cost, Genetic, GeneticOptions
from explorer.random_walk import RandomWalk
from explorer.resemblance import Resemblance
from explorer.variation import Genes, Key, blocks, crossed, differences, genes, redrawn, repaired
from graph.optimization_graph import OptimizationGraph
from graph.policies import uniform
from graph.space import Chooser, Decision, Option
from graph.walk import Walk
from metrics.outcome import Outcome
from tests.support_spaces import FlatSpace, Kernels, chosen, failed, options_of, plan_of, timed
from tests.test_explorer_colony import best_found, mean_found


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def random_walks(space: Kernels, count: int, seed: int = 1) -> Sequence[Walk]:
    return RandomWalk(space, seed).ask(count)


def run(explorer: Genetic, space: Kernels, iterations: int, ants: int = 10) -> None:
    for _ in range(iterations):
        for walk in explorer.ask(ants):
            explorer.tell(walk, space.outcome(walk.plan))


@pytest.mark.parametrize(("kernels", "budget"), [(3, 50), (6, 100), (3, 200)])
def test_evolution_beats_random_search_by_far(kernels: int, budget: int) -> None:
    space = Kernels(kernels)
    assert mean_found(Genetic, space, budget) < 0.8 * mean_found(RandomWalk, space, budget)


def test_the_size_of_iterations_matters_little() -> None:
    space = Kernels(3)
    for ants in (1, 7, 50):
        found = [best_found(Genetic(space, seed), space, 150, ants) for seed in range(5)]
        assert float(np.mean(found)) < 0.8 * mean_found(RandomWalk, space, 150)


def test_the_fastest_kernels_of_different_walks_come_together() -> None:
    """Each of six kernels was once at its best, always in a program that was slow for another kernel's sake."""
    space = Kernels(6)
    explorer = Genetic(space, 1, GeneticOptions(immigrants=0.0))
    run(explorer, space, 10)
    best = min(space.outcome(walk.plan).median_ms for walk in random_walks(space, 100, 9))
    run(explorer, space, 10)
    children = [space.outcome(walk.plan).median_ms for walk in explorer.ask(10)]
    assert min(children) < 0.8 * best


def test_crossover_cuts_between_subjects_only() -> None:
    def parent(who: str) -> Genes:
        return {(name, (f"S{i}",)): f"{name} of {i} by {who}" for i in range(5) for name in ("tile", "block")}

    first, second = parent("first"), parent("second")
    mixtures = set()
    for seed in range(200):
        child = crossed(first, second, rng(seed))
        parents = []
        for part in blocks(first):
            ours, theirs, mixed = ([of[gene] for gene in part] for of in (first, second, child))
            assert mixed in (ours, theirs)
            parents.append(mixed == theirs)
        mixtures.add(tuple(parents))
        assert not all(parents)
        assert sum(a != b for a, b in pairwise(parents)) <= 2  # one run in the middle
    assert len(mixtures) > 10


def test_crossover_of_one_subject_cuts_between_decisions() -> None:
    first: Genes = {(f"d{i}", ()): 0 for i in range(5)}
    second: Genes = {(f"d{i}", ()): 1 for i in range(5)}
    children = {tuple(crossed(first, second, rng(seed)).values()) for seed in range(300)}
    assert (0, 1, 1, 0, 0) in children
    assert (1, 1, 1, 1, 1) not in children


def test_genes_that_only_the_second_parent_has_are_kept_as_wishes() -> None:
    first: Genes = {("a", ("x",)): 1, ("a", ("y",)): 2}
    second: Genes = {("a", ("x",)): 3, ("a", ("x", "y")): 4}
    for seed in range(20):
        child = crossed(first, second, rng(seed))
        assert child["a", ("x", "y")] == 4
        assert child["a", ("y",)] == 2


def sizes(chooser: Chooser) -> object:
    """The second size must not be larger than the first; a word and a switch come after them."""
    first = chosen(chooser, Decision("first"), (8, 16, 32, 64))
    second = chosen(chooser, Decision("second", (), (("first", first),)), tuple(s for s in (8, 16, 32, 64) if s <= first))
    chooser.choose(Decision("word"), ("a", "b"))
    return plan_of([first, second])


@pytest.mark.parametrize(("wanted", "expected"), [
    ({"first": 16, "second": 64}, (16, 16)),
    ({"first": 30, "second": 9}, (32, 8)),
    ({"first": 1000, "second": 32.0}, (64, 32)),
])
def test_a_number_that_is_not_on_offer_gives_way_to_the_closest(
    wanted: dict[str, Option], expected: tuple[int, int]
) -> None:
    wishes = {(name, ()): option for name, option in wanted.items()}
    walk = OptimizationGraph().walk(sizes, repaired(wishes, rng()))  # type: ignore[arg-type]
    assert walk is not None
    assert options_of(walk)[:2] == expected


def test_a_word_that_is_not_on_offer_is_drawn_by_chance() -> None:
    wishes: Genes = {("word", ()): "c"}
    walks = [OptimizationGraph().walk(sizes, repaired(wishes, rng(seed))) for seed in range(20)]  # type: ignore[arg-type]
    assert {options_of(walk)[-1] for walk in walks if walk is not None} == {"a", "b"}


def test_redrawn_changes_as_many_decisions_as_asked() -> None:
    graph = OptimizationGraph()
    walk = graph.walk(FlatSpace((3, 4, 5, 6)), uniform(rng()))
    assert walk is not None
    for count in (1, 2, 4, 9):
        assert differences(redrawn(graph.path(walk), count, rng(count)), genes(walk)) == min(count, 4)


def test_failures_are_worse_than_every_success_and_equal_among_themselves() -> None:
    assert Cost.of(1.0) > Cost.of(2.0) > Cost.of(None)
    assert Cost.of(None) == Cost.of(None)


def test_only_successes_have_children_as_soon_as_there_is_one() -> None:
    """One option in eight works: children come from the few successes, not from the many failures."""
    explorer = Genetic(FlatSpace((40, 40, 40)), 1)

    def judge(walk: Walk) -> Outcome:
        works, *rest = (int(str(option)) for option in options_of(walk))
        return timed(1.0 + sum(rest)) if works < 5 else failed()

    alive = []
    for _ in range(15):
        for walk in explorer.ask(10):
            outcome = judge(walk)
            alive.append(outcome != failed())
            explorer.tell(walk, outcome)
    assert np.mean(alive[:10]) <= 0.4
    assert np.mean(alive[50:]) >= 0.6


def test_operators_that_improve_get_more_turns_and_none_is_forgotten() -> None:
    credit = ProbabilityMatching(4, rate=0.1, floor=0.2, initial=0.5)
    assert credit.chances() == pytest.approx([0.25] * 4)
    for _ in range(100):
        for operator in range(4):
            credit.reward(operator, float(operator == 2))
    chances = credit.chances()
    assert chances.sum() == pytest.approx(1.0)
    assert chances[2] > 0.8
    assert chances.min() >= 0.2 / 4


def test_late_successes_count_more_than_early_ones() -> None:
    assert area_under_curve([]) == 0.0
    assert area_under_curve([True] * 7) == pytest.approx(1.0)
    assert area_under_curve([True, False, False]) < area_under_curve([False, False, True])


def forecast_by_hand(known: Sequence[tuple[dict[Key, float], float | None]], wanted: dict[Key, float]) -> float:
    """The formula, written as it stands in the docstring."""
    worst = max(math.log(cost) for _, cost in known if cost is not None)
    near = sorted(
        (sum(min(1.0, abs(math.log2(1 + wanted[k]) - math.log2(1 + one[k]))) if k in one else 1.0 for k in wanted),
         worst if cost is None else math.log(cost)) for one, cost in known)[:3]
    weights = [1.0 / (distance + 0.1) ** 2 for distance, _ in near]
    return sum(w * cost for w, (_, cost) in zip(weights, near, strict=True)) / sum(weights)


def test_forecasts_follow_their_formula() -> None:
    draw = rng(3)
    for _ in range(30):
        memory, known = Resemblance(nearest=3), []
        for number in range(int(draw.integers(3, 200))):
            one: dict[Key, float] = {(f"d{i}", ()): float(draw.random() * 100) for i in range(30) if draw.random() < 0.9}
            cost = None if number and draw.random() < 0.2 else float(draw.random() + 0.1)
            known.append((one, cost))
            memory.learn(dict(one), cost)
        wanted: dict[Key, float] = {(f"d{i}", ()): float(draw.random() * 100) for i in range(28)}
        assert memory.forecast(dict(wanted)) == pytest.approx(forecast_by_hand(known, wanted))


def test_a_known_walk_needs_no_forecast_and_old_walks_are_forgotten() -> None:
    memory = Resemblance(memory=100)
    for number in range(250):
        memory.learn({("d", ()): number, ("word", ()): "x"}, 1.0)
    assert memory.forecast({("d", ()): 249, ("word", ()): "x"}) is None
    assert memory.forecast({("d", ()): 249, ("word", ()): "y"}) is not None
    assert memory.forecast({("d", ()): 249}) is not None  # only a part of a walk: the rest may turn out otherwise
    assert memory.forecast({("d", ()): 10, ("word", ()): "x"}) is not None
