"""Inner loops of a kernel whose tiles have different sizes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from math import prod

import numpy as np
import pytest

from experiments.suites.image_pipelines import PIPELINES, pipeline
from experiments.values.options import LevelName
from experiments.words import describe_kernel
from generator.decisions.base import Known, Option, Question
from generator.decisions.deciding import decide, nearest
from generator.decisions.inner_tile import INNER_TILE, MOST_LOOPS
from generator.decisions.size_lists import InnerTiles
from generator.errors import IllegalPlan, InputError
from generator.explain import explain
from generator.lowering import lower
from generator.lowering.analysis.shapes import KernelShape, kernel_shapes
from generator.plan import KernelPlan, Plan, plan_from_json
from generator.problem import Problem
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from generator.schedules.partition import Group, Partition
from generator.schedules.schedule import Schedule
from generator.target import LANGUAGES
from tests.support.devices import check_plans, device_named, has_intel
from tests.support.gpu_plans import gpu_plans
from tests.support.interpreter import run_original
from tests.support.orders import differences
from tests.support.plans import TARGET, run_plan
from tests.support.programs import program_of, scop
from tests.support.slow import counted, few, in_turn
from tests.support.space_plans import lowered, random_plans
from tests.support.suite import ALL_NAMES, ODD_SIZES, polybench_program, problem, small_problem
from tests.support.targets import HOPPER
from tests.support.tensor_cores import float_problem
from tests.support.watched_gpu import WatchedGpu

TABLE = program_of(scop(
    "for (i = 1; i < 8; i++) for (k = 1; k < 10; k++) for (j = 0; j < 19; j++) "
    "Y[i][k][j] = Y[i - 1][k][j] + Y[i][k - 1][j] * W[i][k] + V[2 * i + k];",
    "int Y[8][10][19], W[8][10], V[26];"))
"""Two inner loops in one band, which may change places; two arrays worth a copy."""

SUMS = program_of(scop(
    "for (i = 0; i < 11; i++) for (j = 0; j < 13; j++) { for (k = 0; k < 9; k++) C[i][j] += A[i][k] * B[k][j]; "
    "for (k = 0; k < 14; k++) D[i][j] += C[i][j] * E[k][j]; }",
    "int A[11][9], B[9][13], C[11][13], D[11][13], E[14][13];"))
"""Two inner loops one after the other."""

TOGETHER = Partition((Group(("S0", "S1")),))
DEFAULT = ScheduleChoice()
WHERE: tuple[tuple[Program, Schedule], ...] = ((TABLE, DEFAULT), (SUMS, TOGETHER))

KERNEL = KernelPlan(("S0",), (16,), (8,), shared=True, inner_tile=(2, 4))
SEVERAL = ("trmm", "conv_layer", "depthwise_conv", "bilateral_grid", "bilateral_upsample")
"""Programs of which a kernel has several inner loops under isl's own schedule."""


def shape_of(program: Program, schedule: Schedule = DEFAULT) -> KernelShape:
    [shape] = kernel_shapes(program, schedule, LANGUAGES["cuda"])
    return shape


def text_of(inner_tile: InnerTiles) -> str:
    return lower(TABLE, Plan(DEFAULT, (replace(KERNEL, inner_tile=inner_tile),)), HOPPER).source


def tiles_in(text: str) -> dict[str, int]:
    """The number of tiles of each loop that has several."""
    return {loop: int(last) + 1 for loop, last in re.findall(r"for \(int (\w+)_tile = 0; \w+ <= (\d+);", text)}


@pytest.mark.parametrize(("inner_tile", "tiles", "copy"), [
    (4, {"i": 2, "k": 3}, "[4][4]"),
    ((4, 2), {"i": 2, "k": 5}, "[4][2]"),
    ((2, 5), {"i": 4, "k": 2}, "[2][5]"),
    ((1, 4), {"k": 3}, "[7][4]"),
    ((3, 1), {"i": 3}, "[3][9]"),
    ((16, 4), {"k": 3}, "[7][4]"),
])
def test_each_loop_has_its_own_tiles(inner_tile: InnerTiles, tiles: dict[str, int], copy: str) -> None:
    text = text_of(inner_tile)
    assert tiles_in(text) == tiles and f"__shared__ int W_shared{copy};" in text


def test_loops_one_after_the_other() -> None:
    plan = Plan(TOGETHER, (KernelPlan(("S0", "S1"), (8, 8), (4, 8), shared=True, inner_tile=(4, 8)),))
    assert re.findall(r"(\w)_shared\[(\d+)\]\[(\d+)\];", lower(SUMS, plan, HOPPER).source) == [
        ("A", "8", "4"), ("B", "4", "8"), ("E", "8", "8")]


