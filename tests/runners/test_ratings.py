"""Metrics in outcomes: those of the static model, for the kernels that were timed, and never at a measurement's cost.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from experiments.run import tune
from experiments.search.parts import PARTS
from experiments.values.options import Budget, RunOptions, Timing
from explorer.random_walk import RandomWalk
from generator.errors import IllegalPlan
from generator.facts import KernelFacts, Operations
from generator.frontend_c.source import Compilation
from generator.lowering import lower
from generator.lowering.heuristics.default import default_plan
from generator.plan import Plan
from generator.problem import Problem
from generator.program import Program
from generator.target import Target
from metrics.device_model import device_model
from metrics.outcome import KernelTime, Timed, program_metrics
from metrics.static_model import NAMES, KernelMetrics, Metrics, metrics_by_statements, static_metrics
from runners.base import Job, Limits
from runners.many import Place
from runners.pool_runner import DeviceRunner
from runners.rating import static_ratings
from runners.tasks import Rate
from tests.support import runners as support
from tests.support.runs import Log
from tests.support.slow import few, in_turn
from tests.support.spoiled import rate_dying, rate_hanging, rate_others, rate_raising
from tests.support.suite import ALL_NAMES, TARGET, polybench_program, problem

QUICK = replace(support.QUICK, rate_s=1.0)


def lowered_statements(program: Program, plan: Plan, target: Target) -> list[tuple[str, ...]]:
    return list(dict.fromkeys(kernel.statements for kernel in lower(program, plan, target).kernels))


def legal_plans(program: Program, target: Target, count: int) -> Iterator[Plan]:
    """Random plans of the O2 space that lowering accepts."""
    options = RunOptions("x.c", Compilation(), Budget(evaluations=1), level="o2")
    for walk in RandomWalk(PARTS.make_space(program, target, options), 1).ask(count):
        try:
            lower(program, walk.plan, target)
        except IllegalPlan:
            continue
        yield walk.plan


def check_ratings(name: str, count: int, target: Target) -> None:
    program = polybench_program(name)
    for plan in (default_plan(program, target), *legal_plans(program, target, count)):
        ratings = static_ratings(program, plan, target)
        assert [statements for statements, _ in ratings] == lowered_statements(program, plan, target)
        for _, metrics in ratings:
            assert [metric for metric, _ in metrics] == [metric for metric in NAMES if metric in dict(metrics)]
            assert metrics and all(0 <= value <= 1 for _, value in metrics)


CPU = replace(TARGET, shares_host_cores=True)


@in_turn
@pytest.mark.parametrize(("name", "target"), few(product(("gemm", "mvt", "jacobi-2d"), (TARGET, CPU)), (
    ("mvt", CPU), ("jacobi-2d", TARGET))))
def test_ratings_are_of_the_kernels_that_run(name: str, target: Target) -> None:
    check_ratings(name, 6, target)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL_NAMES)
def test_ratings_are_of_the_kernels_that_run_in_all_programs(name: str) -> None:
    check_ratings(name, 12, TARGET)


def test_kernels_of_equal_statements_count_together() -> None:
    def kernel(name: str, statements: tuple[str, ...], work: float, **values: float) -> KernelMetrics:
        return KernelMetrics(name, statements, work, tuple(values.items()))

    found = metrics_by_statements(Metrics((
        kernel("a", ("S1",), 1.0, occupancy=1.0, tail=0.5), kernel("b", ("S0",), 5.0, occupancy=0.25),
        kernel("c", ("S1",), 3.0, occupancy=0.5), kernel("d", ("S2",), 1.0, occupancy=float("nan"), tail=1.0)), ()))
    assert [statements for statements, _ in found] == [("S1",), ("S0",), ("S2",)]
    assert [dict(metrics) for _, metrics in found] == [
        {"occupancy": pytest.approx(5 / 8), "tail": 0.5}, {"occupancy": 0.25}, {"tail": 1.0}]


def test_a_kernel_that_does_nothing_has_metrics() -> None:
    idle = KernelFacts("k", ("S0",), (32,), (1,), (1,), 0.0, 0, 1.0, Operations(), (), ())
    ((statements, metrics),) = metrics_by_statements(static_metrics((idle, idle), device_model(TARGET)))
    assert statements == ("S0",)
    assert not metrics, "kernels without work have no weights"
    ((_, alone),) = metrics_by_statements(static_metrics((idle,), device_model(TARGET)))
    assert dict(alone)["block_balance"] == 1


def test_the_metrics_of_a_program_are_weighted_by_time() -> None:
    one, two = KernelTime(("S0",), 3.0, (("tail", 1.0), ("intensity", 0.5))), KernelTime(("S1",), 1.0, (("tail", 0.2),))
    unknown = KernelTime(("S2",), 9.0)
    assert dict(program_metrics((one, two, unknown))) == {"tail": pytest.approx(0.8), "intensity": 0.5}
    idle = [replace(kernel, median_ms=0.0) for kernel in (one, two)]
    assert dict(program_metrics(idle)) == {"tail": pytest.approx(0.6), "intensity": 0.5}
    assert program_metrics(()) == ()


@in_turn
def test_measured_kernels_carry_the_metrics_of_the_static_model(tmp_path: Path) -> None:
    device, mvt = support.device_of("PoCL"), problem("mvt")
    if device is None:
        pytest.skip("PoCL is not installed")
    plan = default_plan(mvt.program, device.target)
    runner = DeviceRunner(mvt, device, QUICK, tmp_path, 1)
    try:
        ((_, outcome),) = runner.evaluate([Job(0, plan)])
    finally:
        runner.close()
    assert isinstance(outcome, Timed), outcome
    assert {k.statements: k.metrics for k in outcome.kernels} == dict(
        static_ratings(mvt.program, plan, device.target))


@pytest.mark.parametrize("rate", few([rate_raising, rate_hanging, rate_dying, rate_others], 1))
def test_a_model_that_fails_loses_no_measurement(rate: Rate, tmp_path: Path) -> None:
    device = support.device_of("PoCL")
    if device is None:
        pytest.skip("PoCL is not installed")
    kinds = (support.GOOD, support.ALSO_GOOD, support.SAME_CODE, support.WRONG, support.ILLEGAL)
    runner = DeviceRunner(support.scale_problem(), device, QUICK, tmp_path, 1, support.lower_by_hand, rate=rate)
    warnings: list[str] = []
    runner.warn_through(warnings.append)
    try:
        outcomes = dict(runner.evaluate([Job(kind, support.plan(kind)) for kind in kinds]))
    finally:
        runner.close()
    assert [type(outcomes[kind]).__name__ for kind in kinds] == ["Timed", "Timed", "Timed", "WrongResult", "Illegal"]
    for outcome in outcomes.values():
        if isinstance(outcome, Timed):
            assert [(k.statements, k.metrics) for k in outcome.kernels] == [(("S0",), ())]
    assert len(warnings) == (0 if rate is rate_others else 1), "one for all plans"


@in_turn
def test_a_search_goes_on_without_the_model_and_says_so_once(tmp_path: Path) -> None:
    device, mvt = support.needed_device("PoCL"), problem("mvt")

    def open_runner(found: Problem, _place: Place, limits: Limits, folder: Path) -> DeviceRunner:
        return DeviceRunner(found, device, limits, folder, 1, rate=rate_raising)

    file = tmp_path / "mvt.c"
    file.write_text("")
    parts = replace(
        PARTS, read_problem=lambda _options, _tell: mvt, check_place=lambda place: place, open_runner=open_runner
    )
    log = Log()
    options = RunOptions(str(file), Compilation(), Budget(evaluations=1), timing=Timing(finalists=0))
    finish = tune(options, tmp_path / "run", log, parts)
    assert finish.ending == "finished" and finish.best is not None
    (warning,) = [note for note in log.notes if note.startswith("warning: the static model fails")]
    assert "ZeroDivisionError: a bug in the model" in warning and "report" in warning
