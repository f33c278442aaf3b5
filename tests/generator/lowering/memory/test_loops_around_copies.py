"""Shared copies inside several sequential loops: what they hold, that results stay, where they are on offer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from experiments.suites.image_pipelines import pipeline
from generator.decisions.base import Known
from generator.decisions.deciding import nearest
from generator.errors import IllegalPlan
from generator.explain import explain
from generator.lowering import lower
from generator.lowering.analysis.shapes import KernelShape, kernel_shapes
from generator.lowering.heuristics.starts import start_plans
from generator.lowering.memory.staging import CopiedBox
from generator.nest import Assign, walk
from generator.plan import KernelPlan, Plan, plan_from_json
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from generator.schedules.stages import Stages
from generator.target import LANGUAGES
from runners.base import DeviceInfo
from runners.cuda.compiler import Nvrtc
from tests.support.cuda_compiler import ELF, translator
from tests.support.devices import check_plans, device_named, has_intel
from tests.support.gpu_plans import gpu_plans
from tests.support.interpreter import run_original
from tests.support.orders import differences
from tests.support.plans import lowered_kernels, random_kernel, run_plan
from tests.support.programs import program_of, scop
from tests.support.slow import counted, in_turn
from tests.support.suite import pipeline_program, small_problem
from tests.support.targets import CPU, HOPPER
from tests.support.watched_gpu import WatchedGpu

_SUM = ("for (i = 0; i < 7; i++) for (j = 0; j < 9; j++) {{ Y[i][j] = V[j]; "
        "for (int p = 0; p < 3; p++) for (int q = 0; q < {count}; q++) for (k = 0; k < 6; k++) "
        "Y[i][j] += W[p][q][k][j] * X[i + p][2 - q][k]; }}")
_ARRAYS = "int Y[7][9], V[9], W[3][3][6][9], X[9][3][6];"

CONVOLUTION = program_of(scop(_SUM.format(count=3), _ARRAYS))
"""Three loops of a sum, whose order must stay."""

MIXED = program_of(scop(_SUM.format(count=2), _ARRAYS))
"""The same, for which isl counts through all three in one loop, and then in others."""

SEQUENCE = program_of(scop(
    "for (i = 0; i < 7; i++) for (j = 0; j < 9; j++) for (int p = 0; p < 3; p++) { "
    "for (k = 0; k < 6; k++) Y[i][j] += W[p][k][j] * X[i][p][k]; "
    "for (int l = 0; l < 5; l++) Y[i][j] += U[l][j] * V[2 * i + p][l]; }",
    "int Y[7][9], W[3][6][9], X[7][3][6], U[5][9], V[15][5];"))
"""A loop around two sums, one after the other."""

RANGES = program_of(scop(
    "for (i = 0; i < 7; i++) for (j = 0; j < 9; j++) for (int p = 0; p < 4; p++) { "
    "for (k = 0; k < 6; k++) Y[i][j] += W[p][k][j] * X[i][p][k]; "
    "for (int l = 2; l <= p; l++) Y[i][j] += U[l][j] * V[2 * i + p][l]; }",
    "int Y[7][9], W[4][6][9], X[7][4][6], U[5][9], V[16][5];"))
"""The second sum has terms only from p = 2 on."""

LAUNCHED = program_of(scop(
    "for (int t = 1; t < 4; t++) for (i = 0; i < 7; i++) for (j = 0; j < 9; j++) "
    "for (int p = 0; p < 3; p++) for (k = 0; k < 6; k++) "
    "Y[t][i][j] += W[p][k][j] * X[2 * t + i + p][k] + Y[t - 1][6 - i][8 - j];",
    "int Y[4][7][9], W[3][6][9], X[15][6];"))
"""A launch per value of t, on which X depends."""

PROGRAMS = {"convolution": CONVOLUTION, "mixed": MIXED, "sequence": SEQUENCE, "ranges": RANGES, "launched": LAUNCHED}
DEFAULT = ScheduleChoice()
TILES = KernelPlan(("S0", "S1"), (4, 8), (4, 8), shared=True, inner_tile=4)
DEVICES = ["PoCL", pytest.param("Intel OpenCL", marks=(pytest.mark.slow, pytest.mark.skipif(
    not has_intel(), reason="the extra `intel` is not installed")))]


def shape_of(program: Program) -> KernelShape:
    return max(kernel_shapes(program, DEFAULT, LANGUAGES["cuda"]), key=lambda shape: shape.depths)


def copies(program: Program, plan: Plan) -> dict[str, tuple[int, ...]]:
    """The boxes of all copies, by array."""
    return {box.array: box.box for kernel in lowered_kernels(program, plan, "cuda") for box in kernel.shared
            if isinstance(box, CopiedBox)}


def inside(program: Program, depth: int, kernel: KernelPlan = TILES) -> Plan:
    """The plan of a program with one kernel."""
    return Plan(DEFAULT, (replace(kernel, statements=tuple(sorted(s.name for s in program.statements)), depth=depth),))


def test_a_copy_holds_one_value_of_each_loop_around_it() -> None:
    """Of the inner loops, at depth 0 only the first is tiled: rows of X for all q and k."""
    assert [copies(CONVOLUTION, inside(CONVOLUTION, depth)) for depth in range(3)] == [
        {"V": (8,), "W": (3, 3, 6, 8), "X": (6, 3, 6)}, {"W": (1, 3, 6, 8), "X": (4, 3, 6)},
        {"W": (1, 1, 4, 8), "X": (4, 1, 4)}]
    assert copies(SEQUENCE, inside(SEQUENCE, 1)) == {"W": (1, 4, 8), "X": (4, 1, 4), "U": (4, 8), "V": (7, 4)}
    assert copies(LAUNCHED, inside(LAUNCHED, 1)) == {"W": (1, 4, 8), "X": (4, 4)}
    assert "X" not in copies(LAUNCHED, inside(LAUNCHED, 0)), "as stored plans have it"


@pytest.mark.parametrize(("depth", "changes", "words"), [
    (3, {}, "of its sequential loops in one another, at most 2 can be around them"),
    (1, {"shared": False}, "without shared memory nothing is copied; leave it out"),
    (2, {"uncopied": ("W", "X")}, "no array is worth a copy there; leave it out"),
])
def test_what_cannot_be_is_refused(depth: int, changes: dict[str, object], words: str) -> None:
    with pytest.raises(IllegalPlan, match=f"^{depth} loops around copies of S0, S1: {words}$"):
        lower(CONVOLUTION, inside(CONVOLUTION, depth, replace(TILES, **changes)), HOPPER)  # type: ignore[arg-type]  # any


def test_stages_in_blocks_are_refused() -> None:
    program, schedule = pipeline_program("blur", "small"), Stages((("blur_x", "block"),))
    shape, = kernel_shapes(program, schedule, LANGUAGES["cuda"])
    assert not shape.depths
    kernel = KernelPlan(shape.statements, (8, 32), (8, 32), shared=True, depth=1)
    with pytest.raises(IllegalPlan, match="its blocks compute stages there; leave it out"):
        lower(program, Plan(schedule, (kernel,)), HOPPER)


def test_it_is_on_offer_and_in_json() -> None:
    assert [shape_of(program).depths for program in PROGRAMS.values()] == [(1, 2), (1,), (1,), (1,), (1,)]
    plan = inside(CONVOLUTION, 2)
    assert plan_from_json(plan.to_json()) == plan and '"depth"' not in inside(CONVOLUTION, 0).to_json()
    [kernel], shape = plan.kernels, shape_of(CONVOLUTION)
    assert nearest(kernel, Known(shape, HOPPER, True)) == kernel
    for target, wide in ((CPU, True), (HOPPER, False)):
        assert not nearest(kernel, Known(shape, target, wide)).depth, "not on CPUs, nor in the paper's space"
    tight = replace(HOPPER, local_bytes=4 * (4 * 8 + 4 * 4))
    assert nearest(kernel, Known(shape, tight, True)) == kernel, "the only depth at which copies fit"
    assert nearest(replace(kernel, depth=1), Known(shape, tight, True)) == kernel
    assert "values of p around the copies" in lower(CONVOLUTION, plan, HOPPER).source
    assert any("loops around copies 2" in line for line in explain(CONVOLUTION, plan, HOPPER).splitlines())


@pytest.mark.parametrize("ahead", [False, True])
def test_loops_of_different_ranges_share_one_around_their_copies(ahead: bool) -> None:
    """V's copy begins at its row 2i + p, though its own values of p begin at 2, and those of the loop at 0."""
    plan = inside(RANGES, 1, replace(TILES, ahead=ahead))
    assert set(copies(RANGES, plan)) == {"U", "V", "W", "X"}
    memory = run_plan(RANGES, plan, np.random.default_rng(1), target=HOPPER)
    assert not differences(RANGES, memory, run_original(RANGES))


