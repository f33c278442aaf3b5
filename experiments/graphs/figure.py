"""A run's optimization graph as a picture: self-contained SVG, alone or in a page.

Each decision is a box, each option a row. The width of a row's bar is its pheromone, its colour the mean cost of the
walks that chose it. The program's decisions come first, in reading order, then the kernels side by side. Blue and
orange can be told apart with colour vision deficiency, and on white and black backgrounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from experiments.graphs.collapse import Box, Panel, Row, Walks, collapse
from experiments.graphs.history import Explored, explored, searched, sought_of
from experiments.graphs.words import BEST, LETTER, SOMETIMES, TIMES, box_title, note_lines, option_words, row_tip, wrap
from experiments.pictures.canvas import Canvas, Picture, Scale, svg
from experiments.search.parts import PARTS, Parts
from experiments.search.summary import best_result, summarize
from experiments.store import Store
from experiments.values.records import best_of
from graph.walk import choices_from_json, walks_from_json

WIDTH, COLUMNS, GAP, MARGIN = 1240, 4, 16, 20
BOX = (WIDTH - 2 * MARGIN - (COLUMNS - 1) * GAP) // COLUMNS
ROW, HEAD, PAD = 17, 22, 7
LABEL, BAR, TRACK = 84, 90, 104
MOST_ROWS = 10
MOST_PANELS = 8
MOST_BOXES = 24
SELDOM = 0.05
"""After the first row of panels, kernels that a smaller fraction of the walks reached are only named."""


def graph_svg(store: Store, parts: Parts = PARTS, tips: bool = False, limit_s: float = math.inf) -> str:
    """Return the optimization graph of a run as an SVG element; `limit_s` as for `experiments.graphs.history.explored`.

    `tips`: a browser shows details of an option when the mouse is over it.

    Raises:
        InputError: there is nothing to draw.
    """
    return svg(graph_picture(store, parts, tips, limit_s))


def graph_picture(store: Store, parts: Parts = PARTS, tips: bool = False, limit_s: float = math.inf) -> Picture:
    """Return the graph as a drawing, for other formats than SVG. Raises InputError if there is nothing to draw."""
    return _drawn(store, explored(store, parts, limit_s), tips)


def graph_page(store: Store, parts: Parts = PARTS) -> str:
    """Return the graph as a page of its own, with tips. Raises InputError if there is nothing to draw."""
    title = escape(f"Optimization graph of {store.info().program.name}")
    return (f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
            f'content="width=device-width"><title>{title}</title><style>html {{ color-scheme: light dark }} '
            f'body {{ margin: 1em auto; max-width: 1400px }} svg {{ width: 100%; height: auto }}</style></head><body>'
            f"{graph_svg(store, parts, tips=True)}</body></html>\n")


def _drawn(store: Store, found: Explored, tips: bool) -> Picture:
    results = sought_of(store).judged(searched(store))
    texts = store.walks()
    walks: Walks = walks_from_json(texts[result.evaluation.number] for result in results)
    best = best_result(results, summarize(store)) or best_of(results)  # a final may change the order
    chosen = choices_from_json(texts[best.evaluation.number]) if best else ()
    program, *others = collapse(found.graph, found.trails, walks, chosen)
    canvas = Canvas(tips, sought_of(store).describe)
    y = _notes(canvas, note_lines(store.info(), results, found))
    y = _program(canvas, program, len(walks), y + 8) if program.boxes else y
    shown, rest = _worth_drawing(others, len(walks))
    for first in range(0, len(shown), COLUMNS):
        y = _side_by_side(canvas, shown[first:first + COLUMNS], len(walks), y + 12)
    y = _the_rest(canvas, rest, len(walks), y)
    return canvas.picture(WIDTH, y + MARGIN, "optimization graph")


def _notes(canvas: Canvas, lines: Sequence[str]) -> float:
    y = MARGIN + 14.0
    for number, line in enumerate(lines):
        for part in wrap(line, WIDTH - 2 * MARGIN, 3):
            canvas.text(MARGIN, y, part, "ag-bold" if number == 0 else "ag-soft")
            y += 16
    return y


def _worth_drawing(panels: Sequence[Panel], walks: int) -> tuple[Sequence[Panel], Sequence[Panel]]:
    """Return the panels to draw and those to name only, most visited first."""
    count = sum(number < COLUMNS or panel.visits >= SELDOM * walks for number, panel in enumerate(panels[:MOST_PANELS]))
    return panels[:count], panels[count:]


def _program(canvas: Canvas, panel: Panel, walks: int, y: float) -> float:
    """Draw the program's boxes in reading order and return the y at which they end."""
    shown, scale = _most_met(panel), _scale(panel.boxes)
    _heading(canvas, MARGIN, y, "whole program", f"all {walks} walks", scale)
    y += HEAD + 18
    rows = [shown[first:first + COLUMNS] for first in range(0, len(shown), COLUMNS)]
    for row in rows:
        for column, box in enumerate(row):
            x = MARGIN + column * (BOX + GAP)
            _box(canvas, box, panel, scale, x, y)
            if column:
                canvas.arrow((x - GAP, y + 12), (x, y + 12), _thickness(box.visits, walks))
        y += max(_height(box) for box in row) + GAP
    return _left_out(canvas, panel, MARGIN, y)