def random_kernel(shape: KernelShape, rng: np.random.Generator) -> KernelPlan:
    """Random sizes, mostly not powers of two."""
    block = tuple(int(rng.integers(1, 5)) for _ in shape.extents)
    tile = tuple(n * int(rng.integers(1, 4)) for n in block)
    inner = tuple(int(rng.choice([1, 2, 3, 4, 5, 7, 16])) for _ in shape.inner_extents(True))
    shared = len(shape.inner) > 1 or bool(rng.integers(3))
    flags = [bool(rng.integers(2)) for _ in range(4)]
    return KernelPlan(shape.statements, tile, block, shared=shared, inner_tile=inner, points_inside=flags[0],
                      registers=flags[1], padding=int(rng.integers(2)), unroll=int(rng.integers(1, 4)),
                      ahead=shared and flags[2], asynchronous=shared and flags[2] and flags[3])


@pytest.mark.parametrize("seed", few(range(80), 2))
def test_kernels_compute_what_the_program_computes(seed: int) -> None:
    """Run in Python with checked accesses, barriers and copies; and copies are as large as a search expects."""
    rng = np.random.default_rng(seed)
    for program, schedule in WHERE:
        kernel, target = random_kernel(shape_of(program, schedule), rng), HOPPER if seed % 2 else TARGET
        kernel = replace(kernel, asynchronous=kernel.asynchronous and target is HOPPER)
        plan = Plan(schedule, (kernel,))
        memory = run_plan(program, plan, rng, target=target)
        assert not differences(program, memory, run_original(program)), plan.to_json()
        if not kernel.asynchronous:
            [made] = lower(program, plan, target).kernels
            expected = shape_of(program, schedule).shared_bytes(
                kernel.tile, kernel.inner_tile, kernel.padding, kernel.registers)
            assert made.local_bytes == (expected if kernel.shared else 0), plan.to_json()


@pytest.mark.parametrize(("kernel", "program", "words"), [
    (replace(KERNEL, inner_tile=(2, 4, 8)), TABLE, "3 inner tile sizes of S0: it has 2 inner loops that can be tiled"),
    (replace(KERNEL, inner_tile=(0, 4)), TABLE, r"inner tile \(0, 4\) and unroll factor 1 must be at least 1"),
    (KernelPlan(("S0", "S1"), (8, 8), (4, 8), inner_tile=(4, 8)), SUMS,
     "tiled only if something is copied or computed inside them; give one number for all"),
])
def test_what_does_not_fit_the_kernel_is_refused(kernel: KernelPlan, program: Program, words: str) -> None:
    with pytest.raises(IllegalPlan, match=words):
        lower(program, Plan(TOGETHER if program is SUMS else DEFAULT, (kernel,)), HOPPER)


def test_kernels_with_one_size_refuse_several() -> None:
    gemm, kernel = float_problem("gemm").program, KernelPlan(("S0", "S1"), (32, 32), (2, 32), inner_tile=(16, 32))
    with pytest.raises(IllegalPlan, match="it has 1 inner loops that can be tiled"):
        lower(gemm, Plan(DEFAULT, (kernel,)), HOPPER)
    with pytest.raises(IllegalPlan, match=r"the inner tile is \(16, 32\); terms of a sum are multiplied"):
        lower(gemm, Plan(DEFAULT, (replace(kernel, products="fp16"),)), HOPPER)
    with pytest.raises(IllegalPlan, match=r"an inner tile has one size for all rows of a tile; it is \(2, 4\)"):
        lower(TABLE, Plan(DEFAULT, (KernelPlan(("S0",), (1,), (8,), diagonals=True, inner_tile=(2, 4)),)), HOPPER)


def test_json_and_words() -> None:
    plan = Plan(DEFAULT, (KERNEL,))
    assert plan_from_json(plan.to_json()) == plan and '"inner_tile":[2,4]' in plan.to_json()
    for bad in ("[4, 4]", "[4]", "[]", "[0, 4]", '[4, "8"]', "0", "true"):
        with pytest.raises(InputError, match=r"inner_tile is .*; use a positive integer, or a list of positive"):
            plan_from_json(plan.to_json().replace("[2,4]", bad))
    assert describe_kernel(KERNEL).endswith("shared memory, inner tile size 2x4")
    assert describe_kernel(replace(KERNEL, inner_tile=(1, 4))).endswith("inner tile size wholex4")
    told = explain(TABLE, Plan(DEFAULT, (replace(KERNEL, inner_tile=(1, 4)),)), HOPPER)
    assert "arrays worth a shared copy: V, W; in shared memory (176 bytes, rows padded by 0)" in told
    assert "one tile touches a box of 7 x 4 elements of W" in told and "a box of 16 elements of V" in told


def asked_of(known: Known, choose: dict[str, Option]) -> tuple[KernelPlan, dict[str, tuple[Option, ...]]]:
    """The kernel with these answers, else the first option each; and the questions about inner tiles."""
    asked = dict[str, tuple[Option, ...]]()

    def answer(question: Question) -> Option:
        if question.name.startswith("inner tile"):
            asked[question.name] = question.options
        return choose.get(question.name, question.options[0])

    return decide(known, answer), asked


