"""The results of the suite: figures per space, explorer and budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean, stdev
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.studies.recorded.arena import Arena
from experiments.studies.recorded.methodology import Score, Yardstick, make_yardstick, score
from experiments.studies.recorded.race import Trace


@dataclass(frozen=True, slots=True)
class SpaceFacts:
    """The facts of a space in tables.

    `window_s`: the end of the score's window, which is the fraction `window_covered` of the whole window, for which
    random search needs `window_evaluations`. All are absent if nothing can be scored.
    """

    name: str
    device: str
    configurations: int
    invalid: int
    optimum_ms: float
    window_s: float | None = None
    window_covered: float | None = None
    window_evaluations: int | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """Optimum / best at a budget: mean and standard deviation over the seeds. A search without a valid result counts as
    0.
    """

    space: str
    explorer: str
    budget: int
    mean: float
    sd: float


@dataclass(frozen=True, slots=True)
class Standing:
    """The results of an explorer on a space over all budgets: the score, and its own time per evaluation in
    milliseconds.

    `curve` contains the mean and the 10 % and 90 % quantiles of optimum / best after each evaluation (3 x evaluations).
    Peers have neither curve nor score, because only the ends of their searches are known.
    """

    space: str
    explorer: str
    score: Score | None
    own_ms: float | None
    curve: NDArray[np.float64] | None


@dataclass(frozen=True, slots=True)
class Results:
    """All figures, in the order of the command line."""

    spaces: tuple[SpaceFacts, ...]
    rows: tuple[Row, ...]
    standings: tuple[Standing, ...]

    def to_data(self) -> Mapping[str, Any]:
        """Return the figures for a JSON file; scripts rely on `rows`."""
        scores = [{"space": s.space, "explorer": s.explorer, "score": s.score and s.score.mean,
                   "error": s.score and s.score.deviation, "explorer_ms": s.own_ms} for s in self.standings]
        return {"rows": [asdict(row) for row in self.rows], "scores": scores,
                "spaces": [asdict(space) for space in self.spaces]}


def describe_space(arena: Arena, budget: int) -> tuple[SpaceFacts, Yardstick | None]:
    """Return the facts of a space, and the yardstick for searches of `budget` evaluations."""
    rows, valid = arena.recording.rows, arena.valid_ms
    yardstick = make_yardstick(valid, [row.seconds for row in rows], budget)
    facts = SpaceFacts(arena.name, arena.recording.device, len(rows), len(rows) - len(valid), min(valid))
    if yardstick is not None:
        facts = replace(facts, window_s=yardstick.end_s, window_covered=yardstick.covered,
                        window_evaluations=yardstick.evaluations)
    return facts, yardstick


def budget_rows(space: SpaceFacts, explorer: str, best_ms: Mapping[int, Sequence[float | None]]) -> list[Row]:
    """Return the rows of an explorer from the best times of its searches, by budget."""
    rows = []
    for budget, found in best_ms.items():
        ratios = [space.optimum_ms / ms if ms else 0.0 for ms in found]
        rows.append(Row(space.name, explorer, budget, fmean(ratios), stdev(ratios) if len(ratios) > 1 else 0.0))
    return rows


def judge(space: SpaceFacts, yardstick: Yardstick | None, explorer: str, traces: Sequence[Trace],
          budgets: Sequence[int]) -> tuple[list[Row], Standing]:
    """Return the figures of an explorer from its traces, one per seed."""
    rows = budget_rows(space, explorer, {budget: [trace.best_at(budget) for trace in traces] for budget in budgets})
    evaluations = sum(len(trace.ms) for trace in traces)
    own_ms = 1000 * sum(float(trace.explorer_s.sum()) for trace in traces) / evaluations if evaluations else None
    curve = _curve(space.optimum_ms, traces, max(budgets))
    return rows, Standing(space.name, explorer, score(yardstick, traces) if yardstick else None, own_ms, curve)


def _curve(optimum_ms: float, traces: Sequence[Trace], length: int) -> NDArray[np.float64]:
    ratios = np.zeros((len(traces), length))
    for ratio, trace in zip(ratios, traces, strict=True):
        best = np.fmin.accumulate(np.where(np.isnan(trace.ms), np.inf, trace.ms))[:length]
        ratio[: len(best)] = optimum_ms / best
        ratio[len(best) :] = ratio[len(best) - 1] if len(best) else 0.0
    low, high = np.quantile(ratios, (0.1, 0.9), axis=0)
    return np.stack([ratios.mean(axis=0), low, high])
