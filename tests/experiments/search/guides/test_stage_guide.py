"""The guide says of a whole walk what the model says of its plan, and a beam that follows it finds good plans."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import prod

import numpy as np
import pytest

from antune import halide as hl
from experiments.learning.random_plans import random_plan
from experiments.search.costs import find_model, predicted
from experiments.search.guides.grouping import always_inlined, places_for_unknown
from experiments.search.guides.guided import sioutas_scorer, stage_guide
from experiments.search.guides.sizing import Sizing
from experiments.search.guides.stage_guide import STAGE
from experiments.search.guides.tables import KernelKey, Tables, usual_axes
from experiments.search.modelled import model_plans
from experiments.suites.image_pipelines import pipeline
from explorer.beam import Beam, greedy, search
from explorer.beam_pass import BeamOptions
from explorer.frozen import freeze, thaw
from generator.decisions.sizes import BLOCK, TILE
from generator.decisions.walk import WALK, walked
from generator.frontend_py.load import load_pipeline
from generator.frontend_py.problem import program_of as pipeline_program
from generator.lowering import lower
from generator.lowering.analysis.planned import hosted_dimensions, stored_kernels
from generator.lowering.analysis.shapes import kernel_shapes
from generator.plan import Plan
from generator.polyhedral.pipelines.dataflow import dataflow
from generator.program import Program
from generator.schedules.stages import Stages
from generator.target import Target
from graph.guiding import Prefix
from metrics.costs.base import Cost, PlannedKernel
from metrics.costs.device import cost_device
from metrics.costs.groups import Numbers
from metrics.costs.learned.features import minimum_points
from metrics.costs.learned.layout import Layout
from metrics.costs.learned.model import shipped_model
from tests.support.guides import CPU, GPU, guided, program
from tests.support.slow import few, in_turn
from tests.support.spaces import timed

QUICK = BeamOptions(beam=4, passes=2)


@lru_cache(maxsize=1)
def least() -> Program:
    """The place of the least of 8 sums of three elements, each of which other sums have, too."""
    x, y, z = hl.Var("x"), hl.Var("y"), hl.Var("z")
    image = hl.ImageParam(hl.Int(32), 3, "image")
    image.set_estimates([(0, 64), (0, 32), (0, 8)])
    border, wide, place = hl.Func("border"), hl.Func("wide"), hl.Func("place")
    border[x, y, z] = hl.BoundaryConditions.repeat_edge(image)[x, y, z] + 1
    wide[x, y, z] = border[x - 1, y, z] + border[x, y, z] + border[x + 1, y, z]
    r = hl.RDom([(0, 8)], "r")
    place[x, y] = hl.argmin(wide[x, y, r])[0]
    return pipeline_program([place], (64, 32), "least")


@lru_cache(maxsize=2)
def convolution(*extents: int) -> Program:
    """conv_layer of 2 input channels, with results of these extents: channels, x, y, images."""
    return pipeline_program(load_pipeline(pipeline("conv_layer").file, {"inputs": 2}), extents, "conv_layer")


def cost(name: str, target: Target, end: Prefix) -> float:
    found = predicted(program(name), end.state.plan, target, find_model("sioutas", target))
    assert isinstance(found, Cost), found
    return found.number


@in_turn
def test_rows_of_a_fourth_dimension_are_innermost_on_cpus() -> None:
    """In plans of the beam and in random ones, which train the model."""
    space, guide = guided("bilateral_grid", CPU)
    end = greedy(space, guide, BeamOptions(), np.random.default_rng(0), 20)
    drawn = random_plan(program("bilateral_grid"), CPU, np.random.default_rng(1))
    assert end is not None and drawn is not None
    for plan in (end.state.plan, drawn):
        assert plan.schedule is not None
        shapes = kernel_shapes(program("bilateral_grid"), plan.schedule)
        rows = [plan.kernel(shape.statements) for shape in shapes if shape.rows]
        assert any(prod(kernel.tile) > prod(kernel.block) for kernel in rows)
        assert not any(kernel.points_inside for kernel in rows)


@pytest.mark.parametrize(("operations", "places"), [(0, ("root", "inline")), (9, ("root",))])
def test_only_cheap_stages_of_inputs_may_be_inlined_in_them(operations: int, places: tuple[str, ...]) -> None:
    x, y, r = hl.Var("x"), hl.Var("y"), hl.RDom([(0, 8)], "r")
    image, limited, place = hl.ImageParam(hl.Int(32), 2, "image"), hl.Func("limited"), hl.Func("place")
    image.set_estimates([(0, 64), (0, 32)])
    found: hl.Expr = image[hl.clamp(x, 0, 63), y]
    for number in range(operations):
        found = found * 3 + number
    limited[x, y] = found
    place[x, y] = hl.argmin(limited[x + r, y])[0]
    assert places_for_unknown(dataflow(pipeline_program([place], (64, 32), "least")))["limited"] == places


def test_stages_of_arrays_that_no_model_can_judge_are_stored() -> None:
    """In the kernel of such an array, they would seem to cost nothing. All their elements are needed."""
    space, guide = guided(least(), CPU)
    assert places_for_unknown(guide.tables.flow) == {"wide": ("root",)}
    assert minimum_points(guide.tables.flow, "wide") == 64 * 32 * 8
    end = search(space, guide, BeamOptions(beam=4, passes=1), np.random.default_rng(0)).end
    assert end is not None and isinstance(end.state.plan.schedule, Stages)
    assert "wide" not in dict(end.state.plan.schedule.computed)


def test_the_outermost_of_four_dimensions_with_long_sums_runs_around_launches_on_cpus() -> None:
    space, guide = guided("conv_layer", CPU)
    end = search(space, guide, BeamOptions(beam=1, passes=1), np.random.default_rng(0)).end
    assert end is not None
    plan = end.state.plan
    assert isinstance(plan.schedule, Stages) and plan.schedule.launches


@pytest.mark.parametrize(("extents", "launches"), [((128, 4, 4, 2), False), ((128, 32, 16, 2), True)])
def test_gpus_have_plans_for_long_rows_of_four_dimensions(extents: tuple[int, ...], launches: bool) -> None:
    """A thread computes a whole row if launches would be too small to share it out. They run outside as in start plans.
    """
    given = convolution(*extents)
    space, guide = guided(given, GPU)
    end = greedy(space, guide, BeamOptions(dropout=1.0), np.random.default_rng(0), 20)
    assert end is not None
    plan = end.state.plan
    assert isinstance(plan.schedule, Stages) and plan.schedule.launches is launches
    found = predicted(given, plan, GPU, find_model("sioutas", GPU))
    assert isinstance(found, Cost) and guide.costs([end]) == [pytest.approx(found.number)]


@lru_cache(maxsize=1)
def doubled(*extents: int) -> Program:
    """Twice the elements of an array."""
    places = [hl.Var(f"d{d}") for d in range(len(extents))]
    image, double = hl.ImageParam(hl.Float(32), len(extents), "image"), hl.Func("double")
    double[tuple(places)] = image[tuple(places)] * 2.0
    return pipeline_program([double], extents, "doubled")


@pytest.mark.parametrize("extents", [(128, 32, 16, 2), (128, 64, 1, 2), (1, 64, 64, 2), (128, 64, 64, 1),
                                     (64, 16, 8, 4, 1), (64, 16, 8, 1, 4), (64, 16, 1, 1, 4)])
def test_axes_are_those_of_kernels_before_these_are_known(extents: tuple[int, ...]) -> None:
    """Of more than three dimensions with several elements, rows are loops in threads, or the first ones are around
    launches.
    """
    found = doubled(*extents) if len(extents) > 4 else convolution(*extents)
    flow, checked = dataflow(found), 0
    for launches in (True, False):
        tables = Tables(flow, cost_device(CPU), sioutas_scorer(CPU, None), launches=launches)
        for one in stored_kernels(found, Stages((), launches=launches), flow):
            if not one.refusal:
                assert set(usual_axes(flow.array(one.output).extents, launches)) == set(one.axes), one
                assert tables.group(KernelKey(one.output)).hosted == one.hosted, one
                checked += 1
    assert checked == (2 if len(extents) > 4 else 4)


def test_host_loops_around_launches_run_the_outermost_dimensions_with_several_elements() -> None:
    assert hosted_dimensions((1,), (1, 4, 8, 16, 64)) == hosted_dimensions((0,), (4, 1, 8, 16, 64)) == 2
    assert hosted_dimensions((), (1, 1, 8, 16, 64)) == hosted_dimensions((1,), (2, 4, 8, 16)) == 0
    found = doubled(64, 1, 8, 4, 2)  # its outermost loops are in another order
    (kernel,) = stored_kernels(found, Stages((), launches=True), dataflow(found))
    tables = Tables(dataflow(found), cost_device(CPU), sioutas_scorer(CPU, None), launches=True)
    assert tables.group(KernelKey(kernel.output), kernel.axes).hosted == kernel.hosted


@pytest.mark.parametrize("target", [CPU, GPU])
def test_models_rate_one_launch_of_several(target: Target) -> None:
    """The guide and the model of a plan, also the learned one."""
    given = convolution(128, 32, 16, 2)
    for scorer in (sioutas_scorer(target, None), shipped_model()):
        space, guide = guided(given, target, scorer=scorer)
        end = greedy(space, guide, BeamOptions(dropout=1.0), np.random.default_rng(0), 20)
        assert end is not None and isinstance(end.state.plan.schedule, Stages) and end.state.plan.schedule.launches
        found = predicted(given, end.state.plan, target, find_model(scorer.name, target))
        assert isinstance(found, Cost) and guide.costs([end]) == [pytest.approx(found.number)]


@pytest.mark.parametrize(("name", "target"), few([("unsharp", CPU), ("blur", GPU), ("harris", GPU)], 1))
def test_whole_walks_cost_what_the_model_says_of_their_plans(name: str, target: Target) -> None:
    space, guide = guided(name, target)
    for seed in range(3):
        end = greedy(space, guide, BeamOptions(dropout=1e-6), np.random.default_rng(seed), 20)
        assert end is not None
        assert guide.costs([end]) == [pytest.approx(cost(name, target, end))]


@pytest.mark.parametrize("block_shared", [GPU.local_bytes, 3 * 1024])
def test_blocks_that_walk_need_shared_memory_for_whole_windows(block_shared: int) -> None:
    """The scores of ways with and without steps are those of the model, which stores 2, 4, 8 ... rows of a window."""
    flow, model = dataflow(program("blur")), find_model("sioutas", GPU)
    device = replace(cost_device(GPU), block_shared=block_shared)
    *_, stage, output = (node.array for node in flow.nodes)
    tables = Tables(flow, device, sioutas_scorer(GPU, None))
    key, refusals = KernelKey(output, frozenset({stage})), dict[bool, list[bool]]()
    table = tables.table(key)
    assert table.axes == tuple(range(len(flow.array(output).extents)))
    for way, score in zip(table.ways, table.costs, strict=True):
        step = (table.axes[walked(len(table.axes))], way.walk) if way.walk else None
        tile = tuple(map(min, way.tile, flow.array(output).extents))
        found = model.judge(PlannedKernel((), tables.group(key), tile, way.block, way.level, step, None), device)
        if isinstance(found, Cost):
            assert math.isinf(score) or score == pytest.approx(found.number), way
        else:
            assert math.isinf(score), way
        if way.level == "block":
            refusals.setdefault(bool(way.walk), []).append(math.isinf(score))
    assert not all(refusals[True]) and not all(refusals[False])
    assert block_shared == GPU.local_bytes or any(refusals[True])


def test_what_one_reader_needs_at_its_own_place_only_is_inlined_in_any_case() -> None:
    assert always_inlined(dataflow(program("unsharp"))) == {"blur_x", "sharpen"}
    assert always_inlined(dataflow(program("harris"))) == {"det"}, "trace is read twice, products by sums over windows"
    space, guide = guided("harris", GPU)
    for seed in range(5):
        end = greedy(space, guide, BeamOptions(dropout=0.5), np.random.default_rng(seed), 20)
        assert end is not None
        places = {choice.decision.subject[0]: choice.option for choice in end.choices if choice.decision.name == STAGE}
        assert places["det"] == "inline"


def test_a_stage_is_stored_if_its_only_reader_is_inlined_where_it_is_computed_many_times() -> None:
    """`held` costs little, so it may be inlined in sums over `z`; with `gray` inside, that is not possible."""
    x, y, z, r = hl.Var("x"), hl.Var("y"), hl.Var("z"), hl.RDom([(0, 8), (0, 8)], "r")
    gray, held, sums, out = (hl.Func(name) for name in ("gray", "held", "sums", "out"))
    edge = hl.BoundaryConditions.repeat_edge(hl.ImageParam(hl.Float(32), 2, "image"))
    gray[x, y] = hl.sqrt(edge[x, y]) * 0.3 + edge[x + 1, y] + edge[x, y + 1] * 0.3 + edge[x, y] * edge[x + 1, y + 1]
    held[x, y] = hl.clamp(gray[x, y], 0.0, 1.0)
    value = held[x * 8 + r.x, y * 8 + r.y]
    sums[x, y, z] = hl.sum(hl.select(hl.i32(value * 12.0 + 0.5) == z, value, 0.0), "in_cell")
    out[x, y] = sums[x // 8, y // 8, hl.clamp(hl.i32(held[x, y] * 12.0), 0, 11)]
    for name in ("once", "twice"):
        before, out = out, hl.Func(name)
        out[x, y] = before[x, y] + before[x + 1, y] * 0.5
    space, guide = guided(pipeline_program([out], (192, 128), "grid"), CPU, scorer=shipped_model())
    assert "gray" in always_inlined(guide.tables.flow)
    end = search(space, guide, BeamOptions(beam=4, passes=1), np.random.default_rng(0)).end
    assert end is not None and math.isfinite(end.cost)


def test_a_beam_finds_no_worse_a_plan_than_the_scheduler_of_the_same_model() -> None:
    space, guide = guided("unsharp", CPU)
    found = search(space, guide, QUICK, np.random.default_rng(0))
    assert found.end is not None
    assert found.judged >= found.extended > 20
    rival = predicted(program("unsharp"), model_plans(program("unsharp"), CPU, "sioutas", 1).plans[0], CPU,
                      find_model("sioutas", CPU))
    assert isinstance(rival, Cost)
    assert cost("unsharp", CPU, found.end) <= rival.number
    assert lower(program("unsharp"), found.end.state.plan, CPU).kernels


def test_what_is_remembered_changes_nothing() -> None:
    ends = []
    output = dataflow(program("blur")).nodes[-1].array
    for memoised in (True, False):
        space, guide = guided("blur", CPU, memoised)
        end = search(space, guide, QUICK, np.random.default_rng(1)).end
        assert end is not None
        ends.append((end.state.plan, guide.tables.made))
        assert (guide.tables.table(KernelKey(output)) is guide.tables.table(KernelKey(output))) is memoised
    assert ends[0][0] == ends[1][0]
    assert ends[0][1] < ends[1][1]


@dataclass(frozen=True)
class ThreadsFirst:
    """A model for which tiles of single threads are the fastest."""

    name: str = "threads first"

    def score(self, made: Layout) -> Numbers:
        return made.blocks if made.sizes.level == "thread" else made.blocks + 1e6


@dataclass(frozen=True)
class Counting:
    """A model that counts the ways that it rates."""

    rated: list[int] = field(default_factory=list)
    name: str = "counting"

    def score(self, made: Layout) -> Numbers:
        self.rated.append(made.sizes.count)
        return made.blocks


def test_only_possible_ways_are_rated_and_answers_lead_to_them() -> None:
    model = Counting()
    guide = stage_guide(program("unsharp"), GPU, model)
    table = guide.tables.table(KernelKey("blur_y", frozenset(["gray"]), frozenset(["repeat_edge"])))
    possible = [way for way, cost in zip(table.ways, table.costs, strict=True) if math.isfinite(cost)]
    assert sum(model.rated) == len(possible) < len(table.ways)
    cheapest = table.ways[int(np.argmin(table.costs))]
    assert Sizing(()).answers(table, TILE)[0] == cheapest.tile[-1]
    blocks = Sizing((), sizes=(16,)).answers(table, BLOCK)
    assert set(blocks) == {way.block[-1] for way in possible if way.tile[-1] == 16} and len(blocks) == len(set(blocks))
    assert set(Sizing(()).answers(table, WALK.name)) == {way.walk for way in possible}


def points_of_threads(name: str, key: KernelKey) -> set[tuple[int, ...]]:
    """Return the points that a thread may compute of an output, if it keeps the stages of the kernel itself."""
    table = stage_guide(program(name), GPU, ThreadsFirst()).tables.table(key)
    return {tuple(t // b for t, b in zip(way.tile, way.block, strict=True))
            for way, cost in zip(table.ways, table.costs, strict=True) if way.level == "thread" and math.isfinite(cost)}


def test_on_gpus_threads_keep_few_values_of_stages_in_registers() -> None:
    """At most 128 bytes, for at most 16 points of the output."""
    found = points_of_threads("unsharp", KernelKey("blur_y", frozenset(["gray"]), frozenset(["repeat_edge"])))
    assert (8, 2) in found and (4, 4) not in found, "28 and 40 floats, because of 6 further rows"
    found = points_of_threads("blur", KernelKey("blur_y", frozenset(["blur_x"])))
    assert {(8, 2), (4, 4), (2, 8)} <= found and (4, 8) not in found, "48 short integers, but 32 points"
    space, _ = guided("blur", GPU)
    end = search(space, stage_guide(program("blur"), GPU, ThreadsFirst()), QUICK, np.random.default_rng(0)).end
    assert end is not None
    [plan], [kernel] = end.state.plan.kernels, lower(program("blur"), end.state.plan, GPU).kernels
    assert plan.level == "thread" and prod(plan.block) < prod(plan.tile) <= 16 * prod(plan.block)
    assert kernel.local_bytes == 0 and "this thread computes blur_x_here" in kernel.text.after


def test_the_state_of_a_beam_with_this_guide_can_be_frozen() -> None:
    space, _ = guided("blur", CPU)
    explorer, known = Beam(space, 1, QUICK), dict[str, Plan]()
    for walk in explorer.ask(4):
        known[walk.identity] = walk.plan
        explorer.tell(walk, timed(1.0))
    again = thaw(freeze(explorer, space, known), space, known)
    assert [walk.identity for walk in again.ask(3)] == [walk.identity for walk in explorer.ask(3)]


@pytest.mark.parametrize("name", few(["blur", "harris"], 1))
def test_structure_shows_more_at_greater_depth(name: str) -> None:
    space, guide = guided(name, CPU)
    ends = [greedy(space, guide, BeamOptions(dropout=1e-6), np.random.default_rng(seed), 20) for seed in range(6)]
    found = [end for end in ends if end is not None]
    kinds = [len({guide.structure(end, depth) for end in found}) for depth in range(6)]
    assert kinds == sorted(kinds)
    assert kinds[-1] > 1
