"""Pictures as files by matplotlib, on white paper: how all of them are made, look and are written.

Needs no display and no pyplot state.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from experiments.files import write_atomically
from experiments.pictures.palette import LIGHT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Draw: TypeAlias = "Callable[[Axes], None]"
Format: TypeAlias = Literal["png", "svg"]
FORMATS: tuple[Format, ...] = ("png", "svg")
MOST_MINOR = 1000
"""A logarithmic axis that spans more has no room for names between the powers of ten."""


@dataclass(frozen=True, slots=True)
class Still:
    """A picture: `draw` fills the axes; `size` in inches. `legend`: below the axes."""

    name: str
    draw: Draw
    size: tuple[float, float] = (8, 4.5)
    legend: bool = False


def can_draw() -> bool:
    """Whether matplotlib is installed: machines that only measure do without."""
    return find_spec("matplotlib") is not None


def write_still(still: Still, directory: Path, formats: tuple[Format, ...] = FORMATS) -> list[Path]:
    """Write NAME.png and NAME.svg; returns their paths. Raises OSError when they cannot be written."""
    figure = drawn(still)
    paths = [directory / f"{still.name}.{kind}" for kind in formats]
    for path in paths:
        save(figure, path, path.suffix)
        figure.set_layout_engine("none")  # all formats have the room that the first one found
    return paths


def drawn(still: Still) -> Figure:
    """The picture as a figure."""
    figure = blank(still.size)
    axes = figure.add_subplot()
    still.draw(axes)
    if still.legend and axes.get_legend_handles_labels()[0]:
        figure.legend(loc="outside lower center", ncols=5, frameon=False)
    return figure


def blank(size: tuple[float, float]) -> Figure:
    """An empty figure of `size` inches that makes room for labels and legends."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save(figure: Figure, path: Path, suffix: str) -> None:
    """Write a figure as `.png`, `.svg` or `.pdf`. The same numbers make the same bytes.

    Raises:
        OSError: the file cannot be written.
    """
    import matplotlib

    kind, image = suffix.lower().lstrip("."), io.BytesIO()
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    with matplotlib.rc_context({"svg.hashsalt": path.stem, "svg.fonttype": "none"}):
        figure.savefig(image, format=kind, dpi=120, metadata=undated)
    write_atomically(path, image.getvalue())


def log_scale(axes: Axes, which: Literal["x", "y"]) -> None:
    """Make an axis logarithmic, with plain numbers; call it when everything is drawn."""
    from matplotlib.ticker import LogLocator, NullFormatter

    (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    axis = axes.xaxis if which == "x" else axes.yaxis
    low, high = axes.get_xlim() if which == "x" else axes.get_ylim()
    axis.set_minor_locator(LogLocator(subs=(2, 3, 5)))
    axis.set_major_formatter("{x:.3g}")
    axis.set_minor_formatter("{x:.3g}" if high < MOST_MINOR * low else NullFormatter())


def plain(axes: Axes, xlabel: str = "", ylabel: str = "", title: str = "") -> None:
    """The looks that all pictures share."""
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    axes.set_title(title)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color=LIGHT.line, linewidth=0.6)
    axes.set_axisbelow(True)
