"""Stages of several levels in one kernel: some computed by the block for all of its tiles, some by smaller teams."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.suites.image_pipelines import PIPELINES, pipeline
from experiments.words import describe_plan
from generator.errors import IllegalPlan, InputError
from generator.explain import explain
from generator.frontend_py.problem import program_of as pipeline_program
from generator.frontend_py.problem import read_pipeline
from generator.lowering import lower
from generator.lowering.analysis.planned import cut_kernels
from generator.lowering.analysis.shapes import kernel_shapes
from generator.lowering.analysis.stage_work import stage_work
from generator.lowering.memory.outer import teams_of
from generator.nest import Barrier, Declare, For, If, Level, Levels, walk
from generator.plan import KernelPlan, Plan, plan_from_json
from generator.polyhedral.memory.boxes import Around, stage_boxes
from generator.polyhedral.memory.tile_boxes import tile_box
from generator.polyhedral.pipelines.dataflow import dataflow
from generator.polyhedral.pipelines.levels import MOST_CUTS, check_levels, cuts_of
from generator.polyhedral.pipelines.sections import kernels_of
from generator.polyhedral.pipelines.stage_facts import computed_arrays, stage_facts
from generator.polyhedral.pipelines.whole import made_from
from generator.problem import Problem
from generator.program import Program
from generator.schedules.stages import Stages
from generator.target import LANGUAGES
from graph.stage_openings import openings
from runners.cuda.compiler import Nvrtc
from tests.support import whole_tiles
from tests.support.cuda_compiler import ELF, translator
from tests.support.devices import check_plans, device_named, has_intel
from tests.support.interpreter import run_original
from tests.support.levels import leveled, random_leveled
from tests.support.memory import Memory
from tests.support.orders import differences
from tests.support.plans import TARGET, lowered_kernels, run_plan
from tests.support.slow import few, in_turn
from tests.support.space_plans import FORESEEN, lowered
from tests.support.stages import SMALL, case, offered_plans
from tests.support.suite import small_problem
from tests.support.targets import HOPPER
from tests.support.watched_gpu import WatchedGpu

WIDTH, HEIGHT = 37, 26
BOTH = Stages((("one", "block"), ("two", "block")))
ONE: Levels = (("one", "block"),)
STEP: Levels = (("one", "block"), ("two", "sub-group"))
THREAD = KernelPlan(("S0",), (8, 16), (2, 8), level="thread", levels=ONE)
WARP = KernelPlan(("S0",), (8, 64), (2, 32), level="sub-group", levels=ONE)


def chain(height: int = HEIGHT) -> Program:
    return pipeline_program([whole_tiles.chain()], [WIDTH, height])


@lru_cache
def low_chain() -> tuple[Program, Memory]:
    """A chain of fewer rows, for the interpreter, and its results."""
    program = chain(17)
    return program, run_original(program)


def plan(kernel: KernelPlan, **more: object) -> Plan:
    return leveled(chain(), BOTH, kernel, **more)


def check(program: Program, found: Plan, original: Memory) -> None:
    memory = run_plan(program, found, np.random.default_rng(1))
    assert not differences(program, memory, original), found.to_json()


@in_turn
@pytest.mark.parametrize(("kernel", "more"), few([
    (THREAD, {}), (WARP, {}),
    (THREAD, {"tile": (8, 64), "block": (2, 32), "levels": STEP}),
    (THREAD, {"tile": (16, 64), "block": (4, 2), "walk": 2, "whole": ("two",)}),
    (THREAD, {"tile": (9, 15), "block": (3, 5), "padding": 1}),
    (THREAD, {"order": (1, 0)}),
    (WARP, {"tile": (6, 96), "block": (1, 96), "walk": 2}),
    (THREAD, {"tile": (8, 64), "block": (2, 32), "levels": (("one", "sub-group"),)}),
    (THREAD, {"tile": (8, 64), "block": (2, 32), "levels": (("one", "sub-group"), ("two", "sub-group"))}),
    (THREAD, {"tile": (16, 64), "block": (4, 2), "walk": 2}),
    (THREAD, {"levels": (("one", "block"), ("two", "block"))}),
    (THREAD, {"tile": (16, 64), "block": (1, 1), "walk": 2}),
], 7))
def test_what_kernels_compute_is_right(kernel: KernelPlan, more: dict[str, object]) -> None:
    """In Python, with every access checked: no team sees what another one has in its box, nobody reads too early."""
    program, original = low_chain()
    check(program, leveled(program, BOTH, kernel, **more), original)


def test_inner_tiles_read_boxes_of_the_block() -> None:
    program = pipeline_program([whole_tiles.window()], [13, 7])
    sums = Stages((("one", "block"), ("row", "block")))
    kernel = replace(THREAD, tile=(4, 8), block=(2, 4), levels=(("row", "block"),))
    original = run_original(program)
    for inner_tile in (1, 2):
        check(program, leveled(program, sums, kernel, inner_tile=inner_tile), original)


def test_the_block_fills_its_boxes_before_its_teams_begin() -> None:
    """All threads reach its barrier, also those without a tile."""
    [kernel] = lowered_kernels(chain(), plan(THREAD))
    assert [(box.name, box.sizes) for box in kernel.shared] == [("one_here", (11, 17))]
    [barrier] = [k for k, node in enumerate(kernel.body) if isinstance(node, Barrier)]
    assert [node for node in walk(kernel.body) if isinstance(node, Barrier)] == [Barrier()]
    assert any(isinstance(node, For) for node in kernel.body[:barrier])
    [teams] = kernel.body[barrier + 1:]
    assert isinstance(teams, If), "7 x 19 tiles of threads are no whole blocks"
    assert [node.name for node in walk((teams,)) if isinstance(node, Declare) and node.sizes] == ["two_here"]
    assert kernel.grid == (3, 4)


def test_three_levels_in_one_kernel() -> None:
    [kernel] = lowered_kernels(chain(), plan(THREAD, tile=(8, 64), block=(2, 32), levels=STEP))
    assert [box.sizes for box in kernel.shared] == [(11, 38), (2, 5, 38)], "one of the block, one for each warp"
    assert [node for node in walk(kernel.body) if isinstance(node, Barrier)] == [Barrier(), Barrier("sub-group")]
    teams = teams_of(plan(THREAD, tile=(8, 64), block=(2, 32), levels=STEP).kernels[0], LANGUAGES["cuda"])
    assert teams.around == (Around(("two",), (1, 32)), Around(("one",), (2, 32)))
    assert teams.plan.tile == (4, 2)


def test_a_block_computes_as_many_elements_as_in_a_kernel_of_its_level() -> None:
    """12 blocks of 8 x 16 points compute 11 x 17 elements of `one` each."""
    for found in (plan(THREAD), plan(THREAD, level="block", levels=())):
        [works] = stage_work(chain(), found, LANGUAGES["opencl"]).values()
        assert works["one"].evaluations == 12 * 11 * 17 and works["one"].box == (11, 17)


@pytest.mark.parametrize("dialect", ["opencl", "cuda"])
def test_text(dialect: str, golden: Callable[[str, str], None]) -> None:
    target = replace(TARGET, sub_group=32) if dialect == "opencl" else HOPPER
    source = lower(chain(), plan(THREAD, tile=(8, 64), block=(2, 32), levels=STEP), target).source
    golden(f"levels.{'cl' if dialect == 'opencl' else 'cu'}", source)


# Checks

@pytest.mark.parametrize(("more", "words"), [
    ({"levels": (("two", "block"),)}, "`two` with the level block .* from `one`, which a thread keeps for itself"),
    ({"levels": (("one", "sub-group"), ("two", "block")), "tile": (8, 64), "block": (2, 32)},
     "`two` with the level block .* from `one`, which a sub-group keeps for itself: give `one` the level block, too"),
    ({"levels": (("out", "block"),)}, "`out` with the level block .*: its blocks compute one, two"),
    ({"level": "block"}, r"`one` with the level block .*: its tiles are shared by a block \(`level`\), so only stages"),
    ({"level": "sub-group", "levels": (("one", "sub-group"),), "tile": (8, 64), "block": (2, 32)}, "leave it out, or"),
    ({"walk": 1, "tile": (8, 16), "whole": ("one",)}, "`one` of the whole tile .* has a level of its own"),
    ({"in_registers": 5, "level": "sub-group", "tile": (8, 64), "block": (1, 32)}, "leave out `levels`"),
    ({"tile": (8, 48), "block": (1, 48), "levels": STEP}, "has no whole sub-groups of 32 threads"),
])
def test_refused(more: dict[str, object], words: str) -> None:
    with pytest.raises(IllegalPlan, match=words):
        lower(chain(), plan(THREAD, **more), TARGET)


@pytest.mark.parametrize("end", ["lexmin", "lexmax"])
@pytest.mark.parametrize("array", ["one", "two"])
def test_boxes_are_checked(array: str, end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A box without its first or last element, which somebody reads."""
    (kernel,) = kernels_of(chain(), BOTH)
    asked = (kernel.section.program, kernel.part, (4, 8), 1, 0, 0, (), (Around(("one",), (2, 2)),))
    assert [box.array for box in stage_boxes(*asked)] == ["two"]

    def smaller(name: str, *details: Any, **more: Any) -> Any:
        box, elements = tile_box(name, *details, **more)
        return box, elements.subtract(getattr(elements, end)()) if name == array else elements

    monkeypatch.setattr("generator.polyhedral.memory.boxes.tile_box", smaller)
    monkeypatch.setattr("generator.polyhedral.memory.boxes._boxes_around",
                        stage_boxes.__wrapped__.__globals__["_boxes_around"].__wrapped__)
    with pytest.raises(IllegalPlan, match="a block would"):
        stage_boxes.__wrapped__(*asked)


