"""Stages that blocks compute for their whole tile, before their loops over steps and inner tiles."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from experiments.suites.image_pipelines import PIPELINES, pipeline
from experiments.words import describe_plan
from generator.decisions.base import Known
from generator.decisions.deciding import decide
from generator.errors import IllegalPlan
from generator.explain import explain
from generator.frontend_py.problem import program_of as pipeline_program
from generator.frontend_py.problem import read_pipeline
from generator.lowering import lower
from generator.lowering.analysis.planned import cut_kernels
from generator.lowering.analysis.shapes import KernelShape, kernel_shapes
from generator.lowering.analysis.stage_work import stage_work
from generator.nest import Level
from generator.plan import KernelPlan, Plan, plan_from_json
from generator.polyhedral.pipelines.dataflow import dataflow
from generator.polyhedral.pipelines.sections import kernels_of
from generator.polyhedral.pipelines.stage_facts import computed_arrays, stage_facts
from generator.problem import Problem
from generator.program import Program
from generator.schedules.stages import Stages
from generator.target import LANGUAGES
from graph.stage_openings import openings
from tests.support import whole_tiles
from tests.support.devices import check_plans, device_named, has_intel
from tests.support.interpreter import run_original
from tests.support.orders import differences
from tests.support.plans import TARGET, run_plan
from tests.support.slow import few, in_turn
from tests.support.space_plans import lowered
from tests.support.stages import SMALL, case, offered_plans
from tests.support.suite import small_problem
from tests.support.targets import HOPPER
from tests.support.watched_gpu import WatchedGpu

WIDTH, HEIGHT = 37, 26
NO_WHOLE = ("blur", "matmul", "conv_layer")
"""Programs without such plans: they have too few stages, or none."""

BOTH = Stages((("one", "block"), ("two", "block")))


def chain() -> Program:
    return pipeline_program([whole_tiles.chain()], [WIDTH, HEIGHT])


def window() -> Program:
    return pipeline_program([whole_tiles.window()], [13, 11])


def plan(program: Program, schedule: Stages, tile: tuple[int, ...], block: tuple[int, ...], whole: tuple[str, ...],
         walk: int = 0, level: Level = "block", inner_tile: int = 1) -> Plan:
    kernels = tuple(
        KernelPlan(kernel.statements, tile, block, walk=walk, level=level, inner_tile=inner_tile,
                   whole=whole if any(stage.where == "block" for stage in kernel.section.program.stages) else ())
        for kernel in kernels_of(program, schedule))
    return Plan(schedule, kernels)


def check(program: Program, found: Plan) -> None:
    memory = run_plan(program, found, np.random.default_rng(1))
    assert not differences(program, memory, run_original(program)), found.to_json()


STEPS = [
    ((8, 64), (1, 1), 1, "block"), ((8, 16), (1, 8), 2, "block"), ((12, 16), (2, 8), 4, "block"),
    ((5, 5), (5, 5), 5, "block"), ((16, 64), (4, 2), 2, "thread"), ((16, 64), (1, 64), 2, "sub-group"),
]
CASES = [(*step, whole) for whole in (("one",), ("one", "two")) for step in STEPS]


@pytest.mark.parametrize(("tile", "block", "walk", "level", "whole"), few(
    CASES, 2))
def test_what_blocks_that_walk_compute_is_right(tile: tuple[int, ...], block: tuple[int, ...], walk: int, level: Level,
                                                whole: tuple[str, ...]) -> None:
    check(chain(), plan(chain(), BOTH, tile, block, whole, walk, level))


SUMS = Stages((("one", "block"), ("row", "block")))


@pytest.mark.parametrize(("whole", "inner_tile"), few(
    [((), 2), (("one",), 4), (("row",), 2), (("one", "row"), 4),
     ((), 4), (("one",), 2), (("row",), 4), (("one", "row"), 2)], 2))
def test_what_blocks_with_inner_tiles_compute_is_right(whole: tuple[str, ...], inner_tile: int) -> None:
    check(window(), plan(window(), SUMS, (4, 8), (2, 4), whole, inner_tile=inner_tile))


def test_inner_tiles_no_longer_compute_the_same_again() -> None:
    """Each of three inner tiles reads nearly all of `row`."""
    times = {whole: next(works["row"].times for works in stage_work(window(), plan(
        window(), SUMS, (16, 16), (2, 4), whole, inner_tile=2), LANGUAGES["opencl"]).values() if works)
             for whole in ((), ("row",))}
    assert times[("row",)] == 1 and times[()] > 1.5


def test_the_box_of_the_whole_tile_is_filled_before_the_steps() -> None:
    text = lower(chain(), plan(chain(), BOTH, (8, 16), (1, 8), ("one",), 2), TARGET).source
    first, second = text.index("// all threads compute one_here (11 x 17 elements)"), text.index("steps of this block")
    assert first < second < text.index("compute what is new of two_here")
    steps = lower(chain(), plan(chain(), BOTH, (8, 16), (1, 8), (), 2), TARGET).source
    assert steps.index("steps of this block") < steps.index("compute what is new of one_here")
    tiles = lower(window(), plan(window(), SUMS, (4, 8), (2, 4), ("row",), inner_tile=2), TARGET).source
    assert tiles.index("compute row_here (14 elements)") < tiles.index("tile of") < tiles.index("compute one_here")


@pytest.mark.parametrize(("whole", "changes", "essence"), [
    (("two",), {}, "`two` of the whole tile .* from `one`, which would be computed for each step"),
    (("out",), {}, "`out` of the whole tile .*: the blocks of this kernel compute one, two"),
    (("one",), {"walk": 0, "in_registers": 5, "level": "sub-group", "tile": (8, 64), "block": (1, 32)},
     "not with tiles partly in registers"),
    (("one",), {"walk": 0}, r"stages of the whole tile \(one\) .* has none: leave `whole` out"),
    (("one",), {"walk": 0, "tile": (32, 64)}, "has none: leave `whole` out"),
])
def test_refused(whole: tuple[str, ...], changes: dict[str, object], essence: str) -> None:
    found = plan(chain(), BOTH, (8, 16), (1, 8), whole, 2)
    kernels = tuple(replace(kernel, **changes) for kernel in found.kernels)  # type: ignore[arg-type]  # names of fields
    with pytest.raises(IllegalPlan, match=essence):
        lower(chain(), replace(found, kernels=kernels), TARGET)


def test_words_and_json() -> None:
    found = plan(chain(), BOTH, (8, 16), (1, 8), ("one",), 2)
    assert plan_from_json(found.to_json()) == found
    assert "whole" not in plan(chain(), BOTH, (8, 16), (1, 8), (), 2).to_json(), "stored plans have no such field"
    assert any(line.endswith("stages of the whole tile one") for line in describe_plan(found))
    assert "a block computes all that its tile needs of one" in explain(chain(), found, SMALL)


def test_models_of_pipelines_know_them_in_blocks_that_walk() -> None:
    program = chain()
    for whole in (("one",), ()):
        [cut] = cut_kernels(program, plan(program, BOTH, (8, 16), (1, 8), whole, 2), dataflow(program))
        assert (cut.whole, cut.stored.refusal) == (whole, "")
    [cut] = cut_kernels(program, plan(program, BOTH, (8, 16), (1, 8), ("one",), 0), dataflow(program))
    assert cut.stored.refusal == "it computes one for whole tiles, the rest for each inner tile"


@pytest.mark.parametrize("walk", [1, 2, 4])
def test_the_room_that_a_search_expects(walk: int) -> None:
    """Of blocks in the middle, with rows in rings."""
    [shape] = kernel_shapes(chain(), BOTH)
    assert shape.apart == (("one",), ("one", "two"))
    held = shape.walking(walk).holding(("one",))
    for tile in ((8, 8), (8, 16)):
        [kernel] = lower(chain(), plan(chain(), BOTH, tile, (1, 8), ("one",), walk), TARGET).kernels
        assert held.shared_bytes(tile, 1, copies=False) == kernel.local_bytes


@in_turn
@pytest.mark.parametrize("count", few([100, 200], 1))
def test_what_is_offered(count: int) -> None:
    seen = set[tuple[bool, bool, tuple[str, ...]]]()
    for program in (chain(), window()):
        for found in offered_plans(program, SMALL, count, 3):
            seen |= {(kernel.walk > 0, kernel.inner_tile != 1, kernel.whole) for kernel in found.kernels}
    assert {whole for walks, _, whole in seen if walks} >= {(), ("one",)}
    assert {whole for walks, tiled, whole in seen if tiled and not walks} >= {(), ("one",), ("row",)}
    assert all(walks or tiled for walks, tiled, whole in seen if whole), "there is a loop inside"
    assert (True, False, ("one", "two")) not in seen, "nothing would be left for the steps"


# Devices

def problems() -> list[tuple[Problem, Plan]]:
    """Both programs with data, and a plan of each."""
    steps, tiles = (read_pipeline(Path(whole_tiles.__file__), name, {"width": width, "height": height}, 3)
                    for name, width, height in (("chain", WIDTH, HEIGHT), ("window", 13, 11)))
    return [(steps, plan(steps.program, BOTH, (8, 16), (2, 8), ("one",), 2)),
            (tiles, plan(tiles.program, SUMS, (4, 8), (2, 4), ("row",), inner_tile=2))]


DEVICES = ["PoCL", pytest.param("Intel OpenCL", marks=pytest.mark.skipif(
    not has_intel(), reason="the extra `intel` is not installed"))]


@in_turn
@pytest.mark.parametrize("platform", DEVICES)
def test_results_on_devices(platform: str) -> None:
    for found, one in problems():
        check_plans(device_named(platform), found, [one])


@in_turn
def test_cuda_has_no_races(watched_gpu: WatchedGpu) -> None:
    steps, tiles = problems()
    for found, one in (tiles, steps):
        watched_gpu.check(found, [one])
    # between the box and the steps
    watched_gpu.check_fault(*steps, "race in shared memory", "__syncthreads();")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(150))
def test_random_pipelines(seed: int) -> None:
    """Plans of the space in which some stages are of the whole tile, run in Python with checked accesses."""
    found, original = case(seed), None
    target = replace(SMALL, shares_host_cores=seed % 2 == 0)
    for one in offered_plans(found.program, target, 12, seed):
        if not any(kernel.whole for kernel in one.kernels):
            continue
        one = replace(one, placement=())
        original = original or run_original(found.program)
        try:
            memory = run_plan(found.program, one, np.random.default_rng(seed))
        except IllegalPlan as illegal:
            assert "barrier would stand" in str(illegal) or "loops do not run" in str(illegal), one.to_json()
            continue
        assert not differences(found.program, memory, original), one.to_json()


@pytest.mark.slow
@pytest.mark.parametrize("platform", DEVICES)
@pytest.mark.parametrize("name", [program.name for program in PIPELINES])
def test_random_plans_on_devices(name: str, platform: str) -> None:
    found, device = small_problem(pipeline(name))[0], device_named(platform)
    plans = [one for one in offered_plans(found.program, device.target, 60, 3)
             if any(kernel.whole for kernel in one.kernels)][:4]
    assert plans or name in NO_WHOLE
    check_plans(device, found, [one for one in plans if lowered(found.program, one, device.target)])


@pytest.mark.parametrize("name", ["bilateral_grid", "conv_layer"])
def test_unroll_factors_and_steps_on_offer_leave_room_for_stages(name: str) -> None:
    """Inner tiles are larger than unroll factors, and blocks that walk have none."""
    program, target = small_problem(pipeline(name))[0].program, replace(HOPPER, local_bytes=4096)
    cpu = replace(target, shares_host_cores=True)  # searches on GPUs begin with long sums stored
    schedules = [one for one in openings(stage_facts(program), cpu, computed_arrays(program)) if one.computed]
    rng, kernels = np.random.default_rng(3), list[KernelPlan]()
    for shape in (one for schedule in schedules for one in kernel_shapes(program, schedule, LANGUAGES["cuda"])):
        for _ in range(4 if shape.computes else 0):
            kernels.append(decide(Known(shape, target, True), lambda q: q.options[int(rng.integers(len(q.options)))]))
            assert not (kernels[-1].walk or kernels[-1].unroll > 1) or room(shape, kernels[-1]) <= target.local_bytes
    assert any(kernel.unroll > 1 for kernel in kernels)


def room(shape: KernelShape, kernel: KernelPlan) -> int:
    """The shared memory of the stages."""
    shape = shape.ordered(kernel.order)
    shape = shape.walking(kernel.walk) if kernel.walk else shape
    shape = shape.holding(kernel.whole) if kernel.whole else shape
    return shape.shared_bytes(kernel.tile, kernel.inner_tile, kernel.padding, copies=False)
