"""The command that repeats a run: its options as those of `antune tune`."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from experiments.values.objective import Objective
from experiments.values.options import COMPILE_LIMIT_S, NO_MODELS, RUN_LIMIT_S, Budget, RunOptions, Timing
from experiments.values.records import RunInfo
from generator.frontend_c.source import PROGRAM_LIMIT_S, Compilation
from generator.plain_text import path_word


def reproduce_command(info: RunInfo) -> str:
    """Return the shell command that repeats this run. If a Python program started it, the command runs that program,
    and a comment lists the options that it passed to `antune.tune`.
    """
    file, flags = info.options.file, shlex.join(_words(info.options))
    if info.options.from_python:
        return f"{shlex.join(['python', path_word(file)])}  # its antune.tune was told {flags}"
    return f"{shlex.join(['antune', 'tune', path_word(file)])} {flags}"


def _words(options: RunOptions) -> list[str]:
    return [*_repeated(options), *_compilation_words(options.compilation), *_timing_words(options.timing),
            *_objective_words(options.objective), *_single(options), *_switches(options)]


def _repeated(options: RunOptions) -> Iterator[str]:
    """Yield the options that may be given several times, or that are lists."""
    compilation = options.compilation
    for flag, values in (("-I", compilation.include_dirs), ("-D", compilation.defines),
                         ("--source", compilation.sources),
                         ("--param", tuple(f"{name}={value}" for name, value in options.parameters)),
                         ("--device", options.place.devices),
                         ("--cluster", (options.cluster,) if options.cluster else ()), ("--reuse", options.reuse),
                         ("--models", _models(options)),
                         ("--foretell", (options.foretell,) if options.foretell else ()),
                         ("--foresee", (options.foresee,) if options.foresee else ()),
                         ("--beam", (options.beam,) if options.beam else ()),
                         ("--calibration", (options.calibration.file,) if options.calibration else ())):
        for value in values:
            yield from (flag, value)


def _models(options: RunOptions) -> tuple[str, ...]:
    """Return the plan makers: also that there are none, where the usual ones may be others by now."""
    none = (NO_MODELS,) if options.space == "pipeline" else ()
    return (",".join(options.models),) if options.models else none


def _compilation_words(compilation: Compilation) -> Iterator[str]:
    """Yield how the user's program is compiled and run."""
    invocation = compilation.invocation
    if compilation.cflags:
        yield "--cflags=" + shlex.join(compilation.cflags)
    if invocation.arguments:
        yield "--args=" + shlex.join(invocation.arguments)
    if invocation.stdin is not None:
        yield from ("--stdin", invocation.stdin)
    if invocation.random_inputs:
        yield "--random-inputs"
    if invocation.limit_s != PROGRAM_LIMIT_S:
        yield from ("--program-limit", f"{invocation.limit_s:g}")


def _limits(budget: Budget) -> tuple[tuple[str, str | float | None], ...]:
    return (("--iterations", budget.iterations), ("--evaluations", budget.evaluations), ("--minutes", budget.minutes),
            ("--stop-at", budget.stop_at.option if budget.stop_at else None), ("--stagnation", budget.stagnation))


def _timing_words(timing: Timing) -> list[str]:
    usual = Timing()
    flags = (("--precision", f"{timing.precision:g}", f"{usual.precision:g}"), ("--cache", timing.cache, usual.cache),
             ("--max-repeats", str(timing.max_repeats), str(usual.max_repeats)),
             ("--finalists", str(timing.finalists), str(usual.finalists)))
    words = [word for flag, value, default in flags if value != default for word in (flag, value)]
    return [*words, "--realtime"] if timing.realtime else words


def _objective_words(objective: Objective) -> list[str]:
    if objective.is_time:
        return []
    metrics = [word for name, text in objective.metrics for word in ("--metric", f"{name}={text}")]
    return ["--objective", objective.text, "--maximize" if objective.higher else "--minimize", *metrics]


def _single(options: RunOptions) -> Iterator[str]:
    """Yield the options with one value."""
    usual = (("--function", options.function), ("--scop", options.scop), ("--explorer", options.explorer),
             ("--ants", options.ants), *_limits(options.budget), ("--seed", options.seed),
             *([] if options.space == "template" else [("--space", options.space), ("--level", options.level)]))
    seldom = (("--compile-limit", options.compile_limit_s, COMPILE_LIMIT_S),
              ("--run-limit", options.run_limit_s, RUN_LIMIT_S), ("--memory-limit", options.memory_limit_gb, None),
              ("--profile", options.profile, 0))
    for flag, value in [*usual, *((flag, f"{value:g}") for flag, value, default in seldom if value != default)]:
        if value is not None:
            yield from (flag, str(value))


def _switches(options: RunOptions) -> list[str]:
    products = ["--precision-of-products", options.products] if options.products != "full" else []
    return [*products, *["--ahead"] * options.ahead, *["--strict-float"] * options.strict_float,
            *["--wisdom"] * bool(options.wisdom)]
