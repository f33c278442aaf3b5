"""Launches of a host loop that are independent are one launch; others stay."""

from __future__ import annotations

from dataclasses import replace

import pytest

from generator.frontend_c.source import Compilation
from generator.lowering import lower
from generator.lowering.heuristics.default import default_plan
from generator.plan import KernelPlan, Plan
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from generator.schedules.stages import Stages
from generator.variant import Variant
from runners.host_program import launches
from tests.support.devices import check_plans, device_named
from tests.support.programs import program_of, scop, write_c
from tests.support.reading import read_untimed
from tests.support.suite import large_program
from tests.support.targets import CUDA

AT = "[m][c][i][j]"
AROUND = Stages(launches=True)


def images(first: int, count: int, statement: str, rows: int = 8) -> str:
    """Loops over `count` images, from number `first` on, of 4 channels with `rows` rows each."""
    loops = f"for (int m = {first}; m < {first + count}; m++) for (int c = 0; c < 4; c++) " \
            f"for (i = 0; i < {rows}; i++) for (j = 0; j < 64; j++)"
    shape = f"[4][{rows}][64]"
    return scop(f"{loops} {statement}", f"float a[{first + count}]{shape}, b[{first + count}]{shape}, s{shape};")


def made(program: Program, schedule: ScheduleChoice | Stages = AROUND, tile: int = 2) -> Variant:
    sizes = (tile, 4, 32)
    return lower(program, Plan(schedule, (KernelPlan(("S0",), sizes, sizes),)), CUDA)


def grids(variant: Variant) -> list[tuple[int, ...]]:
    """Blocks of all launches."""
    return [tuple(n // b for n, b in zip(one.items, one.block, strict=True)) for one in launches(variant)]


@pytest.mark.parametrize(("first", "tile", "grid", "text"), [
    (0, 2, (2, 2, 10), "  const int m = blockIdx.z / 2;\n  const int b0 = blockIdx.z % 2;\n"),
    (3, 2, (2, 2, 10), "  const int m = blockIdx.z / 2 + 3;\n  const int b0 = blockIdx.z % 2;\n"),
    (1, 4, (2, 2, 5), "  const int m = blockIdx.z + 1;\n  const int b1 = blockIdx.y;\n")])
def test_images_are_counted_along_z(first: int, tile: int, grid: tuple[int, ...], text: str) -> None:
    variant = made(program_of(images(first, 5, f"b{AT} = 2 * a{AT};")), tile=tile)
    assert grids(variant) == [grid] and text in variant.source and "const int m)" not in variant.source


@pytest.mark.parametrize(("statement", "schedule"), [
    ("s[c][i][j] += a[m][c][i][j];", ScheduleChoice(reductions=("S0",), launches=True)),
    ("b[m][c][i][j] = b[m - 1][3 - c][7 - i][63 - j] + a[m][c][i][j];", ScheduleChoice())])
def test_dependent_launches_stay(statement: str, schedule: ScheduleChoice) -> None:
    """Updates of the same elements in any order; results that the next launch reads."""
    variant = made(program_of(images(1, 4, statement)), schedule)
    assert len(grids(variant)) == 4 and "const int m)" in variant.source


def test_time_steps_stay() -> None:
    program = large_program("heat-3d")
    assert len(grids(lower(program, default_plan(program, CUDA), CUDA))) == 2 * 500


def test_no_more_blocks_than_a_device_counts_along_z() -> None:
    assert len(grids(made(program_of(images(0, 40000, f"b{AT} = 2 * a{AT};"))))) == 40000
    assert len(grids(made(program_of(images(0, 32767, f"b{AT} = 2 * a{AT};"))))) == 1


def test_results_are_right_on_a_device() -> None:
    text = images(2, 3, f"b{AT} = 2 * a{AT} + m;")
    found = read_untimed(write_c(text), Compilation(), None, None, {}, 0)
    plan = Plan(AROUND, (KernelPlan(("S0",), (2, 4, 32), (2, 4, 16)),))
    device = device_named("pocl")
    assert len(grids(lower(found.program, plan, device.target))) == 1
    check_plans(device, found, [plan, replace(plan, kernels=(replace(plan.kernels[0], columns=True),))])
