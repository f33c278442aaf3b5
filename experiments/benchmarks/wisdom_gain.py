"""The gain from wisdom: `python -m experiments.benchmarks.wisdom_gain --device D --folder DIR`.

Each case first tunes a program at one size (or on one device), which leaves its best plan in a database of the
benchmark's own. Then it is tuned at another size (or on another device) with each seed, with and without wisdom. The
best plans after 1, 10 and 20 evaluations are timed again, in turns with the default plan, as in a final: the lowest
time of a search is biased by luck, and times of different runs are hard to compare on a shared machine. The table
contains the speedup of the fastest plan over the default plan, as geometric means over the seeds. Runs that exist in
the folder are not repeated. The table is printed as Markdown.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Annotated

import typer

from experiments.benchmarks.taught_searches import Silent
from experiments.run import opened, resume, tune
from experiments.script import run
from experiments.search.finals import finalists, times_of
from experiments.search.parts import PARTS
from experiments.search.places import limits_of, place_of
from experiments.store import is_run, read_store
from experiments.values.options import Budget, RunOptions, Timing
from experiments.wisdom.place import VARIABLE
from experiments.words import describe_ratio
from generator.errors import AntuneError
from generator.frontend_c.source import Compilation
from generator.plan import Plan
from generator.problem import Problem
from metrics.finals import SittingTimes
from metrics.statistics import geometric_mean
from runners.base import Job, Sitting

SUITES = Path(__file__).parents[1] / "suites"
AT = (1, 10, 20)
FINALISTS = 5
"""Finalists of the run that leaves wisdom, and candidates for the best plan of a search."""
SITTINGS, SITTING_S = 4, 1.0


@dataclass(frozen=True, slots=True)
class Case:
    """A program with the sizes (macros of C, parameters of a pipeline) that are known, and those that are searched."""

    name: str
    known: tuple[tuple[str, int], ...]
    searched: tuple[tuple[str, int], ...]
    known_on: str | None = None

    @property
    def pipeline(self) -> bool:
        """Whether the program is a pipeline."""
        return "width" in dict(self.known)

    def options(self, sizes: tuple[tuple[str, int], ...], evaluations: int, seed: int, device: str,
                finalists: int = 0) -> RunOptions:
        """Return the options of a search at these sizes."""
        timing = Timing(finalists=finalists)
        if self.pipeline:
            return RunOptions(str(SUITES / "pipelines" / f"{self.name}.py"), Compilation(), Budget(evaluations),
                              parameters=sizes, seed=seed, device=device, space="pipeline", timing=timing)
        defines = (*(f"{name}={value}" for name, value in sizes), "DATA_TYPE_IS_FLOAT")
        return RunOptions(str(SUITES / "polybench" / f"{self.name}.c"), Compilation(defines=defines),
                          Budget(evaluations), seed=seed, device=device, timing=timing)


def _sizes(**sizes: int) -> tuple[tuple[str, int], ...]:
    return tuple(sizes.items())


CASES = (
    Case("gemm", _sizes(NI=400, NJ=440, NK=480), _sizes(NI=500, NJ=550, NK=600)),
    Case("2mm", _sizes(NI=360, NJ=380, NK=420, NL=440), _sizes(NI=300, NJ=320, NK=340, NL=360)),
    Case("jacobi-2d", _sizes(TSTEPS=40, N=500), _sizes(TSTEPS=40, N=640)),
    Case("unsharp", _sizes(width=768, height=512), _sizes(width=1024, height=768)),
    Case("harris", _sizes(width=768, height=512), _sizes(width=1024, height=768)),
    Case("histogram_equalize", _sizes(width=768, height=512), _sizes(width=1024, height=768)),
    Case("gemm", _sizes(NI=500, NJ=550, NK=600), _sizes(NI=500, NJ=550, NK=600), known_on="intel"),
)


@dataclass(frozen=True, slots=True)
class Row:
    """Speedups over the default plan after the evaluations in AT: without wisdom, and with wisdom."""

    title: str
    usual: tuple[float, ...]
    wise: tuple[float, ...]


def measure(case: Case, number: int, seeds: int, donors: int, device: str, folder: Path) -> Row:
    """Run one case."""
    place = folder / f"{number}-{case.name}"
    os.environ[VARIABLE] = str(place / "wisdom.sqlite")
    _run(case.options(case.known, donors, 0, case.known_on or device, FINALISTS), place / "known", False)
    gains: dict[bool, list[tuple[float, ...]]] = {False: [], True: []}
    for seed in range(1, seeds + 1):
        for wisdom in (False, True):
            os.environ[VARIABLE] = str(place / "wisdom.sqlite") if wisdom else "off"
            directory = place / f"{'wise' if wisdom else 'usual'}-{seed}"
            copy = _without_later(place) if wisdom else None
            if copy is not None:
                os.environ[VARIABLE] = str(copy)
            _run(case.options(case.searched, max(AT), seed, device), directory, wisdom)
        for wisdom, gained in _timed_again(place, seed).items():
            gains[wisdom].append(gained)
    words = [f"{name}={value}" for name, value in case.searched]
    origin = f"{case.known_on}'s device" if case.known_on else ", ".join(f"{n}={v}" for n, v in case.known)
    return Row(f"{case.name} {', '.join(words)} (known: {origin})", _means(gains[False]), _means(gains[True]))


def _without_later(place: Path) -> Path:
    """Return a copy of the wisdom known before the first of the compared runs, so that none uses results of another."""
    copy = place / "copy.sqlite"
    copy.write_bytes((place / "wisdom.sqlite").read_bytes())
    return copy


def _run(options: RunOptions, directory: Path, wisdom: bool) -> None:
    if not is_run(directory):
        tune(options, directory, Silent(), wisdom=wisdom)
    else:
        resume(directory, None, Silent())


def _timed_again(place: Path, seed: int) -> dict[bool, tuple[float, ...]]:
    """Return the speedups of the best plans of a seed's two searches, timed in turns with the default plan."""
    found = {wisdom: _best(place / f"{'wise' if wisdom else 'usual'}-{seed}") for wisdom in (False, True)}
    directory = place / f"usual-{seed}"
    with read_store(directory) as store:
        info, default = store.info(), store.results()[0].evaluation.plan
        problem = Problem(info.subject, store.reference())
    every = [plan for plans in (*found[False], *found[True]) for plan in plans]
    numbers = {plan: number for number, plan in enumerate(dict.fromkeys([default, *every]))}
    jobs = [Job(number, plan) for plan, number in numbers.items()]
    with opened(PARTS, problem, place_of(info), limits_of(info.options), directory) as runner:
        sittings = [times_of(dict(runner.remeasure(jobs, Sitting(seed, number, SITTING_S))))
                    for number in range(SITTINGS)]
    return {wisdom: tuple(max(_ratio(sittings, numbers[default], numbers[plan]) for plan in plans) for plans in best)
            for wisdom, best in found.items()}


