"""convergence.png: how the best time fell over the evaluations. Needs no display and no pyplot state."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.files import write_atomically
from experiments.store import Store
from experiments.summary import summarize
from metrics.outcome import cost_ms

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_MINOR = 1000  # an axis that spans more has no room for names between the powers of ten


def write_convergence(store: Store, directory: Path) -> None:
    """Draw every timed evaluation, the best so far, the default plan and the sequential program."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    _draw(axes, store)
    if axes.get_legend_handles_labels()[0]:
        figure.legend(loc="outside lower center", ncols=5, frameon=False)
    image = io.BytesIO()
    figure.savefig(image, format="png", dpi=120)
    write_atomically(directory / "convergence.png", image.getvalue())


def _draw(axes: Axes, store: Store) -> None:
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

    summary, results = summarize(store), store.results()
    timed = [(r.evaluation.number, ms) for r in results if (ms := cost_ms(r.outcome)) is not None]
    failed = [r.evaluation.number for r in results if cost_ms(r.outcome) is None]
    axes.set_title(f"{summary.name} on {summary.device}")
    axes.set_xlabel("evaluation (0: default plan)")
    axes.set_ylabel("time [ms]")
    if not timed:
        axes.text(0.5, 0.5, "no valid variant was found", transform=axes.transAxes, ha="center", va="center")
        return
    axes.set_yscale("log")
    axes.yaxis.set_minor_locator(LogLocator(subs=(2, 3, 5)))
    axes.yaxis.set_major_formatter("{x:.3g}")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    numbers = [number for number, _ in timed]
    axes.plot(numbers, [ms for _, ms in timed], "o", markersize=4, alpha=0.5, label="timed")
    best = best_so_far([ms for _, ms in timed])
    axes.step([*numbers, results[-1].evaluation.number], [*best, best[-1]], where="post", linewidth=2, label="best so far")
    for label, ms, style in (("sequential C", summary.sequential_ms, ":"), ("default plan", summary.default_ms, "--")):
        if ms:
            axes.axhline(ms, linestyle=style, color="gray", label=label)
    low, high = axes.get_ylim()
    axes.yaxis.set_minor_formatter("{x:.3g}" if high < MOST_MINOR * low else NullFormatter())
    if failed:
        axes.plot(failed, [low] * len(failed), "x", color="tab:red", label="failed", clip_on=False)


def best_so_far(times_ms: list[float]) -> list[float]:
    """The running minimum."""
    best: list[float] = []
    for ms in times_ms:
        best.append(min(ms, best[-1]) if best else ms)
    return best
