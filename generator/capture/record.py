"""`capture`: run the sequential program once and keep its inputs, its results and its time.

1. The file has a `main` (or another source does): an instrumented copy of it is compiled, linked and run.
2. Otherwise, or when that fails (a warning says why), a generated `main` calls the function with seeded data.
3. When the size behind a pointer is unknown, a probing run first reports the parameters, and what memory is there;
   `resolve` turns them into the extents that the accesses need.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy as np

from generator.capture.baselines import Times, timed_builds
from generator.capture.build import (
    PLAIN,
    UNTIMED,
    Build,
    Compiler,
    RunFailed,
    Unit,
    compile_unit,
    link,
    linked_beside,
    system_compiler,
    user_flags,
)
from generator.capture.dump import Log, check_aliasing, read_data, read_log
from generator.capture.execute import Ended, Tell, execute
from generator.capture.harness import Harness, harness_main, plan_harness
from generator.capture.instrument import instrumented, scop_text, write_text
from generator.capture.lvalues import is_real
from generator.capture.runtime import runtime_object, settings
from generator.errors import InputError, Location
from generator.frontend_c.source import PLAIN_START, Invocation, ScopSource
from generator.problem import Origin, Reference, Values
from generator.rounding import rounding_tolerance
from generator.scratch import scratch_folder

Resolve: TypeAlias = Callable[[Mapping[str, int], Mapping[str, int]], Mapping[str, tuple[int, ...]]]

_START_HINT = ("; arguments are given with --args, its input with --stdin (it runs in an empty folder of its own: "
               "files that it "
               "opens by name need their whole path)")
_RUNTIME = Path(__file__).with_name("runtime.c")
_BLOCKS = Path(__file__).with_name("blocks.c")
# Linkers of other systems than Linux cannot put something else in the place of malloc.
_RECORDED = tuple(f"-Wl,--wrap={name}" for name in ("malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign")
                  if sys.platform == "linux")
_TIMING_BUDGET_S = 60.0
_ROUNDED_PAIRS = 2
_ROUNDED_BUDGET_S = 40.0
# Functions that only an unused `main` needs are dropped by the linker, and with them what they call.
_DROP_UNUSED = ("-ffunction-sections", "-fdata-sections")


@dataclass(frozen=True, slots=True)
class Captured:
    """Parameter values and array extents at the SCoP's entry, and the data and times of the run."""

    parameters: Mapping[str, int]
    extents: Mapping[str, tuple[int, ...]]
    reference: Reference


@dataclass(frozen=True, slots=True)
class _Recipe:
    """How a run is made: by the program's own `main` (`harness` None) or a generated one, and in which build.

    `firsts` are the extents that the declarations do not say; None makes a probing run. `dominant`: see the harness.
    """

    harness: Harness | None
    firsts: Mapping[str, int] | None
    dominant: bool
    build: Build


@dataclass(frozen=True, slots=True)
class _Run:
    """A complete instrumented run: its log and data; `rounded` are the outputs of each pair (up, down)."""

    recipe: _Recipe
    log: Log
    inputs: Values
    outputs: Values
    rounded: tuple[tuple[Values, Values], ...]


@dataclass
class _Job:
    """What all runs of one capture share; `directory` is temporary."""

    source: ScopSource
    compiler: Compiler
    directory: Path
    text: str
    resolve: Resolve
    seed: int
    limit_s: float
    tell: Tell
    baselines: bool
    runs: int = 0
    objects: dict[tuple[Build, str], list[Path]] = field(default_factory=dict)