@pytest.mark.parametrize("inner_tile", [2, (2, 4), (4, 2)])
def test_plans_fall_back_to_no_copies(inner_tile: int | tuple[int, int]) -> None:
    """Not all threads would reach the barriers in OpenCL. Without copies, the kernel has one loop that can be tiled."""
    plan = inside(RANGES, 1, replace(TILES, tile=(6, 3), block=(2, 3), registers=True, inner_tile=inner_tile))
    [kernel] = lowered_kernels(RANGES, plan)
    assert not any(isinstance(box, CopiedBox) for box in kernel.shared)
    assert not differences(RANGES, run_plan(RANGES, plan, np.random.default_rng(1)), run_original(RANGES))


def random_deep(program: Program, rng: np.random.Generator, choice: ScheduleChoice = DEFAULT) -> Plan:
    """A plan with copies inside loops, if the kernel has these, with any other decisions."""
    kernels = []
    for shape in kernel_shapes(program, choice, LANGUAGES["cuda"]):
        kernel = random_kernel(shape.statements, len(shape.extents), rng)
        if shape.depths:
            kernel = replace(kernel, shared=True, depth=int(rng.choice(shape.depths)), exchange=False,
                             asynchronous=kernel.ahead and bool(rng.integers(2)))
        kernels.append(kernel)
    return Plan(choice, tuple(kernels))


