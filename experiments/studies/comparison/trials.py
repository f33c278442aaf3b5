"""A run for a comparison: its facts, and its best time over the evaluations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from experiments.search.summary import summarize
from experiments.store import is_busy, read_store
from experiments.values.records import Ending, Result, RunInfo
from generator.errors import InputError
from metrics.outcome import cost_ms

Status: TypeAlias = Ending | Literal["running", "killed"]


@dataclass(frozen=True, slots=True)
class Trial:
    """One run.

    `best_ms[n]` is the lowest time of the evaluations 0 (the default plan) to n, infinite if none was valid;
    `elapsed_s[n]` are the active seconds until all of these were finished. Results after the first missing evaluation
    are left out. `final_ms` is the time of the best plan in the run's final; None without a final.
    """

    directory: Path
    info: RunInfo
    status: Status
    sequential_ms: float | None
    default_ms: float | None
    final_ms: float | None
    best_ms: NDArray[np.float64] = field(repr=False)
    elapsed_s: NDArray[np.float64] = field(repr=False)

    @property
    def evaluations(self) -> int:
        """The number of evaluations, not counting the default plan."""
        return max(len(self.best_ms) - 1, 0)

    @property
    def exhausted(self) -> bool:
        """Whether every plan of the space was tried, so that more evaluations would change nothing."""
        return self.status == "exhausted"

    def best_at(self, evaluations: int) -> float:
        """Return the best time of the first `evaluations` evaluations, or of all if there are fewer."""
        return float(self.best_ms[min(evaluations, self.evaluations)])

    def reached(self, target_ms: float, evaluations: int) -> int | None:
        """Return the number of evaluations until a time of `target_ms`; None if it is more than `evaluations`."""
        hits = np.flatnonzero(self.best_ms[: evaluations + 1] <= target_ms)
        return int(hits[0]) if len(hits) else None


def read_trial(directory: Path) -> Trial:
    """Return the run in `directory`, finished or not. Raises InputError if there is none or it cannot be read."""
    with read_store(directory) as store:
        info, results, ending, summary = store.info(), store.results(), store.ending(), summarize(store)
    status: Status = "running" if is_busy(directory) else ending or "killed"
    best_ms, elapsed_s = _course(results)
    sequential_ms = median(info.sequential_ms) if info.sequential_ms else None
    default_ms = cost_ms(results[0].outcome) if len(best_ms) else None
    return Trial(directory, info, status, sequential_ms, default_ms,
                 summary.best_ms if summary.final else None, best_ms, elapsed_s)


def read_trials(directories: Sequence[Path]) -> tuple[list[Trial], list[str]]:
    """Return the runs that can be read, and the reasons why others cannot."""
    trials, reasons = [], []
    for directory in directories:
        try:
            trials.append(read_trial(directory))
        except InputError as error:
            reasons.append(f"{directory}: {error}")
    return trials, reasons


def _course(results: Sequence[Result]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the best time and the seconds after each evaluation, up to the first missing evaluation."""
    whole = [r for n, r in enumerate(results) if r.evaluation.number == n]
    ms = [np.inf if (cost := cost_ms(r.outcome)) is None else cost for r in whole]
    seconds = [r.elapsed_s for r in whole]
    return np.minimum.accumulate(np.array(ms, float)), np.maximum.accumulate(np.array(seconds, float))
