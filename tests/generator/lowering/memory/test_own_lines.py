"""Lines of an array that single threads own: sums over cells whose bins data choose, outside of global memory.

In Python with every check of tests/support/machine.py, on the installed OpenCL devices and on the double of CUDA.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from experiments.search.spaces import make_reachable_space
from experiments.suites.image_pipelines import pipeline
from experiments.values.options import Budget, RunOptions
from generator.errors import IllegalPlan
from generator.explain import explain
from generator.frontend_c.source import Compilation
from generator.lowering.analysis.shapes import KernelShape, kernel_shapes
from generator.lowering.core.assemble import lower
from generator.lowering.heuristics.default import default_plan
from generator.lowering.heuristics.starts import start_plans
from generator.lowering.memory.lines import LineBox
from generator.nest import Atomic, Barrier, walk
from generator.plan import KernelPlan, Plan, plan_from_json
from generator.polyhedral.pipelines.stage_facts import computed_arrays, stage_facts
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from generator.schedules.partition import Group, Partition
from generator.schedules.stages import Stages
from graph.kernels import KernelSpace
from graph.optimization_graph import OptimizationGraph
from graph.policies import uniform
from graph.reaching import walk_to
from graph.stage_openings import openings
from runners.cuda.compiler import Nvrtc
from tests.support.cuda_compiler import translator
from tests.support.devices import check_plans, device_named, has_intel
from tests.support.interpreter import run_original
from tests.support.orders import differences
from tests.support.plans import TARGET, lowered_kernels, random_kernel, run_plan
from tests.support.programs import program_of, scop, write_c
from tests.support.reading import read_untimed
from tests.support.slow import counted, few, in_turn
from tests.support.suite import pipeline_program, small_problem
from tests.support.targets import CPU, HOPPER
from tests.support.watched_gpu import WatchedGpu

PLUTO = ScheduleChoice()
DECLARED = ("double h[7][9][6], g[6][7][9], old[7][9][6], w[42][6], q[12][6], v[7][9][5]; "
            "unsigned char b[7][9][5]; int c[7][9][4];")
ALL = "for (i = 0; i < 7; i++) for (j = 0; j < 9; j++) "
SUM = "for (k = 0; k < 5; k++) "

# Programs; the lines of a point; whether the kernel loads them.
CASES = {
    "bins last": (ALL + SUM + "h[i][j][b[i][j][k] % 6] += v[i][j][k];", (6,), True),
    "bins first": (ALL + SUM + "g[b[i][j][k] % 6][i][j] += v[i][j][k];", (6,), True),
    "not a sum": (ALL + SUM + "g[b[i][j][k] % 6][i][j] = 2 * g[b[i][j][4 - k] % 6][i][j] + v[i][j][k];", (6,), True),
    "two subscripts": (ALL + SUM + "c[i][j][b[i][j][k] & 3] ^= c[i][j][b[i][j][0] & 1] + k;", (4,), True),
    "guarded": (ALL + SUM + "if (v[i][j][k] > 0.5) h[i][j][b[i][j][k] % 6] += v[i][j][k];", (6,), True),
    "backwards": ("for (i = 6; i >= 0; i -= 2) for (j = 8; j >= 0; j--) " + SUM + "h[i / 2][j][b[i][j][k] % 6] += 1;",
                  (6,), True),
    "data choose the row": ("for (i = 0; i < 7; i++) " + SUM + "w[6 * i + b[i][0][k] % 6][b[i][1][k] % 6] += 1;", None,
                            True),
    "shifted": ("for (i = 2; i < 7; i++) for (j = 1; j < 8; j++) " + SUM + "h[i - 1][j + 1][b[i][j][k] % 6] += 1;",
                (6,), True),
    "triangle": ("for (i = 0; i < 7; i++) for (j = 0; j <= i; j++) " + SUM + "h[i][j][b[i][j][k] % 6] += 1;", (6,),
                 True),
    "cleared": (ALL + "{ for (k = 0; k < 6; k++) h[i][j][k] = 0; " + SUM + "h[i][j][b[i][j][k] % 6] += v[i][j][k]; }",
                (6,), False),
    "copied first": (ALL + "{ for (k = 0; k < 6; k++) old[i][j][k] = h[i][j][k]; " + SUM +
                     "h[i][j][b[i][j][k] % 6] += v[i][j][k]; }", (6,), True),
    "scattered": (ALL + SUM + "h[i][j][b[i][j][k] % 6] = v[i][j][k];", (6,), True),
    "partly cleared": (ALL + "{ for (k = 1; k < 6; k++) h[i][j][k] = 0; " + SUM +
                       "h[i][j][b[i][j][k] % 6] += v[i][j][k]; }", (6,), True),
    "cleared later": (ALL + "{ " + SUM + "h[i][j][b[i][j][k] % 6] += v[i][j][k]; v[i][j][0] = h[i][j][3]; "
                      "for (k = 0; k < 6; k++) h[i][j][k] = 0; }", (6,), True),
    "in some rows cleared": (ALL + "{ if (j < 4) for (k = 0; k < 6; k++) h[i][j][k] = 0; " + SUM +
                             "h[i][j][b[i][j][k] % 6] += v[i][j][k]; }", (6,), True),
    "overlapping boxes": ("for (i = 0; i < 6; i++) " + SUM +
                          "{ q[i][b[i][0][k] % 6] += 1; q[11 - i][b[i][1][k] % 6] += 1; }", None, True),
}


def program(name: str) -> Program:
    return program_of(scop(CASES[name][0], DECLARED))


def plan_of(program: Program, tile: tuple[int, ...] = (4, 8), block: tuple[int, ...] = (2, 4), **others: bool) -> Plan:
    """All kernels keep what lines their threads own."""
    schedule = one_kernel(program)
    kernels = (KernelPlan(s.statements, tile[:len(s.extents)], block[:len(s.extents)], combine="private",
                          points_inside=others.get("inside", False) and s.sequential)
               for s in kernel_shapes(program, schedule))
    return Plan(schedule, tuple(kernels))


def one_kernel(program: Program) -> Partition:
    """The statements share their parallel loops."""
    return Partition((Group(tuple(sorted(statement.name for statement in program.statements))),))


def check(program: Program, plan: Plan, seed: int = 1) -> list[LineBox]:
    """Run a plan in Python and compare; the lines of its kernels."""
    found = run_plan(program, plan, np.random.default_rng(seed))
    assert differences(program, found, run_original(program)) == {}, plan.to_json()
    return [box for kernel in lowered_kernels(program, plan) for box in kernel.shared if isinstance(box, LineBox)]


FAST = ("bins first", "backwards", "data choose the row", "cleared", "copied first", "partly cleared",
        "overlapping boxes")


@pytest.mark.parametrize("name", few(CASES, 3))
def test_threads_keep_their_lines(name: str) -> None:
    _, size, loaded = CASES[name]
    for inside in (False, True):
        boxes = check(program(name), plan_of(program(name), inside=inside))
        assert len(boxes) == (size is not None)
        for box in boxes:
            assert box.sizes == (*(size or ()), 4, 8)
            assert box.line.loaded == loaded


def test_lines_of_a_launch() -> None:
    """A host loop selects the lines; the next launch reads those of other threads."""
    text = ("for (t = 0; t < 3; t++) { for (i = 0; i < 7; i++) for (k = 0; k < 5; k++) z[t][i][b[i][k] % 6] += x[i]; "
            "for (i = 0; i < 7; i++) x[i] = z[t][6 - i][2] + 1; }")
    found = program_of(scop(text, "int t, z[3][7][6], x[7]; unsigned char b[7][5];"))
    shapes = kernel_shapes(found, PLUTO)
    kernels = tuple(KernelPlan(shape.statements, (4,), (2,), combine="private") for shape in shapes)
    assert [kernel.iterators for kernel in lowered_kernels(found, Plan(PLUTO, kernels))] == [("t",), ("t",)]
    box, = check(found, Plan(PLUTO, kernels))
    assert box.sizes == (6, 4) and box.line.loaded


def test_no_barrier_and_no_atomic_update() -> None:
    kernel, = lowered_kernels(program("bins last"), plan_of(program("bins last")))
    assert not [node for node in walk(kernel.body) if isinstance(node, Atomic | Barrier)]


@pytest.mark.parametrize(("name", "count"), counted(CASES, 2, 1, 6))
def test_random_sizes_and_orders(name: str, count: int) -> None:
    found, rng = program(name), np.random.default_rng(len(name))
    for number in range(count):
        kernels = tuple(replace(random_kernel(shape.statements, len(shape.extents), rng), combine="private")
                        for shape in kernel_shapes(found, one_kernel(found)))
        check(found, Plan(one_kernel(found), kernels), number)


def test_sub_groups_with_tiles_of_their_own() -> None:
    found = program("bins last")
    plan = plan_of(found, (8, 64), (4, 32))
    assert check(found, replace(plan, kernels=tuple(replace(k, level="sub-group") for k in plan.kernels)))


def test_lines_that_do_not_fit_are_refused_and_not_offered() -> None:
    found = program("bins last")
    plan, small = plan_of(found), replace(TARGET, local_bytes=6 * 4 * 8 * 8 - 1)
    assert lower(found, plan, TARGET).kernels[0].local_bytes == 6 * 4 * 8 * 8
    with pytest.raises(IllegalPlan, match="need 1536 bytes of local memory; test has 1535"):
        lower(found, plan, small)
    shape, = kernel_shapes(found, PLUTO)
    assert shape.shared_bytes((4, 8), 1, private=True, copies=False) == 1536
    assert ways(shape, KernelSpace(TARGET, True)) == {"atomic", "private"}
    assert ways(shape, KernelSpace(replace(TARGET, local_bytes=40), True)) == {"atomic"}
    assert ways(shape, KernelSpace(TARGET, False)) == {"atomic"}


def ways(shape: KernelShape, space: KernelSpace) -> set[str]:
    """What random walks decide about combining."""
    graph = OptimizationGraph()
    walks = [graph.walk(lambda chooser: Plan(PLUTO, (space.plan(chooser, shape),)),
                        uniform(np.random.default_rng(seed))) for seed in range(20)]
    return {walk.plan.kernels[0].combine for walk in walks if walk is not None}


def test_what_is_said() -> None:
    found = program("bins last")
    assert "lines of the threads of a block of h: 1536 bytes, kept in shared memory" in explain(
        found, plan_of(found), TARGET)


def small(program: Program, schedule: Stages) -> Plan:
    """The sums over cells keep their lines, with both channels of a cell in one thread."""
    plan = default_plan(program, TARGET, choice=schedule)
    lines = {shape.statements for shape in kernel_shapes(program, schedule) if shape.privatizes}
    assert lines
    kernels = (KernelPlan(one.statements, (2, 4, 8), (1, 2, 8), combine="private", points_inside=True, unroll=2)
               if one.statements in lines else one for one in plan.kernels)
    return replace(plan, kernels=tuple(kernels))


PIPELINES = {"bilateral_grid": Stages((("repeat_edge", "inline"),), together=(("histogram",),), launches=True),
             "bilateral_upsample": Stages()}
DEVICES = ["pocl", pytest.param("intel", marks=pytest.mark.skipif(not has_intel(), reason="`intel` is not installed"))]


ON_DEVICES = """#include <stdio.h>
static double h[23][6][7];
static float v[23][7][40];
static unsigned char b[23][7][40];
int main(void)
{
  for (int i = 0; i < 23; i++)
    for (int j = 0; j < 7; j++)
      for (int k = 0; k < 40; k++) {
        b[i][j][k] = (unsigned char)(i * j + 3 * k);
        v[i][j][k] = (i + j + k) % 7;
      }
#pragma scop
  for (int i = 0; i < 23; i++)
    for (int j = 0; j < 7; j++)
      for (int k = 0; k < 40; k++)
        h[i][b[i][j][k] % 6][j] += v[i][j][k];
#pragma endscop
  printf("%f\\n", h[2][3][4]);
  return 0;
}
"""


@in_turn
@pytest.mark.parametrize("device", DEVICES)
def test_on_devices(device: str, tmp_path: Path) -> None:
    found = read_untimed(write_c(ON_DEVICES, tmp_path), Compilation(), None, None, {}, 1)
    sizes = ((4, 8), (2, 4)) if device == "pocl" else ((4, 8), (1, 1))
    check_plans(device_named(device), found, [plan_of(found.program, *sizes)])


@in_turn
@pytest.mark.parametrize(("name", "device"), few(
    [(name, device) for name in PIPELINES for device in ("pocl", "intel")], [("bilateral_grid", "intel")]))
def test_pipelines(name: str, device: str) -> None:
    if device == "intel" and not has_intel():
        pytest.skip("`intel` is not installed")
    found, _ = small_problem(pipeline(name))
    check_plans(device_named(device), found, [small(found.program, PIPELINES[name])])


@in_turn
@pytest.mark.parametrize("name", few(PIPELINES, ("bilateral_grid",)))
def test_cuda_threads_do_not_race(name: str, watched_gpu: WatchedGpu) -> None:
    found, _ = small_problem(pipeline(name))
    watched_gpu.check(found, [small(found.program, PIPELINES[name])])


def test_cuda_keeps_lines_in_shared_memory_only() -> None:
    """Without local memory, where registers with subscripts that data choose would be; the kernel sets the lines."""
    found, _ = small_problem(pipeline("bilateral_grid"))
    variant = lower(found.program, small(found.program, PIPELINES["bilateral_grid"]), HOPPER)
    source = next(k for k in variant.kernels if "histogram_lines" in k.text.after)
    assert source.text.after.count("histogram[") == 1 and "histogram_lines[z + 2][c_point]" in source.text.after
    text = f"{source.preamble}{source.text.before}{source.name}{source.text.after}"
    _, log = translator(Nvrtc).translate(text, (9, 0))
    assert "0 bytes stack frame, 0 bytes spill stores" in log


def test_one_kernel_for_all_definitions() -> None:
    """In plans by hand, in the space, and in the starts on GPUs; not for arrays that blocks compute, or without lines.
    """
    found = pipeline_program("bilateral_grid", "full")
    assert [one.array for one in computed_arrays(found) if one.lined] == ["histogram"]
    plan = small(found, PIPELINES["bilateral_grid"])
    assert plan_from_json(plan.to_json()) == plan
    assert "histogram: by one kernel" in explain(found, plan, TARGET)
    for schedule, message in ((Stages(together=(("blur_x",),)), "arrays that can: histogram"),
                              (Stages((("histogram", "block"),), together=(("histogram",),)), "no kernel of its own")):
        with pytest.raises(IllegalPlan, match=message):
            kernel_shapes(found, schedule)
    options = RunOptions("pipeline.py", Compilation(), Budget(evaluations=1), space="pipeline")
    space = make_reachable_space(found, HOPPER, options)
    first = openings(stage_facts(found), HOPPER, computed_arrays(found))[0]
    assert first.together == (("histogram",),)
    kernel, = (one for one in start_plans(found, HOPPER, first)[0].kernels if one.combine == "private")
    assert kernel.points_inside and kernel.tile[0] == 2 * kernel.block[0]
    assert walk_to(space, start_plans(found, HOPPER, first)[0]).plan == start_plans(found, HOPPER, first)[0]


def test_cpus_start_with_both_channels_in_one_thread() -> None:
    found = pipeline_program("bilateral_grid", "full")
    first = start_plans(found, CPU, openings(stage_facts(found), CPU, computed_arrays(found))[-1])[0]
    kernel, = (one for one in first.kernels if one.statements == ("S2",))
    assert (kernel.tile, kernel.block, kernel.order) == ((1, 256, 2), (1, 1, 1), (1, 2, 0))
    assert kernel.points_inside and kernel.combine == "atomic"
