"""Tiles of wavefronts with copies in shared memory: right whatever the order of threads and blocks, without races."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import pytest

from generator.decisions.base import Known
from generator.decisions.deciding import nearest
from generator.errors import IllegalPlan
from generator.expr import loads_of
from generator.lowering import lower
from generator.lowering.analysis import block_parts
from generator.lowering.analysis.shapes import kernel_shapes
from generator.nest import For, expressions, walk
from generator.plan import KernelPlan, Plan
from generator.polyhedral.memory import wavefront_boxes
from generator.program import ELEMENT_BYTES
from generator.schedules.hyperplanes import Hyperplanes, LoopNest
from generator.target import LANGUAGES, Target
from tests.support.devices import check_plans, check_results, device_named, has_intel
from tests.support.hyperplanes import SEIDEL_TILES, check, program, random_walk_plan
from tests.support.plans import lowered_kernels
from tests.support.slow import few, in_turn
from tests.support.suite import ODD_SIZES, TARGET, polybench_program, problem
from tests.support.targets import CUDA, RDNA
from tests.support.watched_gpu import WatchedGpu
from tests.support.wavefronts import COPIED, WAVES, diagonal_plans, some_diagonals

JACOBI = LoopNest(
    ("S0", "S1"), (((1, 0, 0, 0),) * 2, ((2, 1, 0, 0), (2, 1, 0, 1)), ((2, 0, 1, 0), (2, 0, 1, 1))), (), (2, 8, 16)
)
COPIES = KernelPlan(("S0",), (1, 1), (2, 8), diagonals=True, shared=True)
PLANS = {
    "seidel-2d": Plan(Hyperplanes((SEIDEL_TILES,)), (replace(COPIES, padding=1),)),
    "jacobi-2d": Plan(Hyperplanes((JACOBI,)), (replace(COPIES, statements=("S0", "S1"), unroll=2, order=(1, 0)),)),
}


def with_copies(plan: Plan, padding: int) -> Plan:
    return replace(plan, kernels=tuple(replace(one, shared=one.diagonals, padding=padding if one.diagonals else 0)
                                       for one in plan.kernels))


@pytest.mark.parametrize(("name", "seeds"), [
    ("seidel", (1,)), ("jacobi", (1,)),
    *(pytest.param(name, range(8), marks=pytest.mark.slow) for name in ("seidel", "jacobi", "waves"))])
def test_threads_and_blocks_in_any_order_are_right(name: str, seeds: Sequence[int]) -> None:
    """Also where a box holds what other blocks of the launch write: reading that would be a race."""
    found, rng, seen = program(name), np.random.default_rng(5), 0
    for seed in seeds:
        plan = random_walk_plan(found, np.random.default_rng(seed), WAVES)
        assert plan is not None and isinstance(plan.schedule, Hyperplanes)
        made = with_copies(some_diagonals(found, plan.schedule, rng), seed % 2)
        answer = check(found, made, rng)
        assert answer == "right" or "read nothing often enough" in answer, (answer, made.to_json())
        seen += answer == "right"
    assert seen


def test_loading_all_of_a_box_would_be_a_race(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above finds it: blocks of a launch write between the elements that others read."""
    found, rng = program("seidel"), np.random.default_rng(5)
    plan = random_walk_plan(found, np.random.default_rng(1), WAVES)
    assert plan is not None and isinstance(plan.schedule, Hyperplanes)

    def everything(*_arguments: Any) -> None:
        return None

    monkeypatch.setattr(wavefront_boxes, "_loaded", everything)
    found = replace(found, name="loads everything")  # another key of caches
    with pytest.raises(AssertionError, match=r"('A'|\('A).* beside "):
        check(found, with_copies(some_diagonals(found, plan.schedule, rng), 0), rng)


@pytest.mark.parametrize("name", few(PLANS, ("jacobi-2d",)))
def test_only_results_leave_the_copies(name: str) -> None:
    """Inside the loop over diagonals nothing is read from global memory."""
    [kernel] = lowered_kernels(polybench_program(name, ODD_SIZES[name]), PLANS[name])
    copies = {box.name for box in kernel.shared}
    assert len(copies) == len(kernel.arrays)
    [diagonals] = [node for node in walk(kernel.body) if isinstance(node, For) and node.note.startswith("diagonals")]
    read = {load.array for node in walk(diagonals.body) for expr in expressions(node)[1:] for load in loads_of(expr)}
    assert read == copies


@pytest.mark.slow
@pytest.mark.parametrize(("device", "name"), [(device, name) for name in PLANS for device in ("pocl", "intel")])
def test_on_devices(device: str, name: str) -> None:
    if device == "intel" and not has_intel():
        pytest.skip("the extra `intel` is not installed")
    check_plans(device_named(device), problem(name, ODD_SIZES[name]), [PLANS[name]])


@in_turn
@pytest.mark.parametrize("name", few(PLANS, 1))
def test_cuda_has_no_races(name: str, watched_gpu: WatchedGpu) -> None:
    watched_gpu.check(problem(name, ODD_SIZES[name]), [PLANS[name]])


