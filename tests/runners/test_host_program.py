"""The host program of a Variant becomes a stream of launches."""

from __future__ import annotations

import pytest

from generator.expr import Binary, Expr, Int, Name
from generator.plan import Plan
from generator.schedules.choice import ScheduleChoice
from generator.variant import HostBranch, HostLoop, HostOp, Kernel, KernelText, Launch, Variant
from runners.host_program import BoundLaunch, first_launches, launches


def kernel(name: str, block: tuple[int, ...] = (8,)) -> Kernel:
    return Kernel(name, (name,), (), (), ("t",), block, 0, KernelText("", ""))


def variant(*host: HostOp, kernels: tuple[Kernel, ...] = (kernel("a"), kernel("b"))) -> Variant:
    return Variant(Plan(ScheduleChoice(), ()), "opencl", "", kernels, host)


def loop(iterator: str, start: Expr, end: Expr, *body: HostOp, step: int = 1) -> HostLoop:
    return HostLoop(iterator, start, Binary("<", Name(iterator), end), step, body)


def test_a_launch_is_a_range_of_work_items() -> None:
    program = variant(Launch("a", (Int(3),), ()))
    assert list(launches(program)) == [BoundLaunch(0, (24,), (8,), ())]


def test_loops_nest_and_shadow_nothing() -> None:
    inner = loop("u", Name("t"), Int(3), Launch("b", (Int(1),), (Name("t"), Name("u"))))
    program = variant(loop("t", Int(0), Int(3), Launch("a", (Name("t"),), (Name("t"),)), inner))
    found = [(launch.kernel, launch.iterators) for launch in launches(program)]
    assert found == [(1, (0, 0)), (1, (0, 1)), (1, (0, 2)), (0, (1,)), (1, (1, 1)), (1, (1, 2)), (0, (2,)),
                     (1, (2, 2))]


def test_a_downward_loop_steps_down() -> None:
    down = HostLoop("t", Int(4), Binary(">=", Name("t"), Int(0)), -2, (Launch("a", (Int(1),), (Name("t"),)),))
    assert [launch.iterators for launch in launches(variant(down))] == [(4,), (2,), (0,)]


def test_branches_choose() -> None:
    even = Binary("==", Binary("%", Name("t"), Int(2)), Int(0))
    branch = HostBranch(even, (Launch("a", (Int(1),), ()),), (Launch("b", (Int(1),), ()),))
    assert [launch.kernel for launch in launches(variant(loop("t", Int(0), Int(4), branch)))] == [0, 1, 0, 1]


def test_empty_grids_are_left_out() -> None:
    program = variant(loop("t", Int(-1), Int(2), Launch("a", (Name("t"),), (Name("t"),))))
    assert [launch.iterators for launch in launches(program)] == [(1,)]


def test_first_launches_look_no_further_than_needed() -> None:
    endless = HostLoop("t", Int(0), Int(1), 1, (Launch("a", (Int(1),), (Name("t"),)), Launch("b", (Int(2),), ())))
    assert [launch.kernel for launch in first_launches(variant(endless))] == [0, 1]


def test_a_kernel_without_dimensions_runs_one_thread() -> None:
    program = variant(Launch("a", (), ()), kernels=(kernel("a", ()),))
    assert list(launches(program)) == [BoundLaunch(0, (1,), (1,), ())]


def test_grid_and_block_must_agree() -> None:
    with pytest.raises(ValueError, match="different dimensions"):
        list(launches(variant(Launch("a", (Int(1), Int(1)), ()))))
