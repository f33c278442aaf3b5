"""What evolution does to walks and with them: crossover between subjects, repair, survival, quality."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest

from explorer.credit import ProbabilityMatching, area_under_curve
from explorer.fitness import Cost
from explorer.genetic import OPERATORS, Genetic, GeneticOptions, Individual
from explorer.random_walk import RandomWalk
from explorer.resemblance import Resemblance
from explorer.variation import (
    GOES_ON,
    Genes,
    Key,
    blocks,
    crossed,
    differences,
    fused,
    genes,
    redrawn,
    repaired,
    templated,
)
from generator.pipeline_graph import StagePlace
from generator.plan import KernelPlan, Plan
from generator.schedules.stages import Stages
from graph.optimization_graph import OptimizationGraph
from graph.policies import first, prefer, uniform
from graph.space import Chooser, Decision, Option
from graph.walk import Walk
from metrics.outcome import Outcome, Timed
from tests.support.searches import best_found, mean_found
from tests.support.slow import few
from tests.support.spaces import FlatSpace, Kernels, chosen, failed, options_of, plan_of, timed


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def random_walks(space: Kernels, count: int, seed: int = 1) -> Sequence[Walk]:
    return RandomWalk(space, seed).ask(count)


def run(explorer: Genetic, space: Kernels, iterations: int, ants: int = 10) -> None:
    for _ in range(iterations):
        for walk in explorer.ask(ants):
            explorer.tell(walk, space.outcome(walk.plan))


@pytest.mark.parametrize(("kernels", "budget"), few([(3, 50), (6, 100), (3, 200)], 1))
def test_evolution_beats_random_search_by_far(kernels: int, budget: int) -> None:
    space = Kernels(kernels)
    assert mean_found(Genetic, space, budget) < 0.8 * mean_found(RandomWalk, space, budget)


@pytest.mark.slow
def test_the_size_of_iterations_matters_little() -> None:
    space = Kernels(3)
    by_chance = mean_found(RandomWalk, space, 150)
    for ants in (1, 7, 50):
        found = [best_found(Genetic(space, seed), space, 150, ants) for seed in range(5)]
        assert float(np.mean(found)) < 0.8 * by_chance


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
    second = chosen(
        chooser, Decision("second", (), (("first", first),)), tuple(s for s in (8, 16, 32, 64) if s <= first)
    )
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
    walk = OptimizationGraph().walk(sizes, repaired(wishes, rng()))  # type: ignore[arg-type]  # a space for this test
    assert walk is not None
    assert options_of(walk)[:2] == expected


def test_a_word_that_is_not_on_offer_is_drawn_by_chance() -> None:
    wishes: Genes = {("word", ()): "c"}
    walks = [OptimizationGraph().walk(sizes, repaired(wishes, rng(seed))) for seed in range(20)]  # type: ignore[arg-type]  # a space for this test
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


def test_operators_that_cannot_be_used_are_as_if_they_were_not() -> None:
    four, three = ProbabilityMatching(4), ProbabilityMatching(3)
    for operator, amount in ((0, 1.0), (2, 0.0), (1, 1.0), (2, 1.0)):
        three.reward(operator, amount)
        four.reward(operator + (operator > 0), amount)
    assert four.chances([True, False, True, True]) == pytest.approx(np.insert(three.chances(), 1, 0.0))
    assert ProbabilityMatching(3, initial=0.0).chances([True, True, False]) == pytest.approx([0.5, 0.5, 0.0])


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
            one: dict[Key, float] = {
                (f"d{i}", ()): float(draw.random() * 100) for i in range(30) if draw.random() < 0.9
            }
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


PLACES: tuple[StagePlace, ...] = ("root", "inline", "block")


@dataclass(frozen=True, slots=True)
class Chain:
    """Stages in a row: each is a kernel, or computed by the kernel of the stage after it. `rooted` is not offered
    to blocks.
    """

    count: int
    rooted: int | None = None

    def __call__(self, chooser: Chooser) -> Plan:
        places: dict[str, StagePlace] = {}
        for number in reversed(range(self.count - 1)):
            name, offered = f"a{number:02}", PLACES[:2] if number == self.rooted else PLACES
            answer = chooser.choose(Decision("stage", (name,)), offered)
            places[name] = next(place for place in offered if place == answer)
        kernels, group = [], []
        for number in range(self.count):
            group.append(f"S{number:02}")
            if places.get(f"a{number:02}", "root") == "root":
                tile = chosen(chooser, Decision("tile", tuple(group)), (4, 8, 16, 32, 64))
                unroll = chosen(chooser, Decision("unroll", tuple(group)), (1, 2, 4, 8))
                kernels.append(KernelPlan(tuple(group), (tile,), (tile,), unroll=unroll))
                group = []
        return Plan(
            Stages(tuple((name, place) for name, place in sorted(places.items()) if place != "root")), tuple(kernels)
        )

    def outcome(self, plan: Plan) -> Timed:
        """To compute stages inline costs more than it saves; in blocks, too, up to the third of a kernel."""
        assert isinstance(plan.schedule, Stages)
        places, times = dict(plan.schedule.computed), {}
        for kernel in plan.kernels:
            kinds = Counter(places.get(f"a{name[1:]}") for name in kernel.statements)
            ms = (1.0 + len(kernel.statements)) * 1.35 ** kinds["inline"]
            ms += 1.5 * (kinds["block"] > 0) - 0.9 * max(0, kinds["block"] - 2)
            off = abs(math.log2(kernel.tile[0] / 32)) + abs(math.log2(kernel.unroll / 4))
            times[kernel.statements] = max(0.2, ms * (1.0 + 0.1 * off))
        return timed(sum(times.values()), times)


def all_root(space: Chain) -> tuple[OptimizationGraph, Walk]:
    graph = OptimizationGraph()
    walk = graph.walk(space, first)
    assert walk is not None
    return graph, walk


def test_fusion_gives_one_place_to_a_run_of_stages_from_what_reads_to_what_is_read() -> None:
    graph, walk = all_root(Chain(40))
    order, lengths = [f"a{number:02}" for number in reversed(range(39))], []
    for seed in range(400):
        child = fused(graph.path(walk), rng(seed))
        changed = [
            subject[0] for (name, subject), option in child.items() if subject and option != genes(walk)[name, subject]
        ]
        start = order.index(changed[0])
        assert changed == order[start:start + len(changed)]
        assert len({child["stage", (name,)] for name in changed}) == 1
        lengths += [len(changed)] if start < 15 else []  # the others may end where the chain does
    assert np.mean(np.array(lengths) > 1) == pytest.approx(GOES_ON, abs=0.08)
    assert np.mean(lengths) == pytest.approx(1 / (1 - GOES_ON), rel=0.25)


def test_kernels_that_come_of_a_fusion_have_the_sizes_of_a_kernel_before() -> None:
    graph = OptimizationGraph()
    walk = graph.walk(Chain(6), prefer({("tile", ()): 32, ("unroll", ()): 8}, first))
    assert walk is not None
    sizes: Counter[tuple[int, int]] = Counter()
    for seed in range(100):
        child = graph.walk(Chain(6), repaired(fused(graph.path(walk), rng(seed)), rng(seed)))
        assert child is not None
        sizes.update((kernel.tile[0], kernel.unroll) for kernel in child.plan.kernels if len(kernel.statements) > 1)
    assert (
        sizes[32, 8] > 0.5 * sizes.total()
    )  # else it is a stage whose choices are followed, and they say nothing of sizes


def test_a_stage_that_cannot_be_computed_there_stays_where_it_is() -> None:
    graph, walk = all_root(Chain(7, rooted=3))
    children = [fused(graph.path(walk), rng(seed)) for seed in range(200)]
    around = [child for child in children if child["stage", ("a04",)] == child["stage", ("a02",)] == "block"]
    assert around and {child["stage", ("a03",)] for child in around} == {"root"}


def test_where_no_words_are_decided_neighbouring_kernels_get_the_same_size_or_switch() -> None:
    graph, names = OptimizationGraph(), Counter[str]()
    walk = graph.walk(Kernels(6), prefer({("fuse", ()): False}, uniform(rng(2))))
    assert walk is not None
    for seed in range(200):
        child = fused(graph.path(walk), rng(seed))
        changed = {(name, subject): option for (name, subject), option in child.items()
                   if (name, subject) in genes(walk) and option != genes(walk)[name, subject]}
        assert len({(name, option) for (name, _), option in changed.items()}) == 1
        names[next(iter(changed))[0]] += 1
    assert set(names) == {"tile x", "block x", "tile y", "block y", "unroll", "shared"}


def test_a_template_serves_a_run_of_neighbours_and_changes_nothing_else() -> None:
    wanted: Genes = {**{("stage", (f"a{number}",)): "root" for number in range(8)}, ("tile", ("a7",)): 4}
    template: Genes = {**{("stage", (f"a{number}",)): "block" for number in range(1, 9)}, ("tile", ("a0", "a1")): 32}
    runs = set()
    for seed in range(200):
        child = templated(wanted, template, rng(seed))
        assert {gene for gene in child if gene[1]} == set(wanted)
        taken = "".join("x" if child["stage", (f"a{number}",)] == "block" else "." for number in range(8))
        assert taken[0] == "." and len(taken.strip(".").split(".")) == 1
        runs.add(taken)
    assert {".xxxxxxx", ".x......", "......xx"} <= runs
    assert any(templated(wanted, template, rng(seed)).get(("tile", ())) == 32 for seed in range(50))
    assert templated(wanted, {("stage", ("b",)): "block"}, rng()) == wanted


@pytest.mark.parametrize("rounds", few([20, 40], 1))
def test_an_operator_that_can_do_nothing_has_no_turn(rounds: int) -> None:
    def used(explorer: Genetic, space: Kernels | FlatSpace) -> set[str]:
        names: set[str] = set()
        for _ in range(rounds):
            for walk in explorer.ask(10):
                explorer.tell(
                    walk,
                    space.outcome(walk.plan)
                    if isinstance(space, Kernels)
                    else timed(float(sum(walk.plan.kernels[0].tile))),
                )
            names |= {tuple(OPERATORS)[birth.operator] for birth in explorer._births}
        return names

    start = random_walks(Kernels(4), 1)[0]
    assert used(Genetic(Kernels(4), 1, starts=[start]), Kernels(4)) == set(OPERATORS)
    assert used(Genetic(Kernels(4), 1), Kernels(4)) == set(OPERATORS) - {"template"}
    assert not used(Genetic(FlatSpace((9, 9, 9, 9)), 1), FlatSpace((9, 9, 9, 9))) & {"template", "fuse"}


class Unfused(Genetic):
    """Evolution without loop fusion."""

    def _usable(self, parent: Individual) -> Sequence[bool]:
        return [can and name != "fuse" for name, can in zip(OPERATORS, super()._usable(parent), strict=True)]


@pytest.mark.slow
def test_fusion_finds_what_pays_only_if_many_do_it() -> None:
    def found(kind: type[Genetic], seed: int) -> float:
        explorer, best = kind(Chain(16), seed), math.inf
        for _ in range(12):
            for walk in explorer.ask(10):
                outcome = Chain(16).outcome(walk.plan)
                explorer.tell(walk, outcome)
                best = min(best, outcome.median_ms)
        return best

    with_it, without = (float(np.mean([found(kind, seed) for seed in range(6)])) for kind in (Genetic, Unfused))
    assert with_it < 0.8 * without
