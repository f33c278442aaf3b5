"""The curves of a comparison: the best time so far of each group, over evaluations and over time. Needs no display."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from experiments.pictures.palette import LIGHT
from experiments.pictures.stills import blank, log_scale, plain, save
from experiments.studies.comparison.figures import Comparison
from experiments.studies.comparison.groups import Group
from experiments.studies.comparison.trials import Trial
from experiments.words import describe_ms
from generator.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMATS = ("png", "svg", "pdf")
BAND = (0.1, 0.9)
MOMENTS = 400
FAR = 4.0
TITLE_WIDTH = 110  # characters that fit into the picture
_STYLES = ("-", "--", "-.", ":")


def check_plot(path: Path) -> None:
    """Raise InputError if a plot cannot be written to `path`."""
    if path.suffix.lower().lstrip(".") not in FORMATS:
        raise InputError(f"--plot {path} is of no known kind; use a name that ends with .{', .'.join(FORMATS)}")


def write_comparison(comparisons: Sequence[Comparison], path: Path) -> None:
    """Draw a row per section: the median over the runs of a group, and the band from the 10 % to the 90 % quantile.

    Raises:
        OSError: the file cannot be written.
    """
    figure = blank((12, 4.2 * len(comparisons) + 0.5))
    rows = figure.subplots(len(comparisons), 2, squeeze=False, sharey="row")
    for (left, right), comparison in zip(rows, comparisons, strict=True):
        _draw(left, right, comparison)
        left.legend(frameon=False, fontsize="small")
    save(figure, path, path.suffix)


def over_evaluations(trials: Sequence[Trial]) -> NDArray[np.float64]:
    """Return the best times of all runs (rows) after 0, 1, ... evaluations, up to the end of the shortest."""
    length = min((t.evaluations for t in trials if not t.exhausted), default=max(t.evaluations for t in trials))
    return np.array([[trial.best_at(n) for n in range(length + 1)] for trial in trials])


def over_time(trials: Sequence[Trial]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return times in seconds, and the best times of all runs (rows) at them, until half of the runs have ended.

    Runs that have ended keep their best time. The shortest run does not cut off the others, because it can end before
    another has any result.
    """
    last = float(np.median([trial.elapsed_s[-1] for trial in trials]))
    moments = np.linspace(0.0, last, MOMENTS)
    return moments, np.array([_at(trial, moments) for trial in trials])


def _at(trial: Trial, moments: NDArray[np.float64]) -> NDArray[np.float64]:
    known = np.searchsorted(trial.elapsed_s, moments, side="right")  # evaluations finished by then
    return np.concatenate([[np.inf], trial.best_ms])[known]


def _draw(left: Axes, right: Axes, comparison: Comparison) -> None:
    from matplotlib.ticker import MaxNLocator

    plain(left, "evaluations (0: default plan)", "best time so far [ms]")
    plain(right, "seconds of tuning")
    left.set_title(fill(comparison.section.title, TITLE_WIDTH), loc="left", fontsize="medium")
    left.set_yscale("log")
    for number, group in enumerate(comparison.section.groups):
        _draw_group(left, right, group, number)
    low, high = left.get_ylim()
    for label, ms, style in (
        ("sequential C", comparison.sequential_ms, ":"),
        ("default plan", comparison.default_ms, "--"),
    ):
        if ms is None:
            continue
        if low / FAR <= ms <= high * FAR:
            right.axhline(ms, linestyle=style, color=LIGHT.base, linewidth=1)
            left.axhline(ms, linestyle=style, color=LIGHT.base, linewidth=1, label=label)
        else:  # the line would compress the curves
            left.plot(
                [], [], linestyle=style, color=LIGHT.base, linewidth=1, label=f"{label}: {describe_ms(ms)}, outside"
            )
    left.axvline(comparison.evaluations, color=LIGHT.base, linewidth=0.5)
    left.xaxis.set_major_locator(MaxNLocator(integer=True))
    log_scale(left, "y")


def _draw_group(left: Axes, right: Axes, group: Group, number: int) -> None:
    color, style = f"C{number % 10}", _STYLES[number // 10 % len(_STYLES)]
    runs = f"{len(group.trials)} run{'s' * (len(group.trials) > 1)}"
    best = over_evaluations(group.trials)
    moments, best_then = over_time(group.trials)
    for axes, places, values in ((left, np.arange(best.shape[1], dtype=float), best), (right, moments, best_then)):
        middle = np.median(values, axis=0)
        low, high = np.quantile(values, BAND, axis=0, method="inverted_cdf")  # values can be infinite
        axes.step(places, np.where(np.isfinite(middle), middle, np.nan), where="post", color=color, linestyle=style,
                  linewidth=1.8, label=f"{group.label} ({runs})")
        if len(values) > 1:
            known = np.isfinite(high)
            axes.fill_between(places[known], low[known], high[known], step="post", color=color, alpha=0.15, linewidth=0)
