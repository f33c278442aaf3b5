"""The colours of reports, graphs and pictures on light and dark backgrounds, defined only here.

Blue, orange and gray can be told apart with red-green colour blindness. Figures refer to colours by token (`@best`).
The page's script replaces tokens according to the reader's colour scheme; picture files use the light colours.
"""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours as in CSS.

    `timed`: an evaluation; `best`: the best plan; `base`: the baseline; `flow`: arrows of a graph.
    """

    paper: str
    panel: str
    ink: str
    soft: str
    line: str
    timed: str
    timed_faint: str
    best: str
    best_faint: str
    base: str
    flow: str
    failed: str
    link: str


LIGHT = Palette(paper="#ffffff", panel="#f5f7f9", ink="#1b1f24", soft="#5b6570", line="#d5dae0", timed="#2f74b5",
                timed_faint="rgba(47, 116, 181, 0.16)", best="#c2620a", best_faint="rgba(194, 98, 10, 0.18)",
                base="#6b7480", flow="#9aa3ad", failed="#b3243a", link="#1d5fa3")
DARK = Palette(paper="#14171a", panel="#1d2126", ink="#e8eaed", soft="#a3acb6", line="#39414a", timed="#6fb1ea",
               timed_faint="rgba(111, 177, 234, 0.2)", best="#f2a14e", best_faint="rgba(242, 161, 78, 0.22)",
               base="#aab2bc", flow="#68707a", failed="#ff8391", link="#86bdf2")
FAST, MIDDLE, SLOW = (33, 102, 172), (190, 190, 190), (224, 130, 20)
"""Red, green and blue of a scale of times, on either paper."""


def palette_css() -> str:
    """Return CSS variables of both palettes, such as `--timed-faint`; print uses the light one."""
    return (f":root {{ {_variables(LIGHT)} }}\n"
            f"@media (prefers-color-scheme: dark) {{ :root {{ {_variables(DARK)} }} }}\n"
            f"@media print {{ :root {{ {_variables(LIGHT)} }} }}\n:root.paper {{ {_variables(LIGHT)} }}\n")


def _variables(palette: Palette) -> str:
    return "; ".join(f"--{field.name.replace('_', '-')}: {getattr(palette, field.name)}" for field in fields(palette))
