"""What the picture of a graph is drawn with: colours of times, and pieces of SVG."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from math import log
from typing import TypeAlias

Point: TypeAlias = tuple[float, float]

_FAST, _MIDDLE, _SLOW = (33, 102, 172), (190, 190, 190), (224, 130, 20)
STYLE = """
.ag-graph { font: 11px system-ui, sans-serif }
.ag-graph text { fill: #1b1f24 } .ag-graph .ag-soft { fill: #68707a } .ag-graph .ag-bold { font-weight: 600 }
.ag-back { fill: #ffffff } .ag-box { fill: #f5f7f9; stroke: #c8ced6 } .ag-track { fill: #e3e7ec }
.ag-flow { stroke: #9aa3ad; fill: none } .ag-tip { fill: #9aa3ad }
@media (prefers-color-scheme: dark) {
.ag-graph text { fill: #e8eaed } .ag-graph .ag-soft { fill: #9aa3ad }
.ag-back { fill: #14171a } .ag-box { fill: #1f2429; stroke: #444c56 } .ag-track { fill: #323941 }
.ag-flow { stroke: #68707a } .ag-tip { fill: #68707a } }
"""


@dataclass(frozen=True, slots=True)
class Scale:
    """Colours of times between `low_ms` and `high_ms`, logarithmic."""

    low_ms: float
    high_ms: float

    def color(self, ms: float) -> str:
        """Blue for fast, gray, orange for slow."""
        span = log(self.high_ms / self.low_ms) if self.low_ms > 0 else 0.0
        place = log(ms / self.low_ms) / span if span and ms > 0 else 0.0
        low, high, part = (_FAST, _MIDDLE, 2 * place) if place < 0.5 else (_MIDDLE, _SLOW, 2 * place - 1)
        return "#" + "".join(f"{round(a + (b - a) * min(1.0, part)):02x}" for a, b in zip(low, high, strict=True))


class Canvas:
    """Pieces of SVG, and how far down they reach. `tips`: rows carry what a browser shows when they are pointed at."""

    def __init__(self, tips: bool) -> None:
        self.parts: list[str] = []
        self.tips = tips

    def text(self, x: float, y: float, words: str, style: str = "", anchor: str = "start") -> None:
        """One line with its baseline at `y`."""
        kind = f' class="{style}"' if style else ""
        place = f' text-anchor="{anchor}"' if anchor != "start" else ""
        self.parts.append(f'<text x="{x:g}" y="{y:g}"{kind}{place}>{escape(words)}</text>')

    def rect(self, x: float, y: float, width: float, height: float, look: str, corner: int = 2) -> None:
        """A rectangle; `look` is its class or fill."""
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{width:.4g}" height="{height:g}" rx="{corner}" {look}/>')

    def arrow(self, start: Point, end: Point, thick: float) -> None:
        """A line to the right or down with a head at its end."""
        (x0, y0), (x1, y1) = start, end
        across, wide = y0 == y1, 3 + thick / 2
        neck = (x1 - 6, y1) if across else (x1, y1 - 6)
        self.parts.append(f'<path class="ag-flow" stroke-width="{thick:.3g}" d="M{x0:g} {y0:g}L{neck[0]:g} {neck[1]:g}"/>')
        ends = [(x1 - 6, y1 - wide), (x1 - 6, y1 + wide)] if across else [(x1 - wide, y1 - 6), (x1 + wide, y1 - 6)]
        corners = " ".join(f"{x:g},{y:g}" for x, y in [end, *ends])
        self.parts.append(f'<polygon class="ag-tip" points="{corners}"/>')

    def opened(self, tip: str) -> None:
        """What follows, up to `closed`, has this tip."""
        if self.tips:
            self.parts.append(f"<g><title>{escape(tip)}</title>")

    def closed(self) -> None:
        """Here the last tip ends."""
        if self.tips:
            self.parts.append("</g>")