@in_turn
@pytest.mark.parametrize(("name", "change", "words"), [
    ("seidel-2d", {"uncopied": ("B",)}, "B of S0 would stay uncopied, but its tiles have copies of A only"),
    ("seidel-2d", {"shared": False}, "leave out `padding`"),
    ("jacobi-2d", {"uncopied": ("A", "C")}, "C of S0, S1 would stay uncopied"),
])
def test_what_cannot_be_copied_is_refused(name: str, change: dict[str, Any], words: str) -> None:
    plan = PLANS[name]
    with pytest.raises(IllegalPlan, match=words):
        lower(polybench_program(name, ODD_SIZES[name]),
              replace(plan, kernels=(replace(plan.kernels[0], **change),)), TARGET)


@in_turn
@pytest.mark.parametrize("target", [TARGET, CUDA, RDNA], ids=lambda target: target.dialect)
def test_spaces_of_gpus_offer_copies_that_fit(target: Target) -> None:
    """As much as lowering makes of it: the padded box, without padding if a byte is missing, or none."""
    found = polybench_program("seidel-2d", ODD_SIZES["seidel-2d"])
    schedule = Hyperplanes((replace(SEIDEL_TILES, wavefront=(4, 8, 32)),))
    (shape,) = kernel_shapes(found, schedule, target.language)
    assert shape.shareable == () and shape.along_diagonals().shareable == ("A",)
    wanted = KernelPlan(("S0",), (1, 1), (4, 8), diagonals=True, shared=True, padding=1)
    [kernel] = lowered_kernels(found, Plan(schedule, (wanted,)))
    size = sum(prod(box.sizes) * ELEMENT_BYTES[box.type] for box in kernel.shared)
    assert shape.along_diagonals().shared_bytes((1, 1), 1, 1) == size
    plain, none = replace(wanted, padding=0), replace(wanted, padding=0, shared=False)
    for missing, expected in ((0, wanted), (1, plain), (size // 2, none)):
        room = replace(target, local_bytes=size - missing)
        assert nearest(wanted, Known(shape, room, True)) == expected


def test_what_other_blocks_write_is_not_offered() -> None:
    """Tiles of lu read rows that other tiles of the same launch write."""
    found = polybench_program("lu", ODD_SIZES["lu"])
    [plan] = [plan for plan in diagonal_plans(found, CUDA, 4) if plan.kernels[-1].diagonals][:1]
    shapes = kernel_shapes(found, plan.scheduled, LANGUAGES["cuda"])
    assert all(shape.along_diagonals().shareable == () for shape in shapes if shape.diagonals)


OFFERED = ("seidel-2d", "adi", "jacobi-2d", "fdtd-2d", "jacobi-1d")


@pytest.mark.slow
@pytest.mark.parametrize("device", ["pocl", "intel"])
@pytest.mark.parametrize("name", OFFERED)
def test_offered_copies_on_devices(name: str, device: str) -> None:
    found = problem(name, ODD_SIZES[name])
    plans = diagonal_plans(found.program, device_named(device).target, 8 if name != "adi" else 2, COPIED)
    assert name == "adi" or any(kernel.diagonals and kernel.shared for plan in plans for kernel in plan.kernels)
    check_results(device_named(device), found, plans)


@pytest.mark.slow
@pytest.mark.parametrize("name", OFFERED)
def test_offered_copies_have_no_races(name: str, watched_gpu: WatchedGpu) -> None:
    found = problem(name, ODD_SIZES[name])
    watched_gpu.check(found, diagonal_plans(found.program, watched_gpu.target, 4, COPIED), slow=True)


@pytest.mark.parametrize("words", ["testing the copies of S0", "finding what tiles of S0 load"])
def test_what_takes_isl_too_long_is_not_offered(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a count of operations, so that all machines offer the same; a plan that asks for it is refused likewise."""
    found = replace(polybench_program("seidel-2d", ODD_SIZES["seidel-2d"]), name=words)  # another key of caches
    if "load" in words:
        (shape,) = kernel_shapes(found, PLANS["seidel-2d"].scheduled, LANGUAGES["cuda"])
        assert shape.along_diagonals().shareable == ("A",)
    monkeypatch.setattr(wavefront_boxes, "MOST_OPERATIONS", 1)
    with pytest.raises(IllegalPlan, match=f"{words} was given up after 1 operations"):
        lower(found, PLANS["seidel-2d"], TARGET)
    (shape,) = kernel_shapes(found, PLANS["seidel-2d"].scheduled, LANGUAGES["cuda"])
    assert shape.along_diagonals().shareable == (("A",) if "load" in words else ())


def test_copies_that_no_gpu_holds_are_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    """jacobi-2d copies two arrays."""
    found = polybench_program("jacobi-2d", ODD_SIZES["jacobi-2d"])
    (shape,) = kernel_shapes(found, PLANS["jacobi-2d"].scheduled, LANGUAGES["cuda"])
    assert len(shape.along_diagonals().shareable) == 2
    whole = shape.along_diagonals().shared_bytes((1, 1), 1, 0)
    monkeypatch.setattr(block_parts, "MOST_SHARED", whole - 1)
    assert shape.along_diagonals().shareable == ()
