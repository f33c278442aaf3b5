"""Figures in plotly's format: JSON next to an empty element, which the page's script fills.

The JSON is written without plotly's Python classes, because building and checking them would take several times longer
than everything else, and a live page is made while kernels are being timed. Instead,
tests/experiments/report/test_browser.py lets plotly.js check every figure.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]
"""A trace or a layout as in https://plotly.com/javascript/reference; colours may be names of the palette."""


@dataclass(frozen=True, slots=True)
class View:
    """One way to draw a figure; `name` is the label of its button."""

    name: str
    traces: tuple[Json, ...]
    layout: Json


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure with one or several views. `name` is unique on the page; `label` describes the figure."""

    name: str
    label: str
    views: tuple[View, ...]
    height: int

    def html(self) -> str:
        """Return the element that the page's script draws into."""
        views = [{"name": view.name, "data": view.traces, "layout": LAYOUT | view.layout} for view in self.views]
        text = json.dumps(views, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
        return (
            f'<figure class="plot" id="plot-{self.name}">{self._buttons()}'
            f'<div class="drawing" style="height:{self.height}px" role="img" aria-label="{escape(self.label)}"></div>'
            f'<script type="application/json">{text}</script></figure>'
        )

    def _buttons(self) -> str:
        if len(self.views) < 2:
            return ""
        buttons = "".join(f'<button type="button" aria-pressed="{str(not n).lower()}">{escape(view.name)}</button>'
                          for n, view in enumerate(self.views))
        return f'<div class="views" role="group" aria-label="horizontal axis">{buttons}</div>'


LAYOUT: Json = {
    "margin": {"l": 8, "r": 12, "t": 8, "b": 8},
    "showlegend": False,
    "autosize": True,
    "hovermode": "closest",
    "uirevision": "kept",
}
"""The common layout of all figures; the script adds colours and fonts."""


LEGEND: Json = {"showlegend": True, "margin": {"l": 8, "r": 12, "t": 34, "b": 8},
                "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "traceorder": "normal"}}
"""A legend above the figure, with room for it: print is drawn in one go, without a second look at how much it needs."""


def axis(title: str, **more: object) -> Json:
    """Return an axis with automatic margins for its labels."""
    return {"title": {"text": title}, "automargin": True, **more}


def log_axis(title: str, low: float, high: float, **more: object) -> Json:
    """Return a logarithmic axis for values between `low` and `high` (> 0), with plain numbers; short axes also label 2s
    and 5s.
    """
    return (
        axis(title, type="log", tickformat="~g", dtick="D2" if high < 300 * low else 1, **more)
        if high < 1e4 * low
        else (axis(title, type="log", tickformat="~g", **more))
    )
