"""`antune check`: check the code of one plan, without a search."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, assert_never

import typer

from antune.command_explain import PlanFile
from antune.loops import settle
from antune.options import (
    Args,
    Cflags,
    Defines,
    Device,
    Function,
    IncludeDirs,
    Parameters,
    ProgramLimit,
    RandomInputs,
    Scop,
    Size,
    SourceFile,
    Sources,
    Stdin,
)
from antune.parsing import parse_scoped
from generator.frontend_c.source import PROGRAM_LIMIT_S

if TYPE_CHECKING:
    from generator.plan import Plan
    from generator.problem import Problem
    from metrics.outcome import Failed
    from runners.base import DeviceInfo

NOT_RIGHT = 1
OCLGRIND_S = 600.0
Races = Annotated[bool, typer.Option("--races", help="Also run it under Oclgrind, which finds data races and accesses "
                                     "out of bounds. Slow: choose small sizes.")]


def check(file: SourceFile, plan_file: PlanFile = None, races: Races = False, include: IncludeDirs = None,
          define: Defines = None, source: Sources = None, cflags: Cflags = "", function: Function = None,
          scop: Scop = None, param: Parameters = None, size: Size = None, args: Args = "", stdin: Stdin = None,
          program_limit: ProgramLimit = PROGRAM_LIMIT_S, random_inputs: RandomInputs = False,
          device: Device = None) -> None:
    """Run the code of one plan and compare its results with the original program's.

    Exit code 1 if the check finds an error.

    \b
    Examples:
      antune check gemm.c -D SMALL_DATASET --plan antune-runs/gemm-1/best.json
      antune check gemm.c -D MINI_DATASET --races
    """
    from antune.files import read_plan
    from experiments.search.templates import first_plan
    from generator.lowering.heuristics.usual import usual_plan
    from generator.reading import read_problem, usual_schedule
    from generator.templates.template import Template

    scoped = settle(parse_scoped(file, include, define, source, cflags, function, scop, param, size, args, stdin,
                                 program_limit, random_inputs))
    plan = read_plan(plan_file, "--plan")
    info = _device(device, races)
    problem = read_problem(scoped.file, scoped.compilation, scoped.function, scoped.scop, dict(scoped.parameters), 0,
                           baselines=False)
    for warning in problem.reference.warnings:
        print(f"warning: {warning}")
    if isinstance(problem.subject, Template):
        plan, problem = plan or first_plan(problem.subject), _answered(problem, info)
    plan = plan or usual_plan(problem.program, info.target, usual_schedule(scoped.file))
    right = _compare(problem, plan, info)
    if races:
        right = _look_for_races(problem, plan, info) and right
    if not right:
        raise typer.Exit(NOT_RIGHT)


def _device(selector: str | None, races: bool) -> DeviceInfo:
    """Return the device for the check; also refuse, before anything runs, what cannot be done here."""
    from generator.errors import InputError
    from runners.devices import choose, survey
    from runners.races import OCLGRIND, not_installed
    from runners.registry import DETERMINISTIC

    if selector is not None and selector.split(":")[0] == DETERMINISTIC:
        raise InputError(f"--device {selector} runs nothing, so there is nothing to check; use one of `antune devices`")
    seen = survey()
    if races and all(device.key != OCLGRIND for device in seen.devices):
        raise not_installed()
    return choose(seen.devices, selector, seen.broken)


def _answered(problem: Problem, info: DeviceInfo) -> Problem:
    """Return the problem of a template, with the expected results of its kernel."""
    from experiments.search.templates import answered
    from runners.base import Limits
    from runners.many import Place

    with tempfile.TemporaryDirectory(prefix="antune-check-") as folder:
        return answered(problem, Place((info.key,)), Limits(), Path(folder))


def _compare(problem: Problem, plan: Plan, info: DeviceInfo) -> bool:
    from experiments.words import describe_ms
    from metrics.outcome import Timed
    from runners.base import Job, Limits
    from runners.pool_runner import DeviceRunner

    with tempfile.TemporaryDirectory(prefix="antune-check-") as folder:
        runner = DeviceRunner(problem, info, Limits(min_repeats=2, max_repeats=2), Path(folder), workers=1)
        try:
            ((_, outcome),) = runner.evaluate([Job(0, plan)])
        finally:
            runner.close()
    where = f"{info.name} ({info.platform})"
    if not isinstance(outcome, Timed):
        print(f"results on {where}: {_describe(outcome)}")
        return False
    names = ", ".join(array.name for array in problem.contract.outputs)
    who = {"answer": "the answer has them", "first": "the first configuration computes them"}.get(
        problem.reference.origin, "the original program computes them")
    print(f"results on {where}: right, {names} as {who} ({describe_ms(outcome.median_ms)})")
    return True


def _look_for_races(problem: Problem, plan: Plan, info: DeviceInfo) -> bool:
    from metrics.outcome import CompileFailed
    from runners.base import Limits
    from runners.races import check_races

    report = check_races(problem, plan, info.target, Limits(run_s=OCLGRIND_S))
    for finding in report.findings:
        print(f"Oclgrind: {finding}")
    if isinstance(report.failure, CompileFailed):
        print("Oclgrind cannot compile these kernels (shuffles within sub-groups are unknown to it), so nothing is "
              "known "
              f"about races: {report.failure.message}")
    elif report.failure is not None:
        print(f"results under Oclgrind: {_describe(report.failure)}")
    if report.clean:
        print("Oclgrind: no data race, no access out of bounds, results right")
    return report.clean


def _describe(failure: Failed) -> str:
    """Describe a failure in words."""
    from metrics.outcome import CompileFailed, Crashed, Illegal, LaunchFailed, TimedOut, WrongResult

    match failure:
        case WrongResult(message):
            return f"WRONG: {message}"
        case Illegal(message):
            return f"none, this plan makes no code: {message}"
        case CompileFailed(message):
            return f"none, the kernels do not compile: {message}"
        case LaunchFailed(message):
            return f"none, a launch failed: {message}"
        case Crashed(phase, message):
            return f"none, the process crashed ({phase}): {message}"
        case TimedOut():
            return f"none, {failure.message}; choose smaller sizes"
        case _:
            assert_never(failure)