@in_turn
@pytest.mark.parametrize(("name", "count"), counted(PROGRAMS, ("ranges", "launched"), 3, 60))
def test_random_plans_in_python(name: str, count: int) -> None:
    """All threads in random order between barriers, with every read of a copy compared with what it should be."""
    program, found = PROGRAMS[name], Counter[str]()
    right = run_original(program)
    for seed in range(count):
        rng = np.random.default_rng(seed)
        plan = random_deep(program, rng)
        try:
            memory = run_plan(program, plan, rng, target=HOPPER)
        except IllegalPlan as refused:
            assert "barrier" in str(refused) or "is unrolled completely" in str(refused), plan.to_json()
            continue
        assert not differences(program, memory, right), plan.to_json()
        found["right"] += 1
        for kernel in lowered_kernels(program, plan, "cuda"):
            boxes = {box.name for box in kernel.shared if isinstance(box, CopiedBox)}
            found["copies"] += any(isinstance(node, Assign) and node.target.array in boxes
                                   for node in walk(kernel.body))
    assert found["right"] > count // 2 and found["copies"] > count // 2, found


def deep_plans(device: DeviceInfo, name: str, count: int, *schedules: Stages) -> list[Plan]:
    """Random plans of a pipeline with copies inside loops, and the start plans that have them."""
    found = small_problem(pipeline(name))[0]
    target = replace(device.target, shares_host_cores=False)
    made = [plan for schedule in schedules for plan in start_plans(found.program, target, schedule)]
    made += gpu_plans(found.program, device.target, "o1", 4 * count, 5)
    deep = []
    for number, plan in enumerate(made):
        depths = {shape.statements: (*shape.depths, *shape.depths) for shape in
                  kernel_shapes(found.program, plan.scheduled, device.target.language)}
        kernels = tuple(replace(k, shared=True, depth=depths[k.statements][number % 2], walk=0, in_registers=0)
                        if depths[k.statements] else k for k in plan.kernels)
        deep.append(replace(plan, kernels=kernels))
    return deep


@in_turn
@pytest.mark.parametrize(("name", "count"), counted(("conv_layer", "depthwise_conv", "bilateral_grid"),
                                                    ("conv_layer",), 1, 8))
def test_no_races(name: str, count: int, watched_gpu: WatchedGpu) -> None:
    """On the stand-in driver, with images in launches of their own and together."""
    found = small_problem(pipeline(name))[0]
    watched_gpu.check(found, runnable(found.program, watched_gpu.device, name, count))


def runnable(program: Program, device: DeviceInfo, name: str, count: int) -> list[Plan]:
    """Those of `deep_plans` that can be lowered, with copies."""
    plans = []
    for plan in deep_plans(device, name, count, Stages(launches=True)):
        try:
            variant = lower(program, plan, device.target)
        except IllegalPlan:
            continue
        plans += [plan] if "_shared[" in variant.source else []
    few = plans[:count + 1] if count == 1 else plans
    assert len(few) > count, "most were refused"
    return few


@pytest.mark.slow
@pytest.mark.parametrize("platform", DEVICES)
@pytest.mark.parametrize(("name", "count"), counted(("conv_layer", "depthwise_conv", "bilateral_grid"),
                                                    ("conv_layer",), 1, 8))
def test_on_cpus(name: str, count: int, platform: str) -> None:
    device, found = device_named(platform), small_problem(pipeline(name))[0]
    check_plans(device, found, runnable(found.program, device, name, count))


@in_turn
def test_start_plans_of_a_convolution(golden: Callable[[str, str], None]) -> None:
    """With its images in launches of their own, copies of rows of channels, and 8 x 8 points per thread."""
    program = pipeline_program("conv_layer")
    starts = start_plans(program, HOPPER, Stages(launches=True))
    assert [plan.kernels[0].depth for plan in starts] == [0, 2, 2, 2, 2]
    assert starts[-1].kernels[0].tile == (1, 128, 128)
    source = lower(program, starts[1], HOPPER).source
    golden("convolution.cu", source)
    for plan in starts[1:]:
        assert translator(Nvrtc).translate(lower(program, plan, HOPPER).source, (9, 0))[0].startswith(ELF)