# Plans and searches

def test_words_and_json() -> None:
    found = plan(THREAD)
    assert plan_from_json(found.to_json()) == found and found.digest != plan(THREAD, levels=()).digest
    assert "levels" not in plan(THREAD, levels=()).to_json(), "stored plans have no such field"
    assert any("stages with a level of their own one by the block" in line for line in describe_plan(found))
    text = explain(chain(), found, SMALL)
    assert "the threads of a block compute one together, before each thread computes its tile" in text
    assert "computes stages in its blocks, of several levels" in text, "one number would not be that of each"
    for wrong in ('[["one","thread"]]', '[["two","block"],["one","block"]]', '["one"]'):
        with pytest.raises(InputError, match=r"levels is .*; use a list of \[array, level\]"):
            plan_from_json(found.to_json().replace('[["one","block"]]', wrong, 1) if wrong != '["one"]' else
                           found.to_json().replace('"levels":[["one","block"]]', f'"levels":{wrong}', 1))


def test_models_of_pipelines_refuse_them() -> None:
    [cut] = cut_kernels(chain(), plan(THREAD), dataflow(chain()))
    assert cut.stored.refusal == "it computes one by each block, the rest by each thread"


@pytest.mark.parametrize("tile", [(8, 8), (8, 16)])
def test_the_room_that_a_search_expects(tile: tuple[int, int]) -> None:
    """Of a block in the middle: the boxes of the block and of its warps."""
    [shape] = kernel_shapes(chain(), BOTH)
    inner, outside = shape.without(("one",), (2 * tile[0], 64), 1)
    expected = outside + 2 * inner.shared_bytes((tile[0], 64), 1, 1, copies=False)
    [kernel] = lowered_kernels(chain(), plan(WARP, tile=(2 * tile[0], 64), padding=1))
    assert expected >= kernel.local_bytes >= 0.6 * expected, "rows end where the image does, 37 points wide"