def _side_by_side(canvas: Canvas, panels: Sequence[Panel], walks: int, y: float) -> float:
    """Draw kernels in columns and return the y at which the longest ends."""
    ends = []
    for column, panel in enumerate(panels):
        x, below = MARGIN + column * (BOX + GAP), y
        scale = _scale(panel.boxes)
        title = f"{'kernel' if panel.kernel else 'inside'} {' '.join(panel.subject)}"
        _heading(canvas, x, below, title, f"{panel.visits} of {walks} walks", scale)
        below += HEAD + 18
        for number, box in enumerate(_most_met(panel)):
            if number:
                canvas.arrow((x + 12, below - GAP), (x + 12, below), _thickness(box.visits, panel.visits))
            _box(canvas, box, panel, scale, x, below)
            below += _height(box) + GAP
        ends.append(_left_out(canvas, panel, x, below))
    return max(ends)


def _most_met(panel: Panel) -> Sequence[Box]:
    """Return the boxes to draw, in order."""
    most = sorted(panel.boxes, key=lambda box: -box.visits)[:MOST_BOXES]
    return [box for box in panel.boxes if box in most]


def _left_out(canvas: Canvas, panel: Panel, x: float, y: float) -> float:
    if len(panel.boxes) <= MOST_BOXES:
        return y
    canvas.text(x, y + 8, f"and {len(panel.boxes) - MOST_BOXES} more decisions", "ag-soft")
    return y + 20


def _the_rest(canvas: Canvas, panels: Sequence[Panel], walks: int, y: float) -> float:
    if not panels:
        return y
    most = max(panel.visits for panel in panels)
    names = ", ".join(f"{' '.join(panel.subject)} ({panel.visits})" for panel in panels)
    text = f"and {len(panels)} more that were met seldom, each by at most {most} of {walks} walks: {names}"
    for line in wrap(text, WIDTH - 2 * MARGIN, 4):
        canvas.text(MARGIN, y + 12, line, "ag-soft")
        y += 15
    return y


def _heading(canvas: Canvas, x: float, y: float, title: str, note: str, scale: Scale | None) -> None:
    """Draw the name of a panel with its walks, and the legend of its colours below, as wide as a box."""
    canvas.text(x, y + 12, wrap(title, BOX - LETTER * len(note) - 8, 1)[0], "ag-bold")
    canvas.text(x + BOX, y + 12, note, "ag-soft", "end")
    if scale is None:
        return
    left, y = x + BAR, y + 28
    canvas.text(left - 6, y, canvas.describe(scale.low_ms), "ag-soft", "end")
    for step in range(TRACK // 4):
        place = scale.low_ms * (scale.high_ms / scale.low_ms) ** (step / (TRACK // 4 - 1))
        canvas.rect(left + 4 * step, y - 8, 4.2, 9, fill=scale.color(place), corner=0)
    canvas.text(left + TRACK + 5, y, canvas.describe(scale.high_ms), "ag-soft")


def _scale(boxes: Sequence[Box]) -> Scale | None:
    means = [row.cost.mean for box in boxes for row in box.rows if row.cost.count and row.cost.mean > 0]
    return Scale(min(means), max(means)) if means else None


def _height(box: Box) -> float:
    rows, left_out = _shown(box)
    return HEAD + ROW * (len(rows) + bool(left_out)) + PAD


def _shown(box: Box) -> tuple[Sequence[Row], int]:
    """Return the most likely rows, in order, and the number of rows left out."""
    if len(box.rows) <= MOST_ROWS:
        return box.rows, 0
    likeliest = sorted(box.rows, key=lambda row: (not row.best, -row.share, -row.visits))[:MOST_ROWS - 1]
    return [row for row in box.rows if row in likeliest], len(box.rows) - len(likeliest)


def _box(canvas: Canvas, box: Box, panel: Panel, scale: Scale | None, x: float, y: float) -> None:
    (rows, left_out), title = _shown(box), box_title(box, panel)
    canvas.rect(x, y, BOX, _height(box), "ag-box", corner=4)
    canvas.opened(f"{title}: {box.visits} walks, {box.contexts} nodes")
    canvas.text(x + 8, y + 15, wrap(title, BOX - 66, 1)[0], "ag-bold")
    canvas.text(x + BOX - 8, y + 15, f"{box.visits} walks", "ag-soft", "end")
    canvas.closed()
    for number, row in enumerate(rows):
        _row(canvas, row_tip(title, row, canvas.describe), row, scale, x, y + HEAD + ROW * number)
    if left_out:
        canvas.text(x + LABEL, y + HEAD + ROW * len(rows) + 12, f"and {left_out} more options", "ag-soft")


def _row(canvas: Canvas, tip: str, row: Row, scale: Scale | None, x: float, y: float) -> None:
    canvas.opened(tip)
    dead = row.dead == row.offered
    canvas.text(x + LABEL, y + 12, wrap(option_words(row.option), LABEL - 20, 1)[0],
                "ag-soft" if dead or not row.visits else "", "end")
    if row.best:
        canvas.text(x + 7, y + 12, BEST)
    canvas.rect(x + BAR, y + 3, TRACK, ROW - 6, "ag-track")
    if row.share > 0:
        color = scale.color(row.cost.mean) if scale and row.cost.count else ""
        canvas.rect(x + BAR, y + 3, max(1.0, TRACK * row.share), ROW - 6, "" if color else "ag-flow", color)
    words = "dead end" if dead else canvas.describe(row.cost.mean) if row.cost.count else ""
    canvas.text(x + BAR + TRACK + 5, y + 12, words, "ag-soft" if dead else "")
    marks = (f"{TIMES}{row.failures}" if row.failures else "") + (f" {SOMETIMES}" if 0 < row.dead < row.offered else "")
    canvas.text(x + BOX - 6, y + 12, marks, "ag-bold", "end")
    canvas.closed()


def _thickness(visits: int, walks: int) -> float:
    return 1 + 5 * visits / max(1, walks)