def test_what_is_offered() -> None:
    trmm, gemm = (polybench_program(name, ODD_SIZES[name]) for name in ("trmm", "gemm"))
    [shape] = [shape for shape in kernel_shapes(trmm, DEFAULT, LANGUAGES["cuda"]) if shape.statements == ("S0",)]
    kernel, asked = asked_of(Known(shape, HOPPER, True), {"inner tile size": 8, "inner tile multiple of loop 1": 2})
    assert asked == {"inner tile size": (1, 4, 8, 16, 32, 64), "inner tile multiple of loop 1": (1, 2, 4, 0)}
    assert kernel.inner_tile == (16, 8), "the last loop has the smallest size if no other has it"
    assert asked_of(Known(shape, HOPPER, True), {})[1].keys() == {"inner tile size"}, "nothing is tiled"
    assert asked_of(Known(shape, HOPPER, False), {"inner tile size": 8})[1].keys() == {"inner tile size"}
    for one in kernel_shapes(gemm, DEFAULT, LANGUAGES["cuda"]):
        assert asked_of(Known(one, HOPPER, True), {"inner tile size": 8})[1].keys() <= {"inner tile size"}


def test_loops_one_after_the_other_have_sizes_where_something_is_copied() -> None:
    known = Known(shape_of(SUMS, TOGETHER), HOPPER, True)
    for shared in (False, True):
        asked = asked_of(known, {"shared memory": shared, "inner tile size": 4})[1]
        assert ("inner tile multiple of loop 1" in asked) == shared


def test_larger_tiles_of_one_loop_are_offered_only_if_they_fit() -> None:
    shape = shape_of(TABLE)
    answers: dict[str, Option] = {"shared memory": True, "inner tile size": 4}
    asked = [asked_of(Known(shape, replace(HOPPER, local_bytes=4 * words), True), answers)[1] for words in (
        16 + 10, 32 + 14, 4 * 9 + 15)]  # of W and V, with tiles of 4 x 4, 4 x 8 and 4 x 9
    assert [one.get("inner tile multiple of loop 1", ()) for one in asked] == [(), (1, 0), (1, 0)]


def choices(shape: KernelShape, answers: dict[str, Option]) -> Iterator[tuple[dict[str, Option], KernelPlan]]:
    """All ways of answering the questions about inner tiles, with their kernels; `answers`: to other questions."""
    kernel, asked = asked_of(Known(shape, HOPPER, True), answers)
    left = next((name for name in asked if name not in answers), None)
    if left is None:
        yield answers, kernel
        return
    for option in asked[left]:
        yield from choices(shape, answers | {left: option})


@pytest.mark.parametrize(("program", "schedule"), WHERE)
def test_each_choice_is_another_plan_and_is_found_again(program: Program, schedule: Schedule) -> None:
    shape, plans = shape_of(program, schedule), list[KernelPlan]()
    for answers, kernel in choices(shape, {"shared memory": True}):
        given = INNER_TILE.answers(kernel)
        assert all(given[name] == answer for name, answer in answers.items() if name in given)
        assert nearest(kernel, Known(shape, HOPPER, True)) == kernel
        plans.append(kernel)
    assert len(set(plans)) == len(plans) > len(shape.inner_extents(True)) + 6
    assert {(4, 8), (4, 1), (1, 4)} <= {plan.inner_tile for plan in plans}


def test_kernels_with_many_loops_have_one_size() -> None:
    shape = replace(shape_of(TABLE), inner=((9,) * (MOST_LOOPS + 1),))
    assert asked_of(Known(shape, HOPPER, True), {"inner tile size": 4})[1].keys() == {"inner tile size"}


# Devices

def found_problem(name: str) -> Problem:
    return problem(name, ODD_SIZES[name]) if name in ALL_NAMES else small_problem(pipeline(name))[0]


def own_sizes(plans: list[Plan], count: int) -> list[Plan]:
    """The first plans with different sizes."""
    return [plan for plan in plans if any(not isinstance(k.inner_tile, int) for k in plan.kernels)][:count]


DEVICES = ["PoCL", pytest.param("Intel OpenCL", marks=pytest.mark.skipif(
    not has_intel(), reason="the extra `intel` is not installed"))]


@pytest.mark.slow
@pytest.mark.parametrize("platform", DEVICES)
@pytest.mark.parametrize(("name", "count"), counted([*ALL_NAMES, *(one.name for one in PIPELINES)], ("trmm",), 1, 3))
def test_random_plans_on_devices(name: str, count: int, platform: str) -> None:
    found, device = found_problem(name), device_named(platform)
    levels: tuple[LevelName, ...] = ("o1", "o2")
    plans = [plan for level in levels for plan in own_sizes(
        random_plans(found.program, device.target, level, 12, 5), count)]
    assert plans or name not in SEVERAL
    check_plans(device, found, [one for one in plans if lowered(found.program, one, device.target)])


@in_turn
@pytest.mark.parametrize(("name", "count"), counted((n for n in SEVERAL if n != "conv_layer"), SEVERAL[:1], 2, 4))
def test_random_plans_on_the_pretended_gpu(name: str, count: int, watched_gpu: WatchedGpu) -> None:
    """No races, no barrier that some threads miss, right results."""
    found = found_problem(name)
    plans = own_sizes(gpu_plans(found.program, watched_gpu.target, "o1", 24, 5), count)
    watched_gpu.check(found, plans)
    assert any(prod(kernel.block) > 1 for plan in plans for kernel in plan.kernels)
