"""Halide's genetic search: generations, seeds, crossover between stages, mutations by the call graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

import numpy as np
import pytest

from experiments.search.spaces import make_reachable_space
from experiments.suites.image_pipelines import PIPELINES
from experiments.values.options import Budget, RunOptions
from explorer.frozen import freeze, thaw
from explorer.halide_ga import HalideGa
from explorer.halide_lists import Lists, Stages, lists_of, two_point
from explorer.halide_mutations import MODES, Mutant, fused_below, mutated
from explorer.halide_options import PUBLISHED, HalideGaOptions
from explorer.halide_schedules import Drawing, Patterns
from explorer.random_walk import RandomWalk
from explorer.variation import Subject
from generator.frontend_c.source import Compilation
from generator.plan import KernelPlan, Plan
from generator.schedules.stages import Stages as Schedule
from graph.optimization_graph import OptimizationGraph
from graph.space import Chooser, Decision, Space
from graph.stage_graph import StageGraph, StageNode, stage_graph_of
from graph.walk import Walk
from metrics.outcome import Outcome
from tests.support.slow import few
from tests.support.spaces import FlatSpace, Kernels, failed, plan_of, timed
from tests.support.suite import TARGET, small_problem

Judge = Callable[[Plan], Outcome]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@lru_cache(maxsize=4)
def pipeline(name: str) -> Space:
    """The space of a pipeline of the suite at a small size."""
    problem, _ = small_problem(next(one for one in PIPELINES if one.name == name))
    options = RunOptions(name, Compilation(), Budget(evaluations=1), space="pipeline")
    return make_reachable_space(problem.program, TARGET, options)


def stages_of(space: Space) -> StageGraph:
    graph = stage_graph_of(space)
    assert graph is not None
    return graph


def computed(plan: Plan) -> dict[str, str]:
    assert isinstance(plan.schedule, Schedule)
    return dict(plan.schedule.computed)


def judged(plan: Plan) -> Outcome:
    """Few kernels are good, as long as no stage is inlined, and square blocks of 16 x 16."""
    off = [sum(abs(np.log2(size / 16)) for size in kernel.block) for kernel in plan.kernels]
    return timed(float(sum(1.0 + one for one in off)) * 1.3 ** [*computed(plan).values()].count("inline"))


def advance(explorer: HalideGa, judge: Judge, counts: Sequence[int]) -> list[tuple[Walk, Outcome]]:
    told = []
    for count in counts:
        for walk in explorer.ask(count):
            outcome = judge(walk.plan)
            explorer.tell(walk, outcome)
            told.append((walk, outcome))
    return told


def test_generations_are_shared_out_as_published() -> None:
    assert PUBLISHED.elites == 25
    assert PUBLISHED.shares() == (47, 47, 9)
    assert PUBLISHED.shares(0.3) == (52, 41, 10)
    assert PUBLISHED.shares(0.6) == (26, 72, 5)
    assert all(sum(PUBLISHED.shares(share)) == 103 for share in np.linspace(0.0, 0.9, 10))


def test_the_share_of_mutation_grows_when_the_search_is_stuck() -> None:
    def after(*bests: float) -> float | None:
        return PUBLISHED.stagnation(bests)

    assert after(5.0) is None
    assert after(5.0, 5.0) == after(*[5.0] * 10) == 0.3
    assert after(*[5.0] * 11) == pytest.approx(0.6)
    assert after(5.0, *[4.0] * 10) == pytest.approx(0.3)
    assert after(10.0, *[8.5] * 10) == pytest.approx(0.45)
    assert after(float("inf"), *[4.0] * 10) == 0.3


def test_each_generation_has_its_shares_and_its_elites() -> None:
    explorer = HalideGa(Kernels(3), 1)
    told = advance(explorer, Kernels(3).outcome, [23])
    assert explorer.generation == 0
    for number, (size, shares) in enumerate([(103, (47, 47, 9)), (103, (52, 41, 10)), (103, (52, 41, 10))], 1):
        best = sorted(told, key=lambda one: cost(one[1]))[: PUBLISHED.elites]
        [first] = explorer.ask(1)
        assert explorer.generation == number
        assert [walk.identity for walk in explorer.elites] == [walk.identity for walk, _ in best]
        left = [explorer._left.count(way) for way in ("crossover", "mutation", "random")]
        assert sum(left) == size - 1 and all(whole - some in (0, 1) for whole, some in zip(shares, left, strict=True))
        explorer.tell(first, Kernels(3).outcome(first.plan))
        told += [(first, Kernels(3).outcome(first.plan)), *advance(explorer, Kernels(3).outcome, [size - 1])]
        assert explorer.generation == number and not explorer._left
    assert len({walk.identity for walk, _ in told}) == len(told)  # elites are not asked again


def cost(outcome: Outcome) -> float:
    return getattr(outcome, "median_ms", float("inf"))


@pytest.mark.parametrize("counts", few([[10] * 30, [7, 1, 200, 92], [300]], ([7, 1, 200, 92],)))
def test_pieces_of_any_size_make_whole_generations(counts: list[int]) -> None:
    explorer = HalideGa(Kernels(3), 1)
    told = advance(explorer, Kernels(3).outcome, counts)
    assert len({walk.identity for walk, _ in told}) == 300
    assert explorer.generation == 3 and len(explorer._left) == 23 + 3 * 103 - 300


def test_what_failed_is_no_elite_and_no_parent() -> None:
    def judge(plan: Plan) -> Outcome:
        return failed() if plan.kernels[0].tile[0] % 3 else timed(float(sum(plan.kernels[0].tile)))

    explorer = HalideGa(FlatSpace((30, 30, 30)), 1)
    told = advance(explorer, judge, [126, 1])
    good = {walk.identity for walk, outcome in told if outcome != failed()}
    assert 0 < len(explorer._parents) == len({one.walk.identity for one in explorer._parents})
    assert {one.walk.identity for one in explorer._parents} <= good
    assert {walk.identity for walk in explorer.elites} <= good


def test_parents_are_among_the_best_of_a_sample() -> None:
    """Of the half that is drawn one of the 32 best: none of the 32 worst of 128 ever is."""
    explorer = HalideGa(FlatSpace((200, 200)), 1)
    advance(explorer, lambda plan: timed(float(sum(plan.kernels[0].tile))), [23 + 103, 1])
    costs = [timed_cost(walk.plan) for walk in (one.walk for one in explorer._parents)]
    allowed = sorted(costs)[: len(costs) - PUBLISHED.top + 1]
    drawn = [sum(int(str(option)) + 1 for option in options(explorer, seed)) for seed in range(300)]
    assert max(drawn) <= max(allowed)
    assert np.mean(drawn) < np.mean(costs) - 20


def timed_cost(plan: Plan) -> int:
    return sum(plan.kernels[0].tile)


def options(explorer: HalideGa, seed: int) -> list[object]:
    return [node.options[index] for node, index in explorer._parent(rng(seed))]


def test_stages_come_after_what_they_read_and_know_who_needs_one_point() -> None:
    graph = stages_of(pipeline("harris"))
    seen: set[str] = set()
    for stage in graph.stages:
        assert seen.issuperset(stage.reads)
        seen.add(stage.name)
    by_name = {stage.name: stage for stage in graph.stages}
    assert by_name["ixy"].reads == ("ix", "iy") and by_name["harris"].reads == ("det", "trace")
    assert {name for name, stage in by_name.items() if stage.point} == {
        "ix", "iy", "sxx", "sxy", "syy", "det", "trace"}
    assert stage_graph_of(Kernels(2)) is None


def test_the_first_generation_begins_with_all_root_and_reasonable_schedules() -> None:
    explorer = HalideGa(pipeline("harris"), 1)
    order = Counter[str]()
    walks = list(explorer.ask(23))
    assert explorer.generation == 0 and not explorer._left
    assert computed(walks[0].plan) == {}
    points = {stage.name: "inline" for stage in stages_of(pipeline("harris")).stages if stage.point}
    order.update("reasonable" if computed(walk.plan) == points else "other" for walk in walks[1:])
    assert order["reasonable"] >= 20  # the others would be the same again, and random schedules stand for them
    squares = [{kernel.tile for kernel in walk.plan.kernels} for walk in walks[1:] if computed(walk.plan) == points]
    assert all(len(tiles) <= 3 for tiles in squares)
    assert any(tiles <= {(n, n) for n in PUBLISHED.squares} for tiles in squares)  # the share of tiles is 1


def test_crossover_never_cuts_within_a_stage() -> None:
    def parent(who: str, count: int = 6) -> Lists:
        return {(f"s{i}",): {(name, ()): f"{name} of {i} by {who}" for name in ("place", "tile")} for i in range(count)}

    mixtures = set()
    for seed in range(300):
        child = two_point(parent("a"), parent("b"), rng(seed))
        whose = "".join({str(option)[-1] for option in own.values()}.pop() for own in child.values())
        assert all(len({str(option)[-1] for option in own.values()}) == 1 for own in child.values())
        assert {"a", "b"} == set(whose) and sum(one != other for one, other in pairwise(whose)) <= 2
        mixtures.add(whose)
    assert len(mixtures) > 20
    child = two_point(parent("a", 6), parent("b", 2), rng())
    assert len(child) == 6  # a stage that only one parent has is that one's


def test_a_stage_takes_its_kernel_along_whatever_the_kernel_computes_besides() -> None:
    stages = Stages.of(stages_of(pipeline("harris")))
    alone, more = ("S3",), ("S1", "S2", "S3")
    assert stages.owner(Decision("unroll factor", alone)) == (("sxx",), ("unroll factor", ("S3",)))
    assert stages.owner(Decision("unroll factor", more)) == stages.owner(Decision("unroll factor", alone))
    assert stages.owner(Decision("stage", ("sxx",))) == (("sxx",), ("stage", ()))
    assert stages.owner(Decision("memory placement", ("image",))) == (("image",), ("memory placement", ("image",)))


def chain(count: int, dims: int = 2) -> StageGraph:
    """Stages in a row, each read by the next one."""
    nodes = [StageNode(f"a{i:02}", (f"S{i:02}",), (f"a{i - 1:02}",) if i else (), dims, False) for i in range(count)]
    places = (("root", "own loops"), ("inline", "no loops"), ("block", "in a reader"))
    return StageGraph(tuple(nodes), "stage", places, ("tile",), ("block",))  # type: ignore[arg-type]  # literals


def rooted(graph: StageGraph) -> Lists:
    """All root; the last stage, an output, has no place to decide about."""
    *stages, last = [stage.name for stage in graph.stages]
    return {**{(name,): {("stage", ()): "root"} for name in stages}, (last,): {("tile", ()): 8}}


def taken(lists: Lists) -> list[str]:
    return [stage for (stage,), own in lists.items() if own.get(("stage", ())) == "block"]


def test_fusion_goes_down_the_call_graph_from_a_stage_that_gets_square_tiles() -> None:
    graph = chain(40)
    lengths = []
    for seed in range(400):
        child = fused_below(rooted(graph), Patterns(graph, PUBLISHED), rng(seed))
        assert child is not None
        names = taken(child)
        first, last = int(names[0][1:]), int(names[-1][1:])
        assert names == [f"a{i:02}" for i in range(first, last + 1)]  # a run, without gaps
        head = child[f"a{last + 1:02}",]
        assert head["tile", ()] in PUBLISHED.squares and head.get(("stage", ())) in ("root", None)
        lengths += [len(names)] if last > 25 else []  # others may end where the chain does
    assert np.mean(np.array(lengths) > 1) == pytest.approx(PUBLISHED.goes_on, abs=0.08)
    assert np.mean(lengths) == pytest.approx(1 / (1 - PUBLISHED.goes_on), rel=0.25)


def test_fusion_takes_in_only_what_nobody_else_reads() -> None:
    graph = stages_of(pipeline("harris"))
    found = set()
    for seed in range(300):
        child = fused_below(rooted(graph), Patterns(graph, PUBLISHED), rng(seed))
        assert child is not None
        names = set(taken(child))
        for name in names:
            readers = {stage.name for stage in graph.stages if name in stage.reads}
            assert len(readers - names) <= 1  # the stage whose loops take them in
        assert not names & {"ix", "sxx", "syy"} or {"ixy", "det"} & names  # two read each of these
        found.add(frozenset(names))
    assert {frozenset({"ixx"}), frozenset({"sxy"})} <= found
    assert any({"det", "trace", "sxx"} <= names for names in found)


def test_fusion_needs_two_dimensions_and_somebody_to_take_in() -> None:
    flat, single = chain(5, dims=1), chain(1)
    assert fused_below(rooted(flat), Patterns(flat, PUBLISHED), rng()) is None
    assert fused_below(rooted(single), Patterns(single, PUBLISHED), rng()) is None


def mutants(space: Space, count: int, stage: Subject | None = None) -> list[Mutant]:
    """Random schedules about to change."""
    graph, facts = OptimizationGraph(), stage_graph_of(space)
    patterns = None if facts is None else Patterns(facts, PUBLISHED)
    drawing = Drawing(space, graph, Stages.of(facts), patterns, PUBLISHED)
    made = []
    for seed in range(count):
        path = drawing.path(drawing.random(rng(seed)), rng(seed))
        spots = drawing.stages.spots(path)
        made.append(Mutant(path, spots, stage or [*spots][int(rng(seed).integers(len(spots)))], drawing, ()))
    return made


@pytest.mark.parametrize("count", few([75, 150], 1))
def test_modes_of_mutation_have_their_weights_where_they_can_do_something(count: int) -> None:
    weights = dict(PUBLISHED.mutations)
    assert weights["template"] / sum(weights.values()) == weights["fusion"] / sum(weights.values()) == 1.0 / 3.4
    names, expected = Counter[str](), Counter[str]()
    for seed, mutant in enumerate(mutants(pipeline("blur"), count)):
        able = {name: weights[name] for name, mode in MODES.items() if mode(mutant, rng(seed)) is not None}
        for name, weight in able.items():
            expected[name] += weight / sum(able.values())  # type: ignore[assignment]  # counts of chances
        for draw in range(4):
            child = mutated(mutant, rng(1000 + 4 * seed + draw))
            names[child[0] if child else ""] += 1
    assert set(names) <= set(MODES) - {"chunk"} and len(names) == 8
    for name in MODES:
        assert names[name] / 4 == pytest.approx(float(expected[name]), abs=12), name


@pytest.mark.parametrize("count", few([20, 40], 1))
def test_a_mutation_changes_one_stage_unless_it_fuses(count: int) -> None:
    changing = mutants(pipeline("harris"), count)
    for name in ("consts", "copy", "add", "remove", "edit", "template"):
        some = 0
        for seed, mutant in enumerate(changing):
            child = MODES[name](mutant, rng(seed))
            if child is not None:
                before = mutant.lists
                changed = {stage for stage, own in child.items() if own != before.get(stage)}
                assert changed <= {mutant.stage}
                some += bool(changed)
        assert some, name


@pytest.mark.parametrize("count", few([30, 60], 1))
def test_adding_and_removing_switch_decisions_on_and_off(count: int) -> None:
    for seed, mutant in enumerate(mutants(pipeline("harris"), count)):
        before = mutant.lists[mutant.stage]
        grown, shrunk = (MODES[name](mutant, rng(seed)) for name in ("add", "remove"))
        if shrunk is not None and mutant.directives and any(not spot.off for spot in mutant.directives):
            [spot] = [spot for spot in mutant.own if shrunk[mutant.stage][spot.key] != before[spot.key]]
            assert not spot.off and shrunk[mutant.stage][spot.key] == spot.node.options[0]
        if grown is not None and mutant.has_loops:
            [spot] = [spot for spot in mutant.own if grown[mutant.stage][spot.key] != before[spot.key]]
            assert spot.off
        if grown is not None and not mutant.has_loops:
            assert grown[mutant.stage]["stage", ()] in ("root", "block")


def test_removing_from_a_stage_without_directives_takes_its_loops() -> None:
    found = [(mutant, MODES["remove"](mutant, rng())) for mutant in mutants(pipeline("blur"), 60, ("blur_x",))]
    bare = [child for mutant, child in found if mutant.has_loops and all(spot.off for spot in mutant.directives)]
    assert bare and all(child is not None and child["blur_x",] == {("stage", ()): "inline"} for child in bare)
    assert all(child is None for mutant, child in found if not mutant.has_loops)


@dataclass(frozen=True, slots=True)
class Nested:
    """Three stages in a row, which may be computed in loops of two kinds of their readers."""

    @property
    def stage_graph(self) -> StageGraph:
        return replace(chain(4), places=(*chain(4).places, ("thread", "in a reader")))

    def __call__(self, chooser: Chooser) -> Plan:
        options = [option for option, _ in self.stage_graph.places]
        return plan_of([options.index(chooser.choose(Decision("stage", (f"a{i:02}",)), options)) for i in range(3)])


def test_a_stage_in_loops_of_its_reader_moves_to_others_there() -> None:
    moved = set()
    for seed, mutant in enumerate(mutants(Nested(), 30, ("a00",))):
        before, child = mutant.lists, MODES["chunk"](mutant, rng(seed))
        inside = {stage for stage, own in before.items() if own["stage", ()] in ("block", "thread")}
        assert (child is None) == (not inside)
        if child is not None:
            [stage] = [stage for stage, own in child.items() if own != before[stage]]
            assert stage in inside and {before[stage]["stage", ()], child[stage]["stage", ()]} == {"block", "thread"}
            moved.add(stage)
    assert len(moved) == 3
    assert all(MODES["chunk"](mutant, rng()) is None for mutant in mutants(pipeline("blur"), 20))


def test_without_stages_neighbours_are_fused_and_starts_are_templates() -> None:
    space = Kernels(4)
    starts = RandomWalk(space, 5).ask(3)
    explorer = HalideGa(space, 1, starts=starts)
    assert [walk.identity for walk in explorer.ask(3)] == [walk.identity for walk in starts]
    [mutant] = mutants(space, 1, ("S0",))
    given = lists_of(mutant.spots) | {("S0",): {("unroll", ("S0",)): 8}}
    child = MODES["template"](Mutant(mutant.path, mutant.spots, ("S0",), mutant.drawing, [given]), rng())
    assert child is not None and child["S0",] == {("unroll", ("S0",)): 8}
    assert MODES["template"](mutant, rng()) is None
    fusions = [one for seed in range(20) if (one := MODES["fusion"](mutant, rng(seed))) is not None]
    changed = [{stage for stage, own in one.items() if own != mutant.lists[stage]} for one in fusions]
    assert max(map(len, changed)) > 1


@pytest.mark.parametrize(("before", "after", "options"), few([
    ([10, 10], [8, 8, 3], HalideGaOptions(population=20, top=5, seeds=8)), ([10, 10, 50], [40, 40, 7], PUBLISHED),
], 1, ["small", "published"]))
def test_a_pipeline_goes_on_from_a_checkpoint_as_if_it_had_never_stopped(before: list[int], after: list[int],
                                                                         options: HalideGaOptions) -> None:
    space = pipeline("harris")
    explorer = HalideGa(space, 3, options)
    advance(explorer, judged, before)
    again = thaw(freeze(explorer, space, {}), space, {})
    assert isinstance(again, HalideGa)
    following = [[walk.identity for walk, _ in advance(one, judged, after)] for one in (explorer, again)]
    assert following[0] == following[1] and explorer.generation == again.generation == 2


@pytest.mark.slow
def test_it_finds_better_plans_of_a_pipeline_than_chance() -> None:
    space, budget = pipeline("harris"), [23, 103]
    found = min(cost(outcome) for _, outcome in advance(HalideGa(space, 1), judged, budget))
    assert found < min(cost(judged(walk.plan)) for walk in RandomWalk(space, 1).ask(sum(budget)))


def test_a_small_population_works_too() -> None:
    explorer = HalideGa(Kernels(2), 1, HalideGaOptions(population=10, top=3, seeds=4))
    assert len(advance(explorer, Kernels(2).outcome, [10] * 5)) == 50 and explorer.generation == 6
    assert explorer.ask(0) == [] and plan_of([1]).kernels[0] == KernelPlan(("S",), (2,), (2,))