def capture(source: ScopSource, overrides: Mapping[str, int], resolve: Resolve, seed: int,
            limit_s: float | None = None, tell: Tell = lambda _: None, baselines: bool = True) -> Captured:
    """Run the sequential program (at most `limit_s` seconds per run, else as its invocation says) and keep what it did.

    `overrides` sets integer parameters of the generated `main`; a program's own `main` sets its own. `resolve`
    gives, from the parameters and the elements that lie behind pointers where known, the extents of arrays whose size
    is unknown. `seed` determines generated data. `baselines`: whether to time other builds of the program, too.

    Raises:
        InputError: no C compiler, arrays that overlap, or neither the program nor the function alone can run.
    """
    compiler, limit_s = system_compiler(), limit_s or source.compilation.invocation.limit_s
    with scratch_folder("antune-capture-") as directory:
        job = _Job(source, compiler, directory, scop_text(source), resolve, seed, limit_s, tell, baselines)
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
    unit = Unit(job.directory / "trial.c", _quoted_includes(job.source))
    flags = (*user_flags(job.source.compilation), "-Dmain=antune_other_main")
    harness = plan_harness(job.source, overrides, job.text, job.compiler, unit, flags, job.limit_s)
    run = _complete_run(job, harness, False)
    if not _finite(run.outputs):  # a factorisation, perhaps: they need a dominant diagonal
        again = _complete_run(job, harness, True)
        run = again if _finite(again.outputs) else run
    chosen = tuple(f"nothing says how large `{name}` is: {name} = {value} was taken; choose with --param "
                   f"{name}=VALUE" for name, value in run.log.defaults.items())
    return _captured(job, run, "harness", (*warnings, *chosen))


def _complete_run(job: _Job, harness: Harness | None, dominant: bool) -> _Run:
    """The full run, after a probing one where it is needed. Raises RunFailed or InputError."""
    firsts: dict[str, int] = {}
    build = PLAIN if job.baselines else UNTIMED
    unknown = [v.name for v in job.source.variables if None in v.extents]
    if unknown:
        _, probe = _run(job, _Recipe(harness, None, dominant, build))
        resolved = job.resolve(probe.parameters, probe.rooms)
        firsts = {name: resolved[name][0] for name in unknown if name in resolved}
    recipe = _Recipe(harness, firsts, dominant, build)
    directory, log = _run(job, recipe)
    check_aliasing(job.source, log)
    inputs, outputs = (read_data(job.source, log, directory, kind) for kind in ("in", "out"))
    rounded = tuple((read_data(job.source, log, directory, f"up{pair}"),
                     read_data(job.source, log, directory, f"down{pair}")) for pair in range(log.rounded))
    return _Run(recipe, log, inputs, outputs, rounded)


def _run(job: _Job, recipe: _Recipe) -> tuple[Path, Log]:
    job.runs += 1
    directory = job.directory / f"run{job.runs}"
    directory.mkdir()
    program = _build(job, recipe, directory)
    invocation = PLAIN_START if recipe.harness else job.source.compilation.invocation
    ended = execute(program, directory, job.directory, job.limit_s, recipe.build.threads, invocation, job.tell)
    log = read_log(directory)
    if log is None or not log.done:  # what follows "done" may fail: a test on an inexact number can go another way
        raise RunFailed(_explain(job.source, log, ended))
    return directory, log


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
    """The warning about a program that could not be run. Raises InputError where it must be run."""
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


def _timed(job: _Job, recipe: _Recipe, build: Build) -> Times:
    """The same run in another build. Raises RunFailed."""
    directory, log = _run(job, replace(recipe, build=build))
    return Times(tuple(log.times_ms), log.threads, read_data(job.source, log, directory, "out"))


def _build(job: _Job, recipe: _Recipe, directory: Path) -> Path:
    harness, firsts, build = recipe.harness, recipe.firsts, recipe.build
    text = (_settings(job, directory, recipe) + instrumented(job.source, job.text, firsts)
            + (harness_main(harness, firsts) if harness else ""))
    file = directory / "scop.c"
    write_text(file, text)
    own = Unit(file, _quoted_includes(job.source))
    flags = user_flags(job.source.compilation, build)
    if harness:
        flags = (*flags, *_DROP_UNUSED, "-Dmain=antune_other_main")
    objects = [compile_unit(job.compiler, own, flags, directory / "scop.o", job.limit_s),
               _c_half(job, _RUNTIME, build, directory)]
    program = directory / "program"
    if not harness:
        probing = [_c_half(job, _BLOCKS, PLAIN, directory)] if firsts is None and _RECORDED else []
        flags = (*flags, *_RECORDED) if probing else flags
        return link(job.compiler, [*objects, *probing, *_others(job, build, "program")], flags, program, job.limit_s)
    flags = (*flags, "-Wl,--gc-sections")
    try:
        return link(job.compiler, [*objects, *_others(job, build, "harness")], flags, program, job.limit_s)
    except RunFailed:  # the function itself may need none of them
        return link(job.compiler, objects, flags, program, job.limit_s)


