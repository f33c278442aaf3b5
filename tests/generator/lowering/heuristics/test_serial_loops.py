"""Loops of the host around little work may run in one thread of one kernel; by default they do where that is faster."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from experiments.suites import everyday
from experiments.values.options import LevelName
from generator.errors import IllegalPlan
from generator.frontend_c.source import Compilation
from generator.lowering import lower
from generator.lowering.heuristics.default import default_plan
from generator.lowering.heuristics.serial_loops import serial_schedule
from generator.lowering.heuristics.usual import usual_plan
from generator.plan import plan_from_json
from generator.polyhedral.pipelines.sections import launched_nests
from generator.polyhedral.schedules.kernels import schedule_kernels
from generator.problem import Problem
from generator.schedules.choice import ScheduleChoice
from generator.schedules.hyperplanes import Hyperplanes
from generator.schedules.partition import Partition
from generator.schedules.schedule import serial_of
from generator.target import Target
from generator.variant import Launch
from tests.support.devices import check_plans, device_named
from tests.support.reading import read_untimed
from tests.support.slow import few, in_turn
from tests.support.space_plans import first_walks, random_plans
from tests.support.suite import TARGET
from tests.support.targets import HOPPER

CPU = replace(TARGET, shares_host_cores=True, compute_units=2)
DEEP = "void f(float a[300][{n}]) {{\n#pragma scop\n" \
    "for (int i = 1; i < 300; i++) for (int j = 0; j < {n}; j++) a[i][j] = a[i - 1][{n} - 1 - j];\n" \
    "#pragma endscop\n}}\n"

KMEANS = """
int label[150], members[4];
float points[150][4], centres[4][4], sums[4][4], distance[4];
void assign(void)
{
#pragma scop
  for (int p = 0; p < 150; p++) {
    for (int c = 0; c < 4; c++) {
      distance[c] = 0;
      for (int d = 0; d < 4; d++)
        distance[c] += (points[p][d] - centres[c][d]) * (points[p][d] - centres[c][d]);
    }
    int best = 0;
    float nearest = distance[0];
    for (int c = 1; c < 4; c++)
      if (distance[c] < nearest) {
        nearest = distance[c];
        best = c;
      }
    label[p] = best;
    members[label[p]] += 1;
    for (int d = 0; d < 4; d++)
      sums[label[p]][d] += points[p][d];
  }
#pragma endscop
}
"""


@pytest.fixture(scope="module", params=few(("lattice", "kmeans"), 1))
def small(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Problem:
    if request.param == "lattice":
        return read_untimed(everyday.program_file("lattice"), Compilation(defines=("SMALL",)), None, None, {}, 0)
    file = tmp_path_factory.mktemp("kmeans") / "kmeans.c"
    file.write_text(KMEANS)
    return read_untimed(file, Compilation(), None, None, {}, 0)


def rows_of(n: int, folder: Path) -> Problem:
    """300 dependent iterations, each of which updates `n` elements in parallel."""
    file = folder / f"deep{n}.c"
    file.write_text(DEEP.format(n=n))
    return read_untimed(file, Compilation(), None, None, {}, 0)


@pytest.mark.parametrize("target", [CPU, HOPPER], ids=lambda target: target.name)
def test_by_default_the_device_runs_loops_around_little_work(small: Problem, target: Target) -> None:
    plan = usual_plan(small.program, target)
    assert all(isinstance(operation, Launch) for operation in lower(small.program, plan, target).host)
    on_the_host = lower(small.program, default_plan(small.program, target), target).host
    assert not all(isinstance(operation, Launch) for operation in on_the_host)


@pytest.mark.parametrize(("width", "alone"), [(8, (True, True)), (256, (True, False)), (2048, (False, False))])
def test_what_is_much_work_per_launch_stays_on_the_host(width: int, alone: tuple[bool, bool], tmp_path: Path) -> None:
    program, pluto = rows_of(width, tmp_path).program, ScheduleChoice()
    assert tuple(serial_of(serial_schedule(program, target, pluto)) == ("S0",) for target in (CPU, HOPPER)) == alone


@in_turn
@pytest.mark.parametrize("level", get_args(LevelName))
def test_every_level_offers_both(small: Problem, level: LevelName) -> None:
    plans = random_plans(small.program, CPU, level, 12, 3)
    serial = [plan for plan in plans if serial_of(plan.scheduled)]
    assert 0 < len(serial) < len(plans)
    for plan in serial:
        lower(small.program, plan, CPU)
    assert serial_of(first_walks(small.program, level, CPU)[0].scheduled), "a search begins with what is best by far"


@in_turn
def test_their_results_are_right(small: Problem) -> None:
    device = device_named("pocl")
    plans = [usual_plan(small.program, device.target)]
    for level in get_args(LevelName):
        plans += [p for p in random_plans(small.program, device.target, level, 10, 1) if serial_of(p.scheduled)][:1]
    check_plans(device, small, plans)


def test_part_of_a_loop_is_no_loop(small: Problem) -> None:
    [nest, *_] = launched_nests(small.program, ScheduleChoice())
    half = ScheduleChoice(serial=nest.statements[:1])
    with pytest.raises(IllegalPlan, match=f"{nest.statements[0]} cannot be chosen to run in one thread"):
        schedule_kernels(small.program, half)


def test_plans_say_so_in_json_only_where_it_is_so(small: Problem) -> None:
    plan = usual_plan(small.program, CPU)
    assert plan_from_json(plan.to_json()) == plan
    assert '"serial"' in plan.to_json()
    for schedule in (ScheduleChoice(), Partition(()), Hyperplanes(())):
        assert '"serial"' not in replace(plan, schedule=schedule).to_json()
