"""Time limits that follow from what has succeeded: pure functions over outcomes.

A few variants keep a compiler busy until its limit while most need a moment, and everybody waits for them. The limit
for compiling a kernel is therefore a multiple of the upper quartile of what recent variants took of which something had
to be compiled. It holds for a kernel, since a variant of known kernels but one says nothing about a variant of new
ones; all kernels of a variant together may take what the user allows. One that expired counts as having taken its
limit: if more than a quarter expires, the limit was too tight and rises again. The limit for running is a multiple of
what the best variant needed: whoever is slower than that cannot be a better one. Both have a floor, since a busy
machine stretches everything, and never exceed what the user allows.

What is learned comes from stored outcomes of complete iterations, in ask order: a resumed run learns the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf

from metrics.outcome import Crashed, Outcome, Timed, TimedOut, WrongResult
from metrics.statistics import quantile
from runners.base import Bounds, Limits

ENOUGH = 4
"""Variants that make a quartile."""
RECENT = 100
QUARTILE = 0.75
COMPILE_FACTOR, COMPILE_FLOOR_S = 4.0, 5.0
RUN_FACTOR, RUN_FLOOR_S = 10.0, 5.0
REPEATS = 3
"""Repeats after which a hopeless variant is given up, at most (`runners.repeats`)."""


def learned(bounds: Bounds, outcomes: Sequence[Outcome]) -> Bounds:
    """`bounds` with what `outcomes` show, in their order."""
    for outcome in outcomes:
        bounds = replace(bounds, compiled_s=(*bounds.compiled_s, *_compiled_s(outcome))[-RECENT:])
        if isinstance(outcome, Timed) and (bounds.best_ms is None or outcome.median_ms < bounds.best_ms):
            bounds = replace(bounds, best_ms=outcome.median_ms, run_s=_run_s(outcome) or bounds.run_s)
    return bounds


def adapted(limits: Limits, bounds: Bounds, compiling: int = 0) -> Limits:
    """`limits`, tightened by what is known.

    `compiling`: how many variants have been begun beside those of `bounds` and are not through. The quick ones are
    through first, so the multiple grows by the share of those that are missing.
    """
    compile_s, run_s, known = limits.compile_s, limits.run_s, len(bounds.compiled_s)
    if known >= ENOUGH:
        factor = COMPILE_FACTOR * (known + compiling) / known
        compile_s = min(compile_s, round(max(COMPILE_FLOOR_S, factor * quantile(bounds.compiled_s, QUARTILE)), 1))
    if bounds.run_s is not None and limits.give_up < inf:  # else a slow variant may be the best by other measures
        run_s = min(run_s, round(max(RUN_FLOOR_S, 2 * limits.time_s, RUN_FACTOR * bounds.run_s), 1))
    return replace(limits, compile_s=compile_s, run_s=run_s)


def _compiled_s(outcome: Outcome) -> tuple[float, ...]:
    """What generating and compiling took if that succeeded or expired, and was done for this very evaluation."""
    match outcome:
        case Timed() | WrongResult() | TimedOut() | Crashed("check" | "time"):
            spent = outcome.durations
        case _:
            return ()
    seconds = spent.generate_s + spent.compile_s
    expired = isinstance(outcome, TimedOut) and outcome.phase == "generate"
    return (seconds,) if spent.compile_s > 0 or expired else ()


def _run_s(timed: Timed) -> float | None:
    """The check and `REPEATS` repeats; None when that was measured for another evaluation."""
    spent = timed.durations
    if spent.time_s <= 0:
        return None
    return spent.check_s + REPEATS * spent.time_s / len(timed.samples_ms)
