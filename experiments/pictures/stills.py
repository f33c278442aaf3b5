"""Picture files by matplotlib with a white background: how they are made, styled and written.

They need no display and no pyplot state.
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
DPI = 120
MOST_MINOR = 1000
"""A logarithmic axis with a larger ratio of its ends has no room for labels between the powers of ten."""


@dataclass(frozen=True, slots=True)
class Still:
    """A picture: `draw` fills the axes; `size` is in inches. `legend`: draw a legend below the axes."""

    name: str
    draw: Draw
    size: tuple[float, float] = (8, 4.5)
    legend: bool = False


def can_draw() -> bool:
    """Return whether matplotlib is installed; machines that only measure may lack it."""
    return find_spec("matplotlib") is not None


def write_still(still: Still, directory: Path, formats: tuple[Format, ...] = FORMATS) -> list[Path]:
    """Write NAME.png and NAME.svg and return their paths. Raises OSError if they cannot be written."""
    figure = drawn(still)
    paths = [directory / f"{still.name}.{kind}" for kind in formats]
    for path in paths:
        save(figure, path, path.suffix)
        figure.set_layout_engine("none")  # all formats use the layout of the first
    return paths


def drawn(still: Still) -> Figure:
    """Return the picture as a figure."""
    figure = blank(still.size)
    axes = figure.add_subplot()
    still.draw(axes)
    if still.legend and axes.get_legend_handles_labels()[0]:
        figure.legend(loc="outside lower center", ncols=5, frameon=False)
    return figure


def blank(size: tuple[float, float]) -> Figure:
    """Return an empty figure of `size` inches with automatic room for labels and legends."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save(figure: Figure, path: Path, suffix: str) -> None:
    """Write a figure as `.png`, `.svg` or `.pdf`. Equal figures give equal bytes.

    Raises:
        OSError: the file cannot be written.
    """
    import matplotlib

    kind, image = suffix.lower().lstrip("."), io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": path.stem, "svg.fonttype": "none"}):
        _print(figure, kind, image)
    write_atomically(path, image.getvalue())


def _print(figure: Figure, kind: str, image: io.BytesIO) -> None:
    """Draw once: `savefig` draws a figure with a layout twice, because the area to save may depend on the first."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    match kind:
        case "png":
            figure.set_dpi(DPI)
            FigureCanvasAgg(figure).print_png(image)  # type: ignore[no-untyped-call]  # matplotlib has none
        case "svg":
            FigureCanvasSVG(figure).print_svg(image, metadata={"Date": None})  # type: ignore[no-untyped-call]  # same
        case _:
            figure.savefig(image, format=kind, metadata={"CreationDate": None} if kind == "pdf" else None)


def log_scale(axes: Axes, which: Literal["x", "y"]) -> None:
    """Make an axis logarithmic, with plain numbers. Call it after everything is drawn."""
    from matplotlib.ticker import LogLocator, NullFormatter

    (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    axis = axes.xaxis if which == "x" else axes.yaxis
    low, high = axes.get_xlim() if which == "x" else axes.get_ylim()
    axis.set_minor_locator(LogLocator(subs=(2, 3, 5)))
    axis.set_major_formatter("{x:.3g}")
    axis.set_minor_formatter("{x:.3g}" if high < MOST_MINOR * low else NullFormatter())


def plain(axes: Axes, xlabel: str = "", ylabel: str = "", title: str = "") -> None:
    """Apply the style that all pictures share."""
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    axes.set_title(title)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color=LIGHT.line, linewidth=0.6)
    axes.set_axisbelow(True)
