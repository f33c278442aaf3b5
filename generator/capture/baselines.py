"""The builds of the original program that are timed.

    reference     -O3                            computes the results that variants are compared with
    sequential    -O3 -march=native              gives the sequential time: the compiler may use the whole machine
    openmp        -O3 -march=native -fopenmp     if the file's pragmas parallelize the SCoP

Native instructions may round differently (fused multiply-add), so only times are taken from the other builds; their
results are compared with the reference, and a warning reports differences.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from generator.capture.build import UNTIMED, Build, Compiler, RunFailed, names_machine, native_flags, user_flags
from generator.capture.instrument import OPENMP, openmp_above
from generator.frontend_c.source import ScopSource
from generator.problem import Baseline, Values
from generator.rounding import differing

_FEWEST_SAMPLES = 5
_OPERATOR = re.compile(r"_Pragma\s*\(\s*\"\s*omp\b")


@dataclass(frozen=True, slots=True)
class Times:
    """The results of a build of the program: its times, its number of threads, its outputs."""

    samples_ms: tuple[float, ...]
    threads: int
    outputs: Values


@dataclass
class Timed:
    """The sequential time, its compiler, and the other builds; `warnings` describe failures."""

    sequential_ms: tuple[float, ...]
    compiler: str
    baselines: tuple[Baseline, ...] = ()
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class OtherBuilds:
    """The builds that are timed beside the reference's: for this machine, and with the file's own OpenMP; None if
    absent.
    """

    native: Build | None = None
    openmp: Build | None = None

    @property
    def all(self) -> tuple[Build, ...]:
        """The present builds, in the order in which they are timed."""
        return tuple(build for build in (self.native, self.openmp) if build is not None)


NO_OTHERS = OtherBuilds()
"""For a capture that needs no times."""


def other_builds(source: ScopSource, text: str, compiler: Compiler) -> OtherBuilds:
    """Return the builds of a file to time. `text`: the text that the compiler sees."""
    cflags = source.compilation.cflags
    machine = native_flags(compiler, cflags)
    openmp = (*machine, *(() if "-fopenmp" in cflags else ("-fopenmp",)))
    return OtherBuilds(Build(machine) if machine else None,
                       Build(openmp, None) if has_openmp(source, text) else None)


def timed_builds(source: ScopSource, compiler: Compiler, plain: Times, rounding: Values, reference: Build,
                 others: OtherBuilds, run: Callable[[Build], Times]) -> Timed:
    """Time `others` with `run`. `plain`: the result of the build `reference`."""
    timed = Timed(plain.samples_ms, _words(source, compiler, reference))
    if reference == UNTIMED:
        return timed
    timed.baselines = (Baseline("o3", timed.compiler, 1, plain.samples_ms),)
    if others.native is not None:
        what = "the sequential program, compiled for this machine,"
        found = _try(timed, plain, rounding, run, others.native, what)
        if found is not None:
            timed.sequential_ms, timed.compiler = found.samples_ms, _words(source, compiler, others.native)
    elif not names_machine(source.compilation.cflags):
        timed.warnings.append(no_native(compiler, timed.compiler))
    if others.openmp is not None:
        found = _try(timed, plain, rounding, run, others.openmp, "the file's own OpenMP")
        if found is not None:
            words = _words(source, compiler, others.openmp)
            timed.baselines += (Baseline("openmp", words, found.threads, found.samples_ms),)
    timed.warnings += _doubts(timed.sequential_ms)
    return timed


def no_native(compiler: Compiler, used: str) -> str:
    """Return the warning about a C compiler that cannot compile for this machine."""
    return f"{compiler.path} has no option -march=native: the sequential time is that of {used}"


def has_openmp(source: ScopSource, text: str) -> bool:
    """Return whether OpenMP pragmas are in the SCoP or above it; those elsewhere in the file do not affect its time."""
    lines = text.split("\n")
    own = lines[openmp_above(lines, source):source.last_line]
    return any(OPENMP.match(line) or _OPERATOR.search(line) for line in own)


def _try(
    timed: Timed, plain: Times, rounding: Values, run: Callable[[Build], Times], build: Build, what: str
) -> Times | None:
    """Return the times of `build`; None, with a warning in `timed`, if it cannot be made or run."""
    try:
        found = run(build)
    except RunFailed as error:
        timed.warnings.append(f"{what} could not be timed with {' '.join(build.flags)}: {error}")
        return None
    if wrong := list(_differences(plain.outputs, found.outputs, rounding)):
        timed.warnings.append(f"{what} has other results: {', '.join(wrong)}; its time says little")
    return found


def _differences(expected: Values, found: Values, rounding: Values) -> Iterator[str]:
    """`12 elements of C`."""
    for name, value in expected.items():
        if count := differing(value, found[name], rounding.get(name)):
            yield f"{count} element{'s' * (count > 1)} of {name}"


def _words(source: ScopSource, compiler: Compiler, build: Build) -> str:
    return f"{compiler.version} {' '.join(user_flags(source.compilation, build))}"


def _doubts(times: Sequence[float]) -> Iterator[str]:
    if len(times) < _FEWEST_SAMPLES:
        yield (
            f"the sequential time is based on only {len(times)} run(s) of {max(times):.0f} ms; a smaller problem gives "
            "a more reliable time"
        )
