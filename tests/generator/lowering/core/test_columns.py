"""Blocks along columns: devices begin blocks one below the other, the results stay."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from generator.expr import Int
from generator.lowering import lower
from generator.plan import KernelPlan, Plan
from generator.schedules.choice import ScheduleChoice
from generator.schedules.time_tiles import TimeTiles
from generator.target import Dialect
from generator.variant import HostBranch, HostLoop, HostOp, Launch
from tests.support.devices import check_plans
from tests.support.programs import program_of, scop
from tests.support.runners import needed_device
from tests.support.slow import in_turn
from tests.support.suite import TARGET, polybench_program, problem

GEMM = ("NI=21", "NJ=37", "NK=9")
"""With tiles of 4 x 8 a grid of 5 x 6 blocks: results are missing or wrong if the two are mixed up."""


def plan(tile: tuple[int, ...], columns: bool = True) -> Plan:
    return Plan(ScheduleChoice(), (KernelPlan(("S0", "S1"), tile, (1,) * (len(tile) - 1) + (4,), columns=columns),))


def grids(operations: tuple[HostOp, ...]) -> list[tuple[int, ...]]:
    """Of all launches."""
    found: list[tuple[int, ...]] = []
    for operation in operations:
        match operation:
            case Launch(grid=grid):
                found.append(tuple(size.value for size in grid if isinstance(size, Int)))
            case HostLoop(body=body):
                found += grids(body)
            case HostBranch(_, then, otherwise):
                found += grids(then) + grids(otherwise)
    return found


@pytest.mark.parametrize(
    ("dialect", "x", "y"), [("opencl", "get_group_id(0)", "get_group_id(1)"), ("cuda", "blockIdx.x", "blockIdx.y")]
)
def test_the_devices_x_counts_blocks_along_y(dialect: Dialect, x: str, y: str) -> None:
    program, target = polybench_program("gemm", GEMM), replace(TARGET, dialect=dialect)
    rows, columns = (lower(program, plan((4, 8), told), target) for told in (False, True))
    assert f"b0 = {y};" in rows.source and f"b1 = {x};" in rows.source and grids(rows.host) == [(5, 6)]
    assert f"b0 = {x};" in columns.source and f"b1 = {y};" in columns.source and grids(columns.host) == [(6, 5)]
    assert rows.kernels[0].block == columns.kernels[0].block == (4, 1), "threads stay as they are"
    thread = [line for line in columns.source.splitlines() if " t1 = " in line]
    assert thread and thread == [line for line in rows.source.splitlines() if " t1 = " in line]


def test_of_three_dimensions_the_first_stays() -> None:
    program = program_of(
        scop(
            "for (int i = 0; i < 4; i++) for (int j = 0; j < 6; j++) for (int k = 0; k < 10; k++) x[i][j][k] = "
            "A[i][j][k];",
            "float x[4][6][10], A[4][6][10];",
        )
    )
    found = lower(program, Plan(ScheduleChoice(), (KernelPlan(("S0",), (2, 2, 2), (1, 1, 1), columns=True),)), TARGET)
    assert grids(found.host) == [(3, 5, 2)]
    assert all(f"b{d} = get_group_id({axis})" in found.source for d, axis in ((0, 2), (1, 0), (2, 1)))


def test_one_dimension_has_no_columns() -> None:
    program = program_of(scop("for (int i = 0; i < 9; i++) x[i] = A[i];", "float x[9], A[9];"))
    rows, columns = (
        lower(program, Plan(ScheduleChoice(), (KernelPlan(("S0",), (2,), (1,), columns=told),)), TARGET)
        for told in (False, True)
    )
    assert rows.source == columns.source and grids(rows.host) == grids(columns.host) == [(5,)]


@in_turn
@pytest.mark.parametrize("platform", ["PoCL", "Intel OpenCL"])
def test_devices_compute_what_c_does(platform: str, tmp_path: Path) -> None:
    """Kernels with several blocks in both directions, in registers and in shared memory."""
    device, found = needed_device(platform), problem("gemm", GEMM)
    [kernel] = plan((4, 8)).kernels
    kernels = [
        kernel,
        replace(kernel, shared=True),
        replace(kernel, order=(1, 0)),
        replace(kernel, registers=True, points_inside=True),
    ]
    check_plans(device, found, [Plan(ScheduleChoice(), (one,)) for one in kernels])


@in_turn
def test_time_steps_have_columns_too(tmp_path: Path) -> None:
    device, found = needed_device("PoCL"), problem("jacobi-2d", ("N=30", "TSTEPS=7"))
    kernel = KernelPlan(tuple(sorted(s.name for s in found.program.statements)), (4, 8), (1, 1), columns=True)
    chosen = Plan(TimeTiles(2), (kernel,))
    assert grids(lower(found.program, chosen, device.target).host) == [(8, 4)]
    check_plans(device, found, [chosen])

