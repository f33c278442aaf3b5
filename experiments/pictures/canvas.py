"""The elements of drawings of graphs and trees: colours of times, and pieces that become SVG or matplotlib pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, assert_never

from experiments.pictures.palette import DARK, FAST, LIGHT, MIDDLE, SLOW, Palette
from experiments.pictures.stills import Still, blank, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POINTS_PER_PIXEL = 0.75
"""The scale of a drawing that becomes a picture file."""

Point: TypeAlias = tuple[float, float]

_LOOKS: Mapping[str, tuple[str, str]] = {
    "ag-back": ("paper", ""), "ag-box": ("panel", "line"), "ag-best": ("panel", "best"), "ag-track": ("line", ""),
    "ag-flow": ("", "flow"), "ag-tip": ("flow", ""), "ag-way": ("", "best"), "ag-node": ("paper", "line"),
    "ag-root": ("timed", "timed"), "ag-block": ("best", "best"), "ag-inline": ("flow", "flow")}
"""The fill and the line of each class, as fields of the palette; empty: none."""


def _colors(palette: Palette) -> str:
    shapes = "".join(f".{name} {{ fill: {getattr(palette, fill, 'none')}; stroke: {getattr(palette, line, 'none')} }}\n"
                     for name, (fill, line) in _LOOKS.items())
    return f".ag-graph text {{ fill: {palette.ink} }} .ag-graph .ag-soft {{ fill: {palette.soft} }}\n{shapes}"


STYLE = (
    ".ag-graph { font: 11px system-ui, sans-serif } .ag-graph .ag-bold { font-weight: 600 } .ag-best { stroke-width: "
    "2 }\n"
    f"{_colors(LIGHT)}@media (prefers-color-scheme: dark) {{\n{_colors(DARK)}}}\n@media print {{\n{_colors(LIGHT)}}}\n"
)


@dataclass(frozen=True, slots=True)
class Scale:
    """Colours for times between `low_ms` and `high_ms`, logarithmic."""

    low_ms: float
    high_ms: float

    def color(self, ms: float) -> str:
        """Return the colour of a time: blue for fast, gray in the middle, orange for slow."""
        span = log(self.high_ms / self.low_ms) if self.low_ms > 0 else 0.0
        place = log(ms / self.low_ms) / span if span and ms > 0 else 0.0
        low, high, part = (FAST, MIDDLE, 2 * place) if place < 0.5 else (MIDDLE, SLOW, 2 * place - 1)
        return "#" + "".join(f"{round(a + (b - a) * min(1.0, part)):02x}" for a, b in zip(low, high, strict=True))


@dataclass(frozen=True, slots=True)
class Text:
    """A line of text with its baseline at `y`; `style` is empty, ag-soft or ag-bold, `anchor` start, middle or end."""

    x: float
    y: float
    words: str
    style: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Rect:
    """A rectangle with a class of STYLE or its own colour."""

    x: float
    y: float
    width: float
    height: float
    style: str
    fill: str
    corner: int


@dataclass(frozen=True, slots=True)
class Line:
    """A line through points in the style `style`, `thick` pixels wide."""

    points: tuple[Point, ...]
    style: str
    thick: float


@dataclass(frozen=True, slots=True)
class Tip:
    """The head of an arrow."""

    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Words:
    """A tip that a browser shows for the pieces that follow, up to the next `None`."""

    text: str | None


Piece: TypeAlias = Text | Rect | Line | Tip | Words


@dataclass(frozen=True, slots=True)
class Picture:
    """A finished drawing; `label` describes it for screen readers."""

    width: float
    height: float
    pieces: tuple[Piece, ...]
    label: str


class Canvas:
    """Collects pieces. `tips`: rows have tips that a browser shows. `describe` writes a cost as text."""

    def __init__(self, tips: bool, describe: Callable[[float], str] = str) -> None:
        self.parts: list[Piece] = []
        self.tips = tips
        self.describe = describe

    def text(self, x: float, y: float, words: str, style: str = "", anchor: str = "start") -> None:
        """Add a line of text with its baseline at `y`."""
        self.parts.append(Text(x, y, words, style, anchor))

    def rect(
        self, x: float, y: float, width: float, height: float, style: str = "", fill: str = "", corner: int = 2
    ) -> None:
        """Add a rectangle; `style` is its class, `fill` its own colour."""
        self.parts.append(Rect(x, y, width, height, style, fill, corner))

    def line(self, points: Sequence[Point], thick: float, style: str = "ag-flow") -> None:
        """Add a line without an arrow head."""
        self.parts.append(Line(tuple(points), style, thick))

    def arrow(self, start: Point, end: Point, thick: float) -> None:
        """Add a line to the right or down with a head at its end."""
        (x0, y0), (x1, y1) = start, end
        across, wide = y0 == y1, 3 + thick / 2
        self.line([(x0, y0), (x1 - 6, y1) if across else (x1, y1 - 6)], thick)
        ends = [(x1 - 6, y1 - wide), (x1 - 6, y1 + wide)] if across else [(x1 - wide, y1 - 6), (x1 + wide, y1 - 6)]
        self.parts.append(Tip((end, *ends)))

    def opened(self, tip: str) -> None:
        """Begin a tip for the pieces that follow, up to `closed`."""
        if self.tips:
            self.parts.append(Words(tip))

    def closed(self) -> None:
        """End the last tip."""
        if self.tips:
            self.parts.append(Words(None))

    def picture(self, width: float, height: float, label: str) -> Picture:
        """Return the drawing so far."""
        return Picture(width, height, tuple(self.parts), label)


def svg(picture: Picture) -> str:
    """Return a self-contained SVG element for light and dark backgrounds."""
    parts = "".join(part for piece in picture.pieces for part in _svg(piece))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="ag-graph" viewBox="0 0 {picture.width:g} {picture.height:g}" '
        f'role="img" aria-label="{escape(picture.label)}"><style>{STYLE}</style>'
        f'<rect class="ag-back" width="100%" height="100%"/>{parts}</svg>\n'
    )


def _svg(piece: Piece) -> Iterator[str]:
    match piece:
        case Text(x, y, words, style, anchor):
            kind = f' class="{style}"' if style else ""
            place = f' text-anchor="{anchor}"' if anchor != "start" else ""
            yield f'<text x="{x:g}" y="{y:g}"{kind}{place}>{escape(words)}</text>'
        case Rect(x, y, width, height, style, fill, corner):
            look = (f' class="{style}"' if style else "") + (f' fill="{fill}"' if fill else "")
            yield f'<rect x="{x:g}" y="{y:g}" width="{width:.4g}" height="{height:g}" rx="{corner}"{look}/>'
        case Line(points, style, thick):
            way = "L".join(f"{x:g} {y:g}" for x, y in points)
            yield f'<path class="{style}" stroke-width="{thick:.3g}" d="M{way}"/>'
        case Tip(points):
            yield f'<polygon class="ag-tip" points="{" ".join(f"{x:g},{y:g}" for x, y in points)}"/>'
        case Words(text):
            yield "</g>" if text is None else f"<g><title>{escape(text)}</title>"
        case _:
            assert_never(piece)


def draw(axes: Axes, picture: Picture, points_per_pixel: float) -> None:
    """Draw the picture on the axes of a matplotlib figure with a white background, text in proportion to the boxes."""
    axes.set_xlim(0, picture.width)
    axes.set_ylim(picture.height, 0)
    axes.set_aspect("equal")
    axes.set_axis_off()
    for piece in picture.pieces:
        _draw(axes, piece, points_per_pixel)


def _draw(axes: Axes, piece: Piece, scale: float) -> None:
    from matplotlib.patches import Polygon, Rectangle

    match piece:
        case Text(x, y, words, style, anchor):
            axes.text(x, y, words.replace("$", r"\$"), fontsize=10 * scale, va="baseline",
                      ha={"start": "left", "middle": "center", "end": "right"}[anchor],
                      color=LIGHT.soft if style == "ag-soft" else LIGHT.ink,
                      weight="bold" if style == "ag-bold" else "normal")
        case Rect(x, y, width, height, style, fill, _):
            inside, line = _on_white(style)
            axes.add_patch(Rectangle((x, y), width, height, facecolor=fill or inside, edgecolor=line, linewidth=scale))
        case Line(points, style, thick):
            axes.plot(
                [x for x, _ in points],
                [y for _, y in points],
                color=_on_white(style)[1],
                linewidth=thick * scale,
                solid_capstyle="butt",
            )
        case Tip(points):
            axes.add_patch(Polygon(points, closed=True, facecolor=LIGHT.flow, edgecolor="none"))
        case Words():
            return
        case _:
            assert_never(piece)


def _on_white(style: str) -> tuple[str, str]:
    """Return the fill and the line of a class for pictures without a style sheet."""
    fill, line = _LOOKS.get(style, ("", ""))
    return getattr(LIGHT, fill, "none"), getattr(LIGHT, line, "none")


def picture_still(name: str, picture: Picture) -> Still:
    """Return a drawing as a picture file, with text that fits its boxes."""
    size = picture.width * POINTS_PER_PIXEL / 72, picture.height * POINTS_PER_PIXEL / 72
    return Still(name, partial(draw, picture=picture, points_per_pixel=POINTS_PER_PIXEL), size)


def save_picture(picture: Picture, path: Path, kind: str) -> None:
    """Write a drawing as `png` or `pdf`. Raises OSError if it cannot be written."""
    still = picture_still(path.stem, picture)
    figure = blank(still.size)
    still.draw(figure.add_subplot())
    save(figure, path, kind)