def _others(job: _Job, build: Build, kind: str) -> list[Path]:
    """What is linked beside the tuned file, made once per build and kind; in a harness their `main` is renamed."""
    if (build, kind) not in job.objects:
        harness = kind == "harness"
        flags = (*user_flags(job.source.compilation, build), *(_DROP_UNUSED if harness else ()))
        target = job.directory / f"{kind}_{len(job.objects)}"
        job.objects[build, kind] = linked_beside(job.compiler, job.source, flags, target, job.limit_s, harness)
    return job.objects[build, kind]


def _settings(job: _Job, directory: Path, recipe: _Recipe) -> str:
    limits_ms = (min(_TIMING_BUDGET_S, job.limit_s / 4) * 1e3, job.limit_s * 900,
                 min(_ROUNDED_BUDGET_S, job.limit_s / 10) * 1e3)
    pairs = _ROUNDED_PAIRS if _rounds(job.source) and recipe.build in (PLAIN, UNTIMED) else 0
    return settings(directory, limits_ms, job.seed, pairs, recipe.dominant)


def _c_half(job: _Job, file: Path, build: Build, directory: Path) -> Path:
    """A C file of the capture itself, which runs on any machine that this compiler makes code for."""
    openmp = [flag for flag in (*build.flags, *job.source.compilation.cflags) if "openmp" in flag]
    return runtime_object(job.compiler, file, openmp, directory, job.limit_s)


def _quoted_includes(source: ScopSource) -> tuple[str, ...]:
    """The copy lies elsewhere: `#include "x.h"` must still look beside the original."""
    return ("-iquote", str(Path(source.file).resolve().parent))


def _rounds(source: ScopSource) -> bool:
    """Whether the SCoP has floating-point numbers to round."""
    return any(is_real(v) for v in (*source.variables, *source.locals))


def _finite(values: Values) -> bool:
    return all(bool(np.isfinite(v).all()) for v in values.values() if v.dtype.kind == "f")


def _captured(job: _Job, run: _Run, origin: Origin, warnings: tuple[str, ...]) -> Captured:
    extents = {v.name: tuple(run.log.extents[k]) for k, v in enumerate(job.source.variables)}
    plain = Times(tuple(run.log.times_ms), 1, run.outputs)
    warnings = (*warnings, *_doubts(run.outputs))
    if not run.rounded and _rounds(job.source):
        reason = (f"one run takes {max(plain.samples_ms) / 1000:.3g} s" if run.log.complete
                  else "the original fails when its arithmetic rounds differently")
        warning = (f"how far rounding errors change the results was not measured, because {reason}: all results must "
                   "meet the usual tolerance")
        warnings = (*warnings, warning)
    rounding = _rounding(job.source, run)
    other = partial(_timed, job, run.recipe) if job.baselines else None
    timed = timed_builds(job.source, job.text, job.compiler, plain, rounding, run.recipe.build, other)
    return Captured(dict(run.log.parameters), extents,
                    Reference(run.inputs, run.outputs, timed.sequential_ms, origin, timed.compiler,
                              (*warnings, *timed.warnings), rounding, timed.baselines))


def _rounding(source: ScopSource, run: _Run) -> Values:
    """What rounding errors explain, by output; outputs for which the usual tolerance is enough are not there."""
    found = {name: rounding_tolerance(source.variable(name).type, value,
                                      [(up[name], down[name]) for up, down in run.rounded])
             for name, value in run.outputs.items()}
    return {name: tolerance for name, tolerance in found.items() if tolerance is not None}


def _doubts(outputs: Values) -> list[str]:
    """Warnings about results that can be used but say less than they should."""
    doubts = []
    broken = [name for name, value in outputs.items() if not _finite({name: value})]
    if broken:
        doubts.append(f"the sequential result is not finite in {', '.join(broken)}: comparing results with it says "
                      "little; check the program's input data")
    return doubts
