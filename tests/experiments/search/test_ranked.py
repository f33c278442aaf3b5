"""Usual start plans in the order of a model: what is left out, what stays, and what a search begins with."""

from __future__ import annotations

from dataclasses import replace
from math import log

import pytest

from experiments.search.parts import PARTS
from experiments.search.ranked import TIMES, ranked
from experiments.values.options import Budget, RunOptions
from generator.frontend_c.source import Compilation
from generator.plan import Plan
from generator.target import Target
from graph.foretelling import Foreseen
from graph.walk import Walk
from metrics.costs.constants import Calibration
from tests.support.suite import pipeline_program
from tests.support.targets import CPU, CUDA

OPTIONS = RunOptions("unsharp.py", Compilation(), Budget(evaluations=1), space="pipeline")


def walks(count: int) -> tuple[Walk, ...]:
    program = pipeline_program("unsharp", "medium")
    return tuple(PARTS.starts(program, CPU, OPTIONS))[:count]


def order(times: list[float | None]) -> list[int]:
    """Return the numbers of walks whose plans have these predicted times, as they are ranked."""
    given = walks(len(times))
    by_plan = {walk.plan: time for walk, time in zip(given, times, strict=True)}

    def foresee(plan: Plan) -> Foreseen:
        time = by_plan[plan]
        return Foreseen(None if time is None else log(time), {})

    return [given.index(walk) for walk in ranked(given, foresee)]


@pytest.mark.parametrize(("times", "expected"), [
    ([3.0, 1.0, 2.0], [1, 2, 0]),
    ([2.0, 1.0, 2.0, 1.0], [1, 3, 0, 2]),  # equal ones keep their order
    ([1.0, TIMES * 1.01, TIMES * 0.99], [0, 2]),
    ([2.0, None, 1.0, None, 9.0], [2, 1, 0, 3]),  # the model cannot rate two of them, which keep their places
    ([None, None], [0, 1]),
    ([], []),
])
def test_the_fastest_come_first_and_the_slowest_not_at_all(times: list[float | None], expected: list[int]) -> None:
    assert order(times) == expected


BEAM = replace(OPTIONS, models=("beam",), beam="width=2,passes=1")


def usual_and_kept(target: Target, options: RunOptions) -> tuple[list[Walk], list[Walk]]:
    """Return the usual start plans of unsharp, and those of them that a search begins with."""
    program = pipeline_program("unsharp", "medium")
    usual = [*PARTS.starts(program, target, OPTIONS)]
    return usual, [walk for walk in PARTS.starts(program, target, options) if walk in usual]


def test_a_search_with_plans_of_a_beam_begins_with_the_best_usual_ones() -> None:
    """The model is right that some of them take five times as long."""
    usual, kept = usual_and_kept(CPU, BEAM)
    assert len(usual) > len(kept) > len(usual) / 3 and kept != [walk for walk in usual if walk in kept]


@pytest.mark.parametrize(("target", "calibration"), [(CUDA, None), (CPU, Calibration("CPU", 20.0, 1e6, (1.0,) * 7))])
def test_where_beams_follow_another_model_they_stay_as_they_are(
    target: Target, calibration: Calibration | None
) -> None:
    usual, kept = usual_and_kept(target, replace(BEAM, calibration=calibration))
    assert kept == usual
