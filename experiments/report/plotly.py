"""Figures of the page as plotly reads them: values that become JSON beside an empty box, which the page's script fills.

The JSON is written here without plotly's Python classes: a live page is made while kernels are being timed, and
building and checking those takes several times longer than everything else. tests/experiments/report/test_browser.py
has plotly.js check every figure instead.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]
"""A trace or a layout, as https://plotly.com/javascript/reference describes them; colours may be tokens of the palette.
"""


@dataclass(frozen=True, slots=True)
class View:
    """One way to draw a figure; `name` is what its button says."""

    name: str
    traces: tuple[Json, ...]
    layout: Json


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure with one view or several to choose from. `name` is unique on the page; `label` says what is to be
    seen.
    """

    name: str
    label: str
    views: tuple[View, ...]
    height: int

    def html(self) -> str:
        """The element that the page's script draws into."""
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
"""What all figures share; the script adds colours and fonts."""


LEGEND: Json = {"showlegend": True, "margin": {"l": 8, "r": 12, "t": 34, "b": 8},
                "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "traceorder": "normal"}}
"""A legend above the figure, with room for it: print is drawn in one go, without a second look at how much it needs."""


def axis(title: str, **more: object) -> Json:
    """An axis that makes room for its labels."""
    return {"title": {"text": title}, "automargin": True, **more}


def log_axis(title: str, low: float, high: float, **more: object) -> Json:
    """A logarithmic axis for values between `low` and `high` (> 0), with plain numbers; a short one has 2s and 5s,
    too.
    """
    return (
        axis(title, type="log", tickformat="~g", dtick="D2" if high < 300 * low else 1, **more)
        if high < 1e4 * low
        else (axis(title, type="log", tickformat="~g", **more))
    )
