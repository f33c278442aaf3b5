"""`capture`: run the sequential program once and store its inputs, its results and its time.

1. If the file (or another source) has a `main`: compile, link and run an instrumented copy.
2. Otherwise, or if that fails (with a warning), a generated `main` calls the function with seeded data.
3. If the size behind a pointer is unknown, a probing run first reports the parameters and the available memory;
   `resolve` turns them into the extents that the accesses need.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy as np

from generator.capture.baselines import NO_OTHERS, OtherBuilds, Times, other_builds, timed_builds
from generator.capture.build import PLAIN, UNTIMED, Build, RunFailed, for_many_loops, system_compiler
from generator.capture.dump import Log, check_aliasing, check_sizes, read_data, read_log
from generator.capture.execute import Ended, Tell, execute
from generator.capture.harness import Harness
from generator.capture.instrument import scop_text
from generator.capture.programs import Programs, Recipe, rounds
from generator.errors import InputError, Location
from generator.frontend_c.source import PLAIN_START, Invocation, ScopSource
from generator.problem import Origin, Reference, Values
from generator.rounding import rounding_tolerance
from generator.scratch import scratch_folder

Resolve: TypeAlias = Callable[[Mapping[str, int], Mapping[str, int]], Mapping[str, tuple[int, ...]]]

_START_HINT = ("; arguments are given with --args, its input with --stdin (it runs in an empty folder of its own: "
               "files that it "
               "opens by name need their whole path)")


@dataclass(frozen=True, slots=True)
class Captured:
    """Parameter values and array extents at the SCoP's entry, and the data and times of the run.

    `rounded`: the outputs of each pair of runs with another rounding (up, down).
    """

    parameters: Mapping[str, int]
    extents: Mapping[str, tuple[int, ...]]
    reference: Reference
    rounded: tuple[tuple[Values, Values], ...] = ()


@dataclass(frozen=True, slots=True)
class _Run:
    """A complete instrumented run: its log and data. `rounded`: the outputs of each pair (up, down)."""

    recipe: Recipe
    log: Log
    inputs: Values
    outputs: Values
    rounded: tuple[tuple[Values, Values], ...]


@dataclass(frozen=True, slots=True)
class _Job:
    """The common data of all runs of one capture. The build `reference` computes the results; `others` are timed, too.
    """

    source: ScopSource
    programs: Programs
    reference: Build
    others: OtherBuilds
    resolve: Resolve
    tell: Tell


def capture(source: ScopSource, overrides: Mapping[str, int], resolve: Resolve, seed: int,
            limit_s: float | None = None, tell: Tell = lambda _: None, baselines: bool = True) -> Captured:
    """Run the sequential program (for at most `limit_s` seconds, else as its invocation says) and return its data and
    times.

    `overrides` sets integer parameters of the generated `main`; a program's own `main` sets its own. `resolve` returns
    the extents of arrays of unknown size, from the parameters and the known numbers of elements behind pointers. `seed`
    determines generated data. `baselines`: also time other builds of the program.

    Raises:
        InputError: no C compiler, elements of an unexpected size, arrays that overlap, or neither the program nor the
            function alone can run.
    """
    compiler, limit_s = system_compiler(), limit_s or source.compilation.invocation.limit_s
    source = for_many_loops(source, compiler)
    with scratch_folder("antune-capture-") as directory:
        text = scop_text(source)
        programs = Programs(source, compiler, directory, text, seed, limit_s)
        job = (_Job(source, programs, PLAIN, other_builds(source, text, compiler), resolve, tell) if baselines else
               _Job(source, programs, UNTIMED, NO_OTHERS, resolve, tell))
        warnings = source.warnings
        if source.has_main or source.compilation.sources:
            try:
                return _captured(job, _complete_run(job, None, False), "capture", (*warnings, *_ignored(overrides)))
            except RunFailed as error:
                warnings = (*warnings, *_not_run(source, error))
        elif source.compilation.invocation.given:
            raise InputError(f"--args and --stdin are for programs, but {source.file} has no `main`; name the file "
                             "that has one with --source")
        try:
            return _with_harness(job, overrides, warnings)
        except RunFailed as error:
            raise InputError(f"`{source.function}` cannot be run by itself: {error}{_hints(warnings)}",
                             Location(source.file, source.first_line)) from None


def _ignored(overrides: Mapping[str, int]) -> tuple[str, ...]:
    return tuple(f"--param {name}={value} has no effect: the program's own main sets its sizes; change them with -D "
                 "where it uses macros" for name, value in overrides.items())


def _hints(warnings: tuple[str, ...]) -> str:
    return "".join(f"; {warning}" for warning in warnings) or "; give it a `main`, or sizes with --param NAME=VALUE"


def _with_harness(job: _Job, overrides: Mapping[str, int], warnings: tuple[str, ...]) -> Captured:
    if inside := next((v.field.base for v in job.source.variables if v.field is not None), None):
        why = "".join(f"; {warning}" for warning in warnings)
        raise InputError(f"the loops use members of structures (`{inside.lstrip('*')}`): give the file a `main` that "
                         "fills them, random data "
                         f"are only made for plain arrays{why}", Location(job.source.file, job.source.first_line))
    harness = job.programs.harness(overrides)
    run = _complete_run(job, harness, False)
    if not _finite(run.outputs):  # e.g. a factorisation, which needs a dominant diagonal
        again = _complete_run(job, harness, True)
        run = again if _finite(again.outputs) else run
    chosen = tuple(f"it is unknown how large `{name}` is: {name} = {value} was taken; choose with --param "
                   f"{name}=VALUE" for name, value in run.log.defaults.items())
    return _captured(job, run, "harness", (*warnings, *chosen))


def _complete_run(job: _Job, harness: Harness | None, dominant: bool) -> _Run:
    """Return the full run, after a probing run if needed. Raises RunFailed or InputError."""
    firsts: dict[str, int] = {}
    unknown = [v.name for v in job.source.variables if None in v.extents]
    if unknown:
        _, probe = _run(job, Recipe(harness, None, dominant, job.reference))
        resolved = job.resolve(probe.parameters, probe.rooms)
        firsts = {name: resolved[name][0] for name in unknown if name in resolved}
    recipe = Recipe(harness, firsts, dominant, job.reference)
    job.programs.begin([recipe, *(replace(recipe, build=build) for build in job.others.all)])
    directory, log = _run(job, recipe)
    check_aliasing(job.source, log)
    inputs, outputs = (read_data(job.source, log, directory, kind) for kind in ("in", "out"))
    rounded = tuple((read_data(job.source, log, directory, f"up{pair}", mapped=True),
                     read_data(job.source, log, directory, f"down{pair}", mapped=True)) for pair in range(log.rounded))
    return _Run(recipe, log, inputs, outputs, rounded)


def _run(job: _Job, recipe: Recipe) -> tuple[Path, Log]:
    programs = job.programs
    made = programs.made(recipe)
    invocation = PLAIN_START if recipe.harness else job.source.compilation.invocation
    ended = execute(made.program, made.directory, programs.directory, programs.limit_s, recipe.build.threads,
                    invocation, job.tell)
    log = read_log(made.directory)
    if log is not None:
        check_sizes(job.source, log)
    if log is None or not log.done:  # runs after "done" may fail: a test on an inexact number can go another way
        raise RunFailed(_explain(job.source, log, ended))
    return made.directory, log


def _explain(source: ScopSource, log: Log | None, ended: Ended) -> str:
    printed = f" ({ended.output})" if ended.output else ""
    if log is not None and log.open is not None:
        variable = source.variables[log.open]
        extents = "".join(f"[{e}]" for e in log.extents.get(log.open, ()))
        reason = log.error or f"{ended.reason}; its memory is smaller than its declaration says"
        return f"`{variable.name}{extents}` cannot be read at the SCoP's entry: {reason}"
    if log is not None and log.error:
        return log.error
    if log is None or not (log.parameters or log.addresses):
        return (
            f"{_started(source.compilation.invocation)}, it never reached the SCoP: "
            f"{ended.reason}{printed}{_START_HINT}"
        )
    return f"the SCoP did not end: {ended.reason}{printed}"


def _not_run(source: ScopSource, error: RunFailed) -> tuple[str, ...]:
    """Return the warning about a program that could not be run. Raises InputError if it must be run."""
    if not source.has_main and "undefined reference to `main'" in str(error):  # helpers of a function without a program
        return ()
    if source.function == "main" or not source.compilation.invocation.random_inputs:
        advice = f"; --random-inputs tunes `{source.function}` with random data instead"
        raise InputError(f"the program cannot be run: {error}{advice if source.function != 'main' else ''}",
                         Location(source.file, source.first_line)) from None
    return (f"the program could not be run, so its inputs are seeded random data instead: {error}",)


def _started(invocation: Invocation) -> str:
    given = invocation.arguments
    how = f"run with the arguments {shlex.join(given)}" if given else "run without arguments"
    return how + (f" and {invocation.stdin} as its input" if invocation.stdin else "")


def _timed(job: _Job, recipe: Recipe, build: Build) -> Times:
    """Return the times of the same run in another build. Raises RunFailed."""
    directory, log = _run(job, replace(recipe, build=build))
    return Times(tuple(log.times_ms), log.threads, read_data(job.source, log, directory, "out", mapped=True))


def _finite(values: Values) -> bool:
    return all(bool(np.isfinite(v).all()) for v in values.values() if v.dtype.kind == "f")


def _captured(job: _Job, run: _Run, origin: Origin, warnings: tuple[str, ...]) -> Captured:
    extents = {v.name: tuple(run.log.extents[k]) for k, v in enumerate(job.source.variables)}
    plain = Times(tuple(run.log.times_ms), 1, run.outputs)
    warnings = (*warnings, *_doubts(run.outputs))
    if not run.rounded and rounds(job.source):
        reason = (f"one run takes {max(plain.samples_ms) / 1000:.3g} s" if run.log.complete
                  else "the original fails when its arithmetic rounds differently")
        warning = (f"how far rounding errors change the results was not measured, because {reason}: all results must "
                   "meet the usual tolerance")
        warnings = (*warnings, warning)
    rounding = _rounding(job.source, run)
    timed = timed_builds(job.source, job.programs.compiler, plain, rounding, job.reference, job.others,
                         partial(_timed, job, run.recipe))
    return Captured(dict(run.log.parameters), extents,
                    Reference(run.inputs, run.outputs, timed.sequential_ms, origin, timed.compiler,
                              (*warnings, *timed.warnings), rounding, timed.baselines), run.rounded)


def _rounding(source: ScopSource, run: _Run) -> Values:
    """Return the differences that rounding errors explain, by output, without outputs for which the usual tolerance is
    enough.
    """
    found = {name: rounding_tolerance(source.variable(name).type, value,
                                      [(up[name], down[name]) for up, down in run.rounded])
             for name, value in run.outputs.items()}
    return {name: tolerance for name, tolerance in found.items() if tolerance is not None}


def _doubts(outputs: Values) -> list[str]:
    """Return warnings about results that are usable but less meaningful."""
    doubts = []
    broken = [name for name, value in outputs.items() if not _finite({name: value})]
    if broken:
        doubts.append(f"the sequential result is not finite in {', '.join(broken)}: comparing results with it says "
                      "little; check the program's input data")
    return doubts
