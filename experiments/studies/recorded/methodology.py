"""The score P of the community's methodology for comparing search in auto-tuning.

Willemsen, Schoonhoven, Filipovic, Tørring, van Nieuwpoort & van Werkhoven, "A methodology for comparing optimization
algorithms for auto-tuning", Future Generation Computer Systems 2024, doi 10.1016/j.future.2024.05.021.

0: as good as random search in the same time; 1: the optimum from the start; below 0: worse than random. Over a window
of tuning time, P(t) = (S(t) - F(t)) / (S(t) - optimum) with S random search and F the explorer; the score is its mean.
Where this is simpler than the authors' package autotuning_methodology 1.1:
- random search after M evaluations is read from the sorted times at the rank M (N + 1) / (M + 1) with linear
  interpolation, instead of whole ranks that are smoothed afterwards (PCHIP);
- with a budget below what random search needs for the whole window, the window ends where random search would have
  used the budget up (`Yardstick.covered` is the share that is left); a search that ends earlier keeps its best value;
- before its first valid configuration a search counts as if it had the worst one;
- the explorer's own time is processor time, so that the load of the machine does not matter much.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.studies.recorded.race import Trace

CUT_OFF, START = 0.95, 0.01
RESOLUTION = 1000
_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Score:
    """The mean of P over the window, and its deviation."""

    mean: float
    deviation: float


@dataclass(frozen=True, slots=True)
class Yardstick:
    """Random search on a recording: `falling` are the N valid times from worst to best in ms.

    `evaluations` is the number that random search needs to get from the median to the fraction CUT_OFF of the way to
    the optimum. The window of tuning time lasts from `start_s`, where random search has come the fraction START of that
    way, to `end_s`; it is the fraction `covered` of the whole window. `mean_s` is the mean duration of an evaluation.
    """

    falling: _Floats
    evaluations: int
    start_s: float
    end_s: float
    covered: float
    mean_s: float

    def random_search(self, seconds: _Floats) -> _Floats:
        """Return the expected best time of random search without repeats after `seconds`."""
        count = len(self.falling)
        tries = np.maximum(seconds / self.mean_s, 1.0)
        rank = np.minimum(tries * (count + 1) / (tries + 1), count)  # ranks begin at 1
        return np.asarray(np.interp(rank, np.arange(1, count + 1), self.falling))


def make_yardstick(valid_ms: Sequence[float], seconds: Sequence[float], budget: int) -> Yardstick | None:
    """Return the yardstick of a recording with these valid times and the durations of all evaluations.

    `budget` is the number of evaluations of a search. None if nothing can be scored: the median is the optimum, no
    durations were recorded, or the budget ends before the window begins.
    """
    falling = np.sort(np.asarray(valid_ms, dtype=np.float64))[::-1]
    typical_s, mean_s = float(np.median(seconds)), float(np.mean(seconds))
    best, middle = float(falling[-1]), float(np.median(falling))
    if middle == best or typical_s <= 0:
        return None
    first, last = (_evaluations(falling, best + (middle - best) * (1 - share)) for share in (START, CUT_OFF))
    start_s, whole_s = first * typical_s, last * typical_s
    end_s = min(whole_s, budget * mean_s)
    if start_s >= end_s:
        return None
    return Yardstick(falling, last, start_s, end_s, (end_s - start_s) / (whole_s - start_s), mean_s)


def _evaluations(falling: _Floats, value_ms: float) -> int:
    """Return the mean number of evaluations that random search needs for a time of at most `value_ms`."""
    count = len(falling)
    above = int(np.count_nonzero(falling > value_ms))
    return math.ceil(above / (count + 1 - above))


def score(yardstick: Yardstick, traces: Sequence[Trace]) -> Score:
    """Return the score of an explorer from its searches with different seeds."""
    moments = np.linspace(yardstick.start_s, yardstick.end_s, RESOLUTION)
    optimum = yardstick.falling[-1]
    gap = yardstick.random_search(moments) - optimum
    ahead = yardstick.random_search(moments) - _typical(yardstick, traces, moments)
    at = np.divide(ahead, gap, out=np.zeros_like(gap), where=gap > 0)
    return Score(float(at.mean()), float(at.std()))


def _typical(yardstick: Yardstick, traces: Sequence[Trace], moments: _Floats) -> _Floats:
    """Return the best time so far of a typical search at `moments`: an isotonic fit of the ranks over all searches."""
    from sklearn.isotonic import IsotonicRegression

    clocks, ranks = [], []
    for trace in traces:
        rank = _ranks(yardstick, trace)
        clock = _clock(trace)
        end_s = max(yardstick.end_s, float(clock[-1]) if len(rank) else 0.0)
        clocks.append(np.append(clock, end_s))
        ranks.append(np.append(rank, rank[-1] if len(rank) else 0.0))
    fit = IsotonicRegression(out_of_bounds="clip").fit(np.concatenate(clocks), np.concatenate(ranks))
    fitted = np.asarray(fit.predict(moments), dtype=np.float64)
    return np.asarray(np.interp(fitted, np.arange(len(yardstick.falling)), yardstick.falling))


def _ranks(yardstick: Yardstick, trace: Trace) -> _Floats:
    """Return the ranks of the best time so far, from 0 for the worst."""
    best = np.fmin.accumulate(np.where(np.isnan(trace.ms), np.inf, trace.ms))
    ranks = np.searchsorted(-yardstick.falling, -np.minimum(best, yardstick.falling[0]))
    return np.asarray(ranks, dtype=np.float64)


def _clock(trace: Trace) -> _Floats:
    """Return the tuning time in seconds at the end of each evaluation."""
    return np.cumsum(trace.seconds + trace.explorer_s)