@in_turn
@pytest.mark.parametrize("target", [SMALL, HOPPER])
def test_what_is_offered(target: Any) -> None:
    seen = Counter[tuple[Level, Levels]]()
    for found in offered_plans(chain(), target, 120, 3):
        for kernel in found.kernels:
            seen[kernel.level, kernel.levels] += 1
    assert seen["thread", ONE] and seen["block", ()] and seen["thread", ()]
    assert not seen["block", ONE], "then it is no level of its own"
    assert bool(seen["sub-group", ONE]) is (target is HOPPER)
    assert {levels for _, levels in seen} == {(), ONE}, "and not all stages: then no other would be left"


@pytest.mark.parametrize("name", ["harris", pytest.param("camera_pipe", marks=pytest.mark.slow)])
def test_cuts_are_few_and_closed(name: str) -> None:
    program, seen = small_problem(pipeline(name))[0].program, 0
    for schedule in openings(stage_facts(program), SMALL, computed_arrays(program)):
        for one in kernels_of(program, schedule):
            inside, statements = one.section.program, one.part.statements
            cuts = cuts_of(inside, statements)
            assert len(cuts) <= MOST_CUTS and len(set(cuts)) == len(cuts)
            for cut in cuts:
                assert cut and set(cut) < set(made_from(inside, statements))
                check_levels(inside, statements, "thread", tuple((stage, "block") for stage in cut))
            seen += len(cuts)
    assert seen


