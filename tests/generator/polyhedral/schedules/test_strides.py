"""Schedules of programs whose iterations are every other point."""

from __future__ import annotations

import pytest

from generator.lowering.heuristics.default import default_plan
from generator.polyhedral.dependences.expansion import expand
from generator.schedules.choice import ScheduleChoice
from tests.support.plans import TARGET, check_plan
from tests.support.programs import program_of, scop

COLOURS = """for (k = 0; k < 3; k++)
  for (int colour = 0; colour < 2; colour++)
    for (i = 1; i < 9; i++)
      for (j = 1 + (i + colour) % 2; j < 9; j += 2)
        A[i][j] = 0.25 * (A[i - 1][j] + A[i + 1][j] + A[i][j - 1] + A[i][j + 1] + B[i][j]);"""


@pytest.mark.parametrize("choice", [ScheduleChoice(), ScheduleChoice("feautrier"),
                                    ScheduleChoice(outer_coincidence=False)], ids=str)
def test_a_gauss_seidel_sweep_by_colours_has_schedules(choice: ScheduleChoice) -> None:
    program = expand(program_of(scop(COLOURS)))
    check_plan(program, default_plan(program, TARGET, choice=choice))
