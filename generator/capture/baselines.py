"""Which builds of the original program are timed, and what each of them is called.

    reference    -O3                           computes the results that variants are compared with
    sequential   -O3 -march=native             the time that counts: the compiler may use all that the machine has
    openmp       -O3 -march=native -fopenmp    where pragmas of the file say how the SCoP runs in parallel

The machine's own instructions may round differently (fused multiply-add), so only times are taken from the other
builds; their results are compared with the reference, and a warning says where they differ.
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
    """What a build of the program did: its times, how many threads it had, its results."""

    samples_ms: tuple[float, ...]
    threads: int
    outputs: Values


@dataclass
class Timed:
    """The time that counts, what compiled that, and the other builds; `warnings` say what went wrong."""

    sequential_ms: tuple[float, ...]
    compiler: str
    baselines: tuple[Baseline, ...] = ()
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class OtherBuilds:
    """What is timed beside the reference's build: for this machine, by the file's own OpenMP; None where there is none.
    """

    native: Build | None = None
    openmp: Build | None = None

    @property
    def all(self) -> tuple[Build, ...]:
        """Those that there are, in the order in which they are timed."""
        return tuple(build for build in (self.native, self.openmp) if build is not None)


NO_OTHERS = OtherBuilds()
"""Of a capture that nobody asks for times."""


def other_builds(source: ScopSource, text: str, compiler: Compiler) -> OtherBuilds:
    """The builds to time of a file, of which `text` is what the compiler sees."""
    cflags = source.compilation.cflags
    machine = native_flags(compiler, cflags)
    openmp = (*machine, *(() if "-fopenmp" in cflags else ("-fopenmp",)))
    return OtherBuilds(Build(machine) if machine else None,
                       Build(openmp, None) if has_openmp(source, text) else None)


def timed_builds(source: ScopSource, compiler: Compiler, plain: Times, rounding: Values, reference: Build,
                 others: OtherBuilds, run: Callable[[Build], Times]) -> Timed:
    """Time `others` by `run`; `plain` is what the build `reference` did."""
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
    """What to say of a C compiler that cannot compile for this machine in particular."""
    return f"{compiler.path} has no option -march=native: the sequential time is that of {used}"


def has_openmp(source: ScopSource, text: str) -> bool:
    """Whether OpenMP pragmas stand in the SCoP, or above it: those elsewhere in the file do not change its time."""
    lines = text.split("\n")
    own = lines[openmp_above(lines, source):source.last_line]
    return any(OPENMP.match(line) or _OPERATOR.search(line) for line in own)


def _try(
    timed: Timed, plain: Times, rounding: Values, run: Callable[[Build], Times], build: Build, what: str
) -> Times | None:
    """The times of `build`; None when it cannot be made or run, for which `timed` gets a warning."""
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
            f"the sequential time rests on {len(times)} run(s) of {max(times):.0f} ms only; a smaller problem is "
            f"measured "
            "better"
        )
