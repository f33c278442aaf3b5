"""The results of a run as a table for the terminal and the report: baselines, the best plan, and notes on the times."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from experiments.search.summary import Summary
from experiments.values.objective import TIME
from experiments.values.records import speedup
from experiments.values.sought import describe_value
from experiments.words import describe_ms, describe_ratio

Cells: TypeAlias = tuple[str, str, str, str]

HEADER: Cells = ("", "time", "vs sequential C", "vs default plan")
PLAN_TIME = "device time of their kernels, without transfers"
C_TIME = "wall-clock time of the same loops"
DISTURBED = 0.1
"""A quiet machine makes less of a difference between the two ways to compare two plans."""

SLOWED = 2.0
"""Options beside -O3 hardly slow a program down as much; other work on the machine does."""


def result_rows(summary: Summary) -> tuple[Cells, ...]:
    """Return a row for each known baseline, the default plan and the best plan."""
    rows = []
    if summary.sequential_ms is not None:
        rows.append(_row("sequential C", summary.sequential_ms, summary))
    if summary.sequential_o3_ms is not None:
        rows.append(_row("sequential C, plain -O3", summary.sequential_o3_ms, summary))
    if summary.openmp_ms is not None:
        rows.append(_row(openmp_words(summary.openmp_threads or 1), summary.openmp_ms, summary))
    lower = f", products in {summary.best_products}" if summary.best_products != "full" else ""
    best = (f"best plan{lower}", describe_ms(summary.best_ms), describe_ratio(summary.speedup_over_sequential),
            describe_ratio(summary.speedup_over_default))
    return (*rows, _row("default plan", summary.default_ms, summary), best)


def _row(name: str, ms: float | None, summary: Summary) -> Cells:
    return (
        name,
        describe_ms(ms),
        describe_ratio(speedup(summary.sequential_ms, ms)),
        describe_ratio(speedup(summary.default_ms, ms)),
    )


def openmp_words(threads: int) -> str:
    """Return the label of the OpenMP baseline, such as `your OpenMP, 2 threads`."""
    return f"your OpenMP, {_threads(threads)}"


def _threads(count: int | None) -> str:
    return f"{count} thread{'s' * (count != 1)}"


def result_notes(summary: Summary) -> Iterator[str]:
    """Yield what the times in the table mean: device time or wall-clock time, which compiler, options and threads."""
    wall = (
        ""
        if summary.best_wall_ms is None
        else f"; on the wall clock the best plan takes {describe_ms(summary.best_wall_ms)}"
    )
    yield f"Plans: {PLAN_TIME}{wall}."
    if summary.objective != TIME:
        best, default = (describe_value(value) for value in (summary.best_value, summary.default_value))
        yield (f"The objective, {'most' if summary.objective_higher else 'least'} {summary.objective}: {best}, of the "
               f"default plan {default}.")
    yield from _disturbed(summary)
    if summary.sequential_ms is not None:
        yield f"Sequential C: {C_TIME}, 1 thread, {summary.compiler}."
        yield from _slowed(summary.sequential_ms, summary)
    if summary.openmp_ms is not None:
        yield f"Your OpenMP: {C_TIME}, {_threads(summary.openmp_threads)}, {summary.openmp_compiler}."


def _slowed(sequential_ms: float, summary: Summary) -> Iterator[str]:
    """Yield a warning if sequential C was much slower than the same program built with plain -O3."""
    plain, best = summary.sequential_o3_ms, summary.best_ms
    if plain is not None and sequential_ms > SLOWED * plain:
        over = f"; the best plan is {describe_ratio(speedup(plain, best))} as fast as that" if best else ""
        yield (f"Warning: it took {describe_ratio(sequential_ms / plain)} as long as with plain -O3, so the machine "
               f"was probably busy. Compare with plain -O3{over}.")


def _disturbed(summary: Summary) -> Iterator[str]:
    """Yield a warning if the speedup by the times and the speedup within the rounds of the final differ: the machine
    was busy.
    """
    if summary.objective != TIME:  # the rounds' ratios are those of the objective, not of times
        return
    default = next((f for f in summary.final.finalists if f.evaluation == 0), None) if summary.final else None
    over = summary.speedup_over_default
    ratio = default.ratio if default else None
    if ratio and over and max(over / ratio, ratio / over) > 1 + DISTURBED:
        yield (
            f"The machine was busy: compared round by round, the best plan is {describe_ratio(ratio)} as fast as the "
            f"default plan."
        )
