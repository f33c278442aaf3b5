"""Several time steps per launch in tiles of warps that are partly in registers: right element by element, checked as
kernels are made; wrong ones are refused.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from generator.errors import IllegalPlan
from generator.lowered_kernel import LoweredKernel
from generator.lowering import lower
from generator.lowering.analysis.shapes import kernel_shapes
from generator.nest import Declare, walk
from generator.plan import Plan
from generator.polyhedral.time.time_steps import Overlap, TimeLoop, overlap, time_loop
from generator.program import Program
from generator.schedules.time_tiles import TimeTiles
from generator.target import LANGUAGES
from tests.support.faults import Fault, faults
from tests.support.interpreter import Device, run_original
from tests.support.lanes import with_tenths
from tests.support.orders import differences
from tests.support.plans import lowered_kernels
from tests.support.programs import program_of
from tests.support.slow import few, in_turn
from tests.support.suite import polybench_program
from tests.support.sweeps import split_steps_plan, sweeps_text
from tests.support.targets import HOPPER
from tests.support.teams import time_problem

COUNT, LOOKED_AT = 160, 16
"""Random programs, and those of them that are known to have what may go wrong."""


def wrong_in(program: Program, plan: Plan, kernels: tuple[LoweredKernel, ...], seed: int) -> list[str]:
    """What is wrong once the kernels have run in Python, every access checked."""
    variant = lower(program, plan, HOPPER)
    device = Device(program.with_arrays(variant.scratch), kernels, np.random.default_rng(seed))
    device.run(variant.host, {})
    return list(map(str, differences(program, device.memory, run_original(program))))


@in_turn
@pytest.mark.parametrize("seed", few(range(COUNT), (40,)))
def test_random_sweeps_are_right(seed: int) -> None:
    """Warps of 32, 16 and 8 lanes along x, sides, shifted sweeps, arrays of other sizes, elements nobody writes."""
    rng = np.random.default_rng(seed)
    program = program_of(sweeps_text(seed, int(rng.integers(60))))
    if time_loop(program) is None:
        pytest.skip("no loop over time")
    for _ in range(2):
        plan = split_steps_plan(program, rng)
        try:
            kernels = lowered_kernels(program, plan, "cuda")
        except IllegalPlan as refused:
            assert "sub-tiles in registers would be as many pieces of text" in str(refused)
            continue
        assert not wrong_in(program, plan, kernels, seed), (seed, plan.to_json())


def test_these_sweeps_reach_what_may_go_wrong() -> None:
    seen = Counter[str]()
    for seed in range(LOOKED_AT):
        program = program_of(sweeps_text(seed))
        loop = time_loop(program)
        if loop is not None:
            seen["written anew"] += bool(loop.written)
            seen["carried"] += bool(loop.carried)
            seen["side"] += any(position is None for sweep in loop.sweeps for position, _ in sweep.dims)
            seen["updates"] += any(sweep.statement.body.op for sweep in loop.sweeps)
            seen["several sweeps"] += len({sweep.array for sweep in loop.sweeps}) < len(loop.sweeps)
            seen[f"{len(loop.extents)} dimensions"] += 1
    assert len(seen) == 8 and min(seen.values()) > 1, seen


SIZES: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "jacobi-1d": ((64,), (32,)),
    "jacobi-2d": ((2, 64), (1, 32)),
    "heat-3d": ((2, 2, 16), (2, 2, 8)),
    "fdtd-2d": ((4, 16), (4, 8)),
}


@pytest.mark.parametrize("tenths", [5, 10])
@pytest.mark.parametrize("name", few(SIZES, ("jacobi-1d",)))
def test_stencils_are_right(name: str, tenths: int) -> None:
    found, plan = time_problem(name, "sub-group", *SIZES[name])
    plan = replace(with_tenths(plan, tenths), schedule=TimeTiles(1 if name == "heat-3d" else 2))
    assert not wrong_in(found.program, plan, lowered_kernels(found.program, plan, "cuda"), 1)


def test_the_right_part_is_in_named_variables() -> None:
    """Two steps of jacobi-1d: 4 elements around the tile before the first one; 64 of 128 elements in registers."""
    found, plan = time_problem("jacobi-1d", "sub-group", (128,), (32,))
    plan = replace(with_tenths(plan, 5), schedule=TimeTiles(2))
    [kernel] = lowered_kernels(found.program, plan, "cuda")
    assert {box.name: box.sizes for box in kernel.shared} == {"A_here": (64 + 8,), "B_here": (64 + 6,)}
    held = [node.name for node in walk(kernel.body) if isinstance(node, Declare) and "sub-tile" in node.note]
    assert held == [f"{name}_k{k}" for name in ("A_s0", "B_s1", "A_s1", "B_s2", "A_s2") for k in (2, 3)]
    assert not any(node.sizes for node in walk(kernel.body) if isinstance(node, Declare))
    cuda = lower(found.program, plan, HOPPER).source
    assert "double B_s2_k3; // B after step 2, sub-tile 3: one point per lane" in cuda
    assert "__shfl_sync(0xffffffffu, A_s0_k2, (t0 + 30) % 32)" in cuda and "__syncthreads" not in cuda


@in_turn
def test_a_search_knows_what_they_take() -> None:
    found, plan = time_problem("jacobi-2d", "sub-group", (2, 64), (1, 32))
    for tenths, padding in ((5, 0), (10, 0), (5, 3)):
        split = with_tenths(plan, tenths)
        split = replace(split, kernels=(replace(split.kernels[0], padding=padding),))
        [kernel] = lowered_kernels(found.program, split, "cuda")
        [shape] = kernel_shapes(found.program, TimeTiles(3), LANGUAGES["cuda"])
        room = shape.lane_room((2, 64), (1, 32), -(-2 * tenths // 10), padding)
        assert room is not None and room.bytes == sum(box.bytes for box in kernel.shared)
        assert room.words > 8 * tenths


def test_too_many_steps_are_too_much_text() -> None:
    found, plan = time_problem("jacobi-2d", "sub-group", (8, 128), (1, 32))
    with pytest.raises(IllegalPlan, match="sub-tiles in registers would be as many pieces of text; at most 160"):
        lower(found.program, with_tenths(plan, 10), HOPPER)
    [shape] = kernel_shapes(found.program, TimeTiles(3), LANGUAGES["cuda"])
    assert shape.lane_room((8, 128), (1, 32), 4, 0) is None


def test_tiles_of_blocks_have_no_lanes() -> None:
    found, plan = time_problem("jacobi-1d", "block", (128,), (64,))
    with pytest.raises(IllegalPlan, match="only tiles of sub-groups have lanes"):
        lower(found.program, with_tenths(plan, 5), HOPPER)


def test_tiles_that_hold_too_little_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """With arrays an element short on the left, a lane would read beyond its box."""

    def narrower(loop: TimeLoop, steps: int) -> Overlap:
        found = overlap(loop, steps)
        arrays = tuple((name, tuple((low - 1, high) for low, high in margin)) for name, margin in found.arrays)
        return replace(found, arrays=arrays)

    found, plan = time_problem("jacobi-1d", "sub-group", (64,), (32,))
    lower(found.program, with_tenths(plan, 5), HOPPER)
    monkeypatch.setattr("generator.lowering.core.time_tiles.overlap", narrower)
    with pytest.raises(IllegalPlan, match="a lane would not get the element of"):
        lower(found.program, replace(with_tenths(plan, 5), schedule=TimeTiles(2)), HOPPER)


@pytest.mark.slow
def test_faults_are_seen_by_those_who_run_it() -> None:
    """Each shuffle that asks another lane, and each barrier that is gone; the last elements are in registers."""
    program = polybench_program("jacobi-1d", ("TSTEPS=4", "N=90"))
    _, plan = time_problem("jacobi-1d", "sub-group", (96,), (32,))
    plan = replace(with_tenths(plan, 5), schedule=TimeTiles(2))
    [kernel] = lowered_kernels(program, plan, "cuda")
    wrong = [fault for fault in faults(kernel) if fault.kind in ("other lane", "barrier dropped")]
    assert len(wrong) > 10
    unseen = [fault for fault in wrong if not _is_seen(program, plan, fault)]
    assert len(unseen) <= 2  # shuffles that keep what no sweep writes, in a sub-tile that has nothing of that kind


def _is_seen(program: Program, plan: Plan, fault: Fault) -> bool:
    try:
        return bool(wrong_in(program, plan, (fault.kernel,), 3))
    except AssertionError:
        return True