def _best(directory: Path) -> tuple[tuple[Plan, ...], ...]:
    """Return the finalists after each number of evaluations in AT; the default plan if there are none."""
    with read_store(directory) as store:
        results = store.results()
    chosen = [finalists(results[:count + 1], FINALISTS) or results[:1] for count in AT]
    return tuple(tuple(one.evaluation.plan for one in some) for some in chosen)


def _ratio(sittings: Sequence[SittingTimes], base: int, number: int) -> float:
    """Return the median, over all rounds of all sittings, of the ratio of two plans' times."""
    return median(one / other for times in sittings for one, other in zip(times[base], times[number], strict=True))


def _means(gains: list[tuple[float, ...]]) -> tuple[float, ...]:
    return tuple(geometric_mean(column) for column in zip(*gains, strict=True))


def main(device: Annotated[str, typer.Option(help="Device of the searches.")] = "pocl",
         folder: Annotated[Path, typer.Option(help="Where runs are kept.")] = Path("wisdom-gain"),
         seeds: Annotated[int, typer.Option(help="Searches of each kind.")] = 3,
         only: Annotated[list[int] | None, typer.Option(help="Numbers of cases, from 0.")] = None,
         donors: Annotated[int, typer.Option(help="Evaluations of the runs that leave wisdom.")] = 30) -> None:
    """Measure and print the table."""
    heads = [f"{'the first' if at == 1 else f'best of {at}'}, as usual | with wisdom" for at in AT]
    print(f"| search | {' | '.join(heads)} |\n|{'---|' * (1 + 2 * len(AT))}")
    for number, case in enumerate(CASES):
        if only and number not in only:
            continue
        try:
            row = measure(case, number, seeds, donors, device, folder)
        except AntuneError as error:
            print(f"| {case.name} | {error} |{' |' * (2 * len(AT) - 1)}", flush=True)
            continue
        cells = [describe_ratio(value) for pair in zip(row.usual, row.wise, strict=True) for value in pair]
        print(f"| {row.title} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    run(main)
