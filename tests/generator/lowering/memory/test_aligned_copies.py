"""Rows of shared copies that begin and end at multiples of a vector: exact, copied in vectors, on offer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

from generator.decisions.base import Known
from generator.decisions.deciding import nearest
from generator.errors import IllegalPlan
from generator.explain import explain
from generator.frontend_c.source import Compilation
from generator.lowering import lower
from generator.lowering.analysis.shapes import KernelShape, kernel_shapes
from generator.lowering.memory.staging import CopiedBox
from generator.nest import Assign, walk
from generator.plan import KernelPlan, Plan, plan_from_json
from generator.problem import Problem
from generator.problem import program_of as program_in
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from generator.target import LANGUAGES
from runners.cuda.compiler import Nvrtc
from tests.support.cuda_compiler import ELF, translator
from tests.support.devices import check_plans, device_named, has_intel
from tests.support.interpreter import run_original
from tests.support.memory import Memory
from tests.support.orders import differences
from tests.support.plans import lowered_kernels, random_kernel, run_plan
from tests.support.programs import program_of, scop, write_c
from tests.support.reading import read_untimed
from tests.support.slow import counted
from tests.support.suite import polybench_program, problem
from tests.support.targets import CPU, HOPPER
from tests.support.watched_gpu import WatchedGpu

DECLARED = "int A[10][24], B[10][24], X[7][20], Y[7][9], W[20][9];"
TEXTS = {
    "left": "for (i = 1; i < 9; i++) for (j = 1; j < 23; j++) B[i][j] = A[i][j - 1] + A[i][j + 1] + A[i - 1][j];",
    "right": "for (i = 2; i < 9; i++) for (j = 3; j < 22; j++) B[i][j] = A[i][j] + A[i][j + 1] + A[i + 1][j + 2];",
    "mirrored": "for (i = 0; i < 9; i++) for (j = 1; j < 23; j++) B[i][j] = A[i][23 - j] + A[i + 1][24 - j];",
    "sum": "for (i = 0; i < 7; i++) for (j = 0; j < 9; j++) for (k = 2; k < 19; k++) "
           "Y[i][j] += X[i][k] * W[k][j] + X[i][k - 1];",
}
"""Reads from the element before a tile to the one behind it, two elements behind it, backwards, and along a sum."""

PROGRAMS = {name: program_of(scop(text, DECLARED)) for name, text in TEXTS.items()}
KERNEL = KernelPlan(("S0",), (4, 8), (2, 2), shared=True, vector=4, aligned=4)
LATER = {"inner_tile": 8, "ahead": True, "asynchronous": True, "padding": 4}
SIZES = ("N=44", "TSTEPS=2", "DATA_TYPE_IS_FLOAT")


def plan_of(kernel: KernelPlan, program: Program = PROGRAMS["left"]) -> Plan:
    """The same decisions for all kernels."""
    kernels = (replace(kernel, statements=shape.statements) for shape in kernel_shapes(program, ScheduleChoice()))
    return Plan(ScheduleChoice(), tuple(kernels))


@lru_cache
def original(name: str) -> Memory:
    return run_original(PROGRAMS[name])


def copies(program: Program, kernel: KernelPlan) -> dict[str, tuple[tuple[int, ...], int]]:
    """The box of each copy, and the elements that a thread copies at once."""
    [made] = lowered_kernels(program, plan_of(kernel, program), "cuda")
    boxes = [box for box in made.shared if isinstance(box, CopiedBox)]
    filled = [node for node in walk(made.body) if isinstance(node, Assign)]
    return {box.array: (box.box, max(node.wide.lanes if node.wide else 1 for node in filled
                                     if node.target.array == box.name)) for box in boxes}


@pytest.mark.parametrize(("name", "changes", "found", "without"), [
    ("left", {}, {"A": ((5, 12), 4)}, {"A": ((5, 10), 1)}),
    ("right", {"vector": 2, "aligned": 2}, {"A": ((5, 12), 2)}, {"A": ((5, 10), 1)}),
    ("right", {}, {"A": ((5, 16), 4)}, {"A": ((5, 10), 1)}),  # from 3 + 8 b on: one vector more
    ("mirrored", {}, {"A": ((5, 12), 4)}, {"A": ((5, 9), 1)}),
    ("left", {"tile": (4, 6)}, None, {"A": ((5, 8), 1)}),  # tiles of six begin at different places of a vector
    ("sum", {"inner_tile": 4}, {"W": ((4, 8), 1), "X": ((4, 8), 4)}, {"W": ((4, 8), 1), "X": ((4, 5), 1)}),
    ("sum", LATER, {"W": ((8, 8), 1), "X": ((4, 12), 4)}, {"W": ((8, 8), 1), "X": ((4, 9), 1)}),
])
def test_rows_are_whole_vectors(name: str, changes: dict[str, object],
                                found: dict[str, tuple[tuple[int, ...], int]] | None,
                                without: dict[str, tuple[tuple[int, ...], int]]) -> None:
    """Run in Python with checked accesses, barriers and copies; copies are as large as a search expects."""
    program, kernel = PROGRAMS[name], replace(KERNEL, **changes)  # type: ignore[arg-type]  # any fields
    assert copies(program, replace(kernel, aligned=0)) == without
    if found is None:
        with pytest.raises(IllegalPlan, match=r"^aligned copies of S0: no copy has other rows if these begin and end "
                                              r"at multiples of 4 elements; leave it out$"):
            copies(program, kernel)
        return
    assert copies(program, kernel) == found
    memory = run_plan(program, plan_of(kernel, program), np.random.default_rng(1), target=HOPPER)
    assert not differences(program, memory, original(name))
    [made] = lower(program, plan_of(kernel, program), HOPPER).kernels
    assert made.local_bytes == expected_bytes(shape_of(program), kernel)


def shape_of(program: Program) -> KernelShape:
    [shape] = kernel_shapes(program, ScheduleChoice(), LANGUAGES["cuda"])
    return shape


def expected_bytes(shape: KernelShape, kernel: KernelPlan) -> int:
    room = shape.ordered(kernel.order).aligned(kernel.aligned).shared_bytes(
        kernel.tile, kernel.inner_tile, kernel.padding, kernel.registers)
    return room * (2 if kernel.asynchronous else 1)


def test_arrays_whose_rows_are_no_multiples_stay() -> None:
    """Their rows begin at different places of a vector."""
    program = program_of(scop(TEXTS["left"], "int A[10][25], B[10][25];"))
    with pytest.raises(IllegalPlan, match="no copy has other rows"):
        copies(program, KERNEL)


def test_addresses_of_arrays_in_vectors_are_known() -> None:
    """A runner has to give CUDA such addresses; elements of a texture are read one by one."""
    program = PROGRAMS["left"]
    for changes, placement, found in (({}, (), (("A", 16),)), ({"aligned": 0, "vector": 2}, (), (("A", 8),)),
                                      ({"aligned": 0}, (), ()), ({}, (("A", "texture"),), ())):
        plan = replace(plan_of(replace(KERNEL, **changes)), placement=placement)  # type: ignore[arg-type]  # any fields
        assert lower(program, plan, HOPPER).kernels[0].vectors == found


def test_without_copies_it_is_refused() -> None:
    with pytest.raises(IllegalPlan, match=r"^aligned copies of S0: without shared memory nothing is copied; leave "
                                          r"it out$"):
        copies(PROGRAMS["left"], replace(KERNEL, shared=False))


def test_it_is_on_offer_and_in_json() -> None:
    shape, kernel = shape_of(PROGRAMS["left"]), replace(KERNEL, tile=(8, 16), block=(4, 16))
    assert nearest(kernel, Known(shape, HOPPER, True)) == kernel
    assert not nearest(replace(kernel, vector=1), Known(shape, HOPPER, True)).aligned
    for target, wide in ((CPU, True), (HOPPER, False), (replace(HOPPER, local_bytes=4 * 9 * 18), True)):
        assert not nearest(kernel, Known(shape, target, wide)).aligned, "not on CPUs, nor in the paper's space"
    whole = Known(shape_of(product()), HOPPER, True)
    assert not nearest(replace(kernel, inner_tile=4), whole).aligned, "it is aligned without"
    plan = plan_of(kernel)
    assert plan_from_json(plan.to_json()) == plan and "aligned" not in plan_of(replace(kernel, aligned=0)).to_json()
    assert any("a box of 9 x 20 elements of A" in line for line in explain(PROGRAMS["left"], plan, HOPPER).splitlines())


def product() -> Program:
    return program_of(scop("for (i = 0; i < 8; i++) for (j = 0; j < 16; j++) for (k = 0; k < 16; k++) "
                           "C[i][j] += D[i][k] * E[k][j];", "int C[8][16], D[8][16], E[16][16];"))


@pytest.mark.parametrize(("name", "count"), counted(PROGRAMS, ("right", "sum"), 4, 30))
def test_random_plans_in_python(name: str, count: int) -> None:
    program, shape, seen = PROGRAMS[name], shape_of(PROGRAMS[name]), Counter[str]()
    for seed in range(count):
        rng = np.random.default_rng(seed)
        kernel, wide = random_kernel(("S0",), 2, rng), int(rng.choice([2, 4]))
        tile = (kernel.tile[0], kernel.tile[1] * wide) if rng.integers(4) else kernel.tile
        kernel = replace(kernel, tile=tile, shared=True, exchange=False, vector=wide, aligned=wide,
                         inner_tile=int(rng.choice([1, 2, 4, 8])), padding=int(rng.choice([0, wide])),
                         asynchronous=kernel.ahead and bool(rng.integers(2)))
        plan = plan_of(kernel, program)
        try:
            memory = run_plan(program, plan, rng, target=HOPPER)
        except IllegalPlan as refused:
            assert "aligned copies" in str(refused), (plan.to_json(), refused)
            seen["refused"] += 1
            continue
        assert not differences(program, memory, original(name)), plan.to_json()
        [made] = lower(program, plan, HOPPER).kernels
        assert made.local_bytes in (expected_bytes(shape, kernel),
                                    expected_bytes(shape, replace(kernel, asynchronous=False))), plan.to_json()
        seen["right"] += 1
    assert seen["right"] > count // 5, seen


def test_text(golden: Callable[[str, str], None]) -> None:
    """Shared loads are vectors, too, where they begin at multiples."""
    program = polybench_program("jacobi-2d", SIZES)
    source = lower(program, plan_of(replace(KERNEL, tile=(8, 32), block=(4, 8), run=4), program), HOPPER).source
    golden("jacobi-aligned.cu", source)
    assert translator(Nvrtc).translate(source, (9, 0))[0].startswith(ELF)


def stencil_plans(program: Program) -> list[Plan]:
    kernels = (replace(KERNEL, tile=tile, block=block, run=run, points_inside=inside, unroll=unroll, padding=padding)
               for tile, block, run, inside, unroll, padding in (
                   ((8, 32), (4, 8), 4, False, 1, 0), ((4, 16), (4, 4), 2, True, 2, 4),
                   ((16, 8), (2, 8), 1, False, 4, 0)))
    return [plan_of(kernel, program) for kernel in kernels]


@lru_cache
def problem_named(name: str) -> Problem:
    """Of PolyBench, or one of TEXTS with data."""
    if name not in TEXTS:
        return problem(name, SIZES)
    filled = "for (int i = 0; i < 10; i++) for (int j = 0; j < 24; j++) A[i][j] = 100 * i + j;"
    text = f"static {DECLARED}\nint main(void) {{ int i, j; {filled}\n#pragma scop\n{TEXTS[name]}\n#pragma endscop\n"
    return read_untimed(write_c(f"{text}return B[5][5]; }}"), Compilation(), None, None, {}, 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["jacobi-2d", "right", "mirrored"])
def test_no_races(name: str, watched_gpu: WatchedGpu) -> None:
    """On the stand-in driver, which also checks the alignment of vectors."""
    found = problem_named(name)
    watched_gpu.check(found, stencil_plans(program_in(found.subject)))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["jacobi-2d", "right", "mirrored"])
@pytest.mark.parametrize("selector", ["pocl", pytest.param("intel", marks=pytest.mark.skipif(
    not has_intel(), reason="the extra `intel` is not installed"))])
def test_on_cpus(name: str, selector: str) -> None:
    found = problem_named(name)
    check_plans(device_named(selector), found, stencil_plans(program_in(found.subject)))
