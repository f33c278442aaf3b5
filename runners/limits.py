"""Time limits that adapt to the times of earlier variants: pure functions over outcomes.

Most variants compile quickly, but a few would use the whole limit while all others wait. So the limit of compiling a
kernel is a multiple of the upper quartile of the compile times of recent variants (only those with something to
compile). It applies per kernel, because a variant with a single new kernel says nothing about one with many; all
kernels of a variant together have the user's limit. A variant that timed out counts with its limit: if more than a
quarter time out, the limit rises again. The limit of running is a multiple of what the best variant needed, because a
slower variant cannot be better. Both limits have a lower bound, for busy machines, and never exceed the user's.

Limits are computed from the stored outcomes of complete iterations, in ask order, so a resumed run has the same ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf

from metrics.outcome import Crashed, Outcome, Timed, TimedOut, WrongResult
from metrics.statistics import quantile
from runners.base import Bounds, Limits

ENOUGH = 4
"""The number of variants from which on the quartile is used."""
RECENT = 100
QUARTILE = 0.75
COMPILE_FACTOR, COMPILE_FLOOR_S = 4.0, 5.0
RUN_FACTOR, RUN_FLOOR_S = 10.0, 5.0
REPEATS = 3
"""The most repeats of a variant that is given up (`runners.repeats`)."""


def learned(bounds: Bounds, outcomes: Sequence[Outcome]) -> Bounds:
    """Return `bounds` updated with `outcomes`, in their order."""
    for outcome in outcomes:
        bounds = replace(bounds, compiled_s=(*bounds.compiled_s, *_compiled_s(outcome))[-RECENT:])
        if isinstance(outcome, Timed) and (bounds.best_ms is None or outcome.median_ms < bounds.best_ms):
            bounds = replace(bounds, best_ms=outcome.median_ms, run_s=_run_s(outcome) or bounds.run_s)
    return bounds


def adapted(limits: Limits, bounds: Bounds, compiling: int = 0) -> Limits:
    """Return `limits` tightened by `bounds`.

    `compiling`: the number of variants that have begun but not ended. Quick variants end first, so the multiple grows
    with the share of unfinished ones.
    """
    compile_s, run_s, known = limits.compile_s, limits.run_s, len(bounds.compiled_s)
    if known >= ENOUGH:
        factor = COMPILE_FACTOR * (known + compiling) / known
        compile_s = min(compile_s, round(max(COMPILE_FLOOR_S, factor * quantile(bounds.compiled_s, QUARTILE)), 1))
    if bounds.run_s is not None and limits.give_up < inf:  # inf: a slow variant may be the best by another objective
        run_s = min(run_s, round(max(RUN_FLOOR_S, 2 * limits.time_s, RUN_FACTOR * bounds.run_s), 1))
    return replace(limits, compile_s=compile_s, run_s=run_s)


def _compiled_s(outcome: Outcome) -> tuple[float, ...]:
    """Return (seconds,) of generating and compiling if both were done for this evaluation, and succeeded or timed out.
    """
    match outcome:
        case Timed() | WrongResult() | TimedOut() | Crashed("check" | "time"):
            spent = outcome.durations
        case _:
            return ()
    seconds = spent.generate_s + spent.compile_s
    expired = isinstance(outcome, TimedOut) and outcome.phase == "generate"
    return (seconds,) if spent.compile_s > 0 or expired else ()


def _run_s(timed: Timed) -> float | None:
    """Return the seconds of the check and `REPEATS` repeats; None if they were measured for another evaluation."""
    spent = timed.durations
    if spent.time_s <= 0:
        return None
    return spent.check_s + REPEATS * spent.time_s / len(timed.samples_ms)
