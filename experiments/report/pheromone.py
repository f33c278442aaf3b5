"""The optimization graph with the explorer's knowledge, on the page and as a picture."""

from __future__ import annotations

from experiments.graphs.figure import graph_picture, graph_svg
from experiments.pictures.canvas import picture_still
from experiments.pictures.stills import Still
from experiments.report.html import Section, nothing
from experiments.search.parts import Parts
from experiments.store import Store
from generator.errors import InputError

DRAWN_PX = 1240


def section(store: Store, parts: Parts, limit_s: float) -> Section:
    """Return the section with the graph. If repeating the walks takes longer than `limit_s` seconds, the graph is
    simpler.
    """
    title = "What the search knows"
    try:
        drawing = graph_svg(store, parts, tips=True, limit_s=limit_s)
    except InputError as reason:
        return Section("graph", "Pheromone", title, nothing(f"{str(reason)[:1].upper()}{str(reason)[1:]}."))
    body = f'<div class="scroll drawn" style="--drawn:{DRAWN_PX}px">{drawing}</div>'
    return Section("graph", "Pheromone", title, body)


def still(store: Store, parts: Parts, limit_s: float) -> Still | None:
    """Return the graph as a picture; None if there is nothing to draw."""
    try:
        return picture_still("graph", graph_picture(store, parts, limit_s=limit_s))
    except InputError:
        return None