# Random plans and devices

@in_turn
@pytest.mark.parametrize("level", ["sub-group", "thread"])
@pytest.mark.parametrize("seed", few(range(60), 1))
def test_random_levels_are_right(seed: int, level: Level) -> None:
    program, rng, seen, original = case(seed).program, np.random.default_rng(seed), Counter[str](), None
    for _ in range(12):
        try:
            found = random_leveled(program, rng, level)
        except IllegalPlan:
            continue
        original = original or run_original(program)
        try:
            memory = run_plan(program, found, np.random.default_rng(seed))
        except IllegalPlan as illegal:
            assert any(words in str(illegal) for words in FORESEEN), (found.to_json(), illegal)
            continue
        assert not differences(program, memory, original), found.to_json()
        seen["right"] += 1
        if seen["right"] == 2:
            return


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(150))
def test_random_plans_of_the_space(seed: int) -> None:
    """Those in which stages have levels of their own."""
    found, original = case(seed), None
    target = SMALL if seed % 2 else replace(SMALL, sub_group=32, max_threads=64)
    for one in offered_plans(found.program, target, 20, seed):
        if not any(kernel.levels for kernel in one.kernels):
            continue
        one = replace(one, placement=())
        original = original or run_original(found.program)
        try:
            memory = run_plan(found.program, one, np.random.default_rng(seed))
        except IllegalPlan as illegal:
            assert any(words in str(illegal) for words in FORESEEN), (one.to_json(), illegal)
            continue
        assert not differences(found.program, memory, original), one.to_json()


def problem() -> Problem:
    """The chain with data."""
    return read_pipeline(Path(whole_tiles.__file__), "chain", {"width": WIDTH, "height": HEIGHT}, 3)


INTEL = pytest.param("Intel OpenCL", marks=pytest.mark.skipif(
    not has_intel(), reason="the extra `intel` is not installed"))


@in_turn
@pytest.mark.parametrize("platform", ["PoCL", INTEL])
def test_results_on_devices(platform: str) -> None:
    device = device_named(platform)
    plans = [plan(THREAD), plan(THREAD, tile=(16, 64), block=(4, 2), walk=2)]
    if device.target.sub_group:
        plans += [plan(WARP), plan(THREAD, tile=(8, 64), block=(2, 32), levels=STEP)]
    check_plans(device, problem(), plans)


@pytest.mark.slow
@pytest.mark.parametrize("platform", ["PoCL", INTEL])
@pytest.mark.parametrize("name", [program.name for program in PIPELINES])
def test_random_plans_on_devices(name: str, platform: str) -> None:
    found, device = small_problem(pipeline(name))[0], device_named(platform)
    plans = [one for one in offered_plans(found.program, device.target, 80, 3)
             if any(kernel.levels for kernel in one.kernels)][:4]
    check_plans(device, found, [one for one in plans if lowered(found.program, one, device.target)])


@in_turn
def test_cuda_has_no_races(watched_gpu: WatchedGpu) -> None:
    steps = plan(THREAD, tile=(8, 64), block=(2, 32), levels=STEP)
    watched_gpu.check(problem(), [plan(THREAD), plan(WARP), steps])
    # between the box of the block and the teams
    watched_gpu.check_fault(problem(), steps, "race in shared memory", "__syncthreads();")


def test_nvrtc_compiles_them() -> None:
    target = replace(HOPPER, capability=(8, 0))
    for found in (plan(THREAD), plan(WARP), plan(THREAD, tile=(8, 64), block=(2, 32), levels=STEP)):
        cubin, log = translator(Nvrtc).translate(lower(chain(), found, target).source, (8, 0))
        assert cubin.startswith(ELF) and "warning" not in log
