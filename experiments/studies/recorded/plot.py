"""The plot of the suite: how fast each explorer approaches the optimum, one panel per space."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from experiments.pictures.stills import blank, plain, save
from experiments.studies.recorded.results import Results, SpaceFacts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = 2
MOST_BANDS = 6
_MARKERS = "ovs^Dp*Xhd<>"
_STYLES = ("-", "--", "-.", ":")


def write_plot(results: Results, path: Path) -> None:
    """Draw the mean of optimum / best over evaluations; peers are points at their budgets.

    If at most MOST_BANDS explorers are shown, each has a band from the 10 % to the 90 % quantile.

    Raises:
        OSError: the file cannot be written.
    """
    count = len(results.spaces)
    columns = min(COLUMNS, count)
    rows = -(-count // columns)
    figure = blank((6.5 * columns, 4 * rows + 0.6))
    panels = figure.subplots(rows, columns, squeeze=False).flatten()
    for panel, space in zip(panels, results.spaces, strict=False):
        _draw(panel, space, results)
    for panel in panels[count:]:
        panel.set_axis_off()
    lines, names = panels[0].get_legend_handles_labels()
    figure.legend(lines, names, loc="outside lower center", ncols=6, frameon=False)
    save(figure, path, ".png")


def _draw(axes: Axes, space: SpaceFacts, results: Results) -> None:
    plain(axes, "evaluations", "optimum / best so far", space.name)
    here = [standing for standing in results.standings if standing.space == space.name]
    lowest = 1.0
    for number, standing in enumerate(here):
        color, rows = f"C{number % 10}", [row for row in results.rows
                                          if (row.space, row.explorer) == (space.name, standing.explorer)]
        if standing.curve is None:
            axes.plot([row.budget for row in rows], [row.mean for row in rows], linestyle=":", color=color,
                      marker=_MARKERS[number % len(_MARKERS)], label=standing.explorer)
            lowest = min([lowest, *(row.mean for row in rows)])
            continue
        mean, low, high = standing.curve
        evaluations = np.arange(1, mean.size + 1)
        axes.plot(evaluations, mean, color=color, label=standing.explorer, linewidth=1.8,
                  linestyle=_STYLES[number // 10 % len(_STYLES)])
        if sum(one.curve is not None for one in here) <= MOST_BANDS:
            axes.fill_between(evaluations, low, high, color=color, alpha=0.12, linewidth=0)
        lowest = min(lowest, float(mean[min(9, mean.size - 1)]))
    axes.set_ylim(max(0.0, lowest - 0.05), 1.01)
