"""The drawing of the regression tree: from left to right, the faster answer above the slower, leaves on the right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from experiments.graphs.words import BEST, wrap
from experiments.pictures.canvas import Canvas, Picture, Scale, picture_still, svg
from experiments.pictures.stills import Still
from experiments.report.facts import Facts
from experiments.report.html import Section, note, nothing
from experiments.report.tree import TreeNode, fitted

BOX, HIGH, LEAF = 188.0, 54.0, 40.0
ACROSS, DOWN, MARGIN = 40.0, 12.0, 10.0


@dataclass(frozen=True, slots=True)
class Placed:
    """A node with the position of the middle of its left edge."""

    node: TreeNode
    x: float
    y: float
    children: tuple[tuple[str, Placed], ...]


def tree_picture(root: TreeNode, tips: bool, describe: Callable[[float], str]) -> Picture:
    """Return the drawing; the path to the best walk is thick."""
    placed, end = _place(root, MARGIN, MARGIN)
    leaves = [one.node for one in _all(placed) if not one.children]
    scale = Scale(min(leaf.median_ms for leaf in leaves), max(leaf.median_ms for leaf in leaves))
    canvas = Canvas(tips, describe)
    for one in _all(placed):
        for answer, child in one.children:
            _edge(canvas, one, child, answer)
    for one in _all(placed):
        _node(canvas, one, scale)
    width = max(one.x for one in _all(placed)) + BOX + MARGIN
    return canvas.picture(width, end + MARGIN, "regression tree over all timed walks")


def _place(node: TreeNode, x: float, y: float) -> tuple[Placed, float]:
    """Place leaves below each other and each question in the middle of its answers; return also the next free y."""
    if not node.branches:
        return Placed(node, x, y + LEAF / 2, ()), y + LEAF + DOWN
    children = []
    for answer, part in node.branches:
        child, y = _place(part, x + BOX + ACROSS, y)
        children.append((answer, child))
    middle = (children[0][1].y + children[-1][1].y) / 2
    return Placed(node, x, middle, tuple(children)), y


def _all(placed: Placed) -> Iterator[Placed]:
    yield placed
    for _, child in placed.children:
        yield from _all(child)


def _edge(canvas: Canvas, parent: Placed, child: Placed, answer: str) -> None:
    x, bend = parent.x + BOX, parent.x + BOX + ACROSS / 2
    best = child.node.best
    canvas.line([(x, parent.y), (bend, parent.y), (bend, child.y), (child.x, child.y)], 2.5 if best else 1.2,
                "ag-way" if best else "ag-flow")
    canvas.text(bend + 3, child.y - 4, answer, "ag-soft")


def _node(canvas: Canvas, one: Placed, scale: Scale) -> None:
    node, high = one.node, LEAF if one.node.question is None else HIGH
    top, spread = one.y - high / 2, f"{canvas.describe(node.low_ms)} to {canvas.describe(node.high_ms)}"
    canvas.opened(f"{node.walks} walks; median {canvas.describe(node.median_ms)}, middle half {spread}")
    canvas.rect(one.x, top, BOX, high, "ag-best" if node.best and node.question is None else "ag-box", corner=4)
    canvas.rect(one.x, top, 5, high, fill=scale.color(node.median_ms), corner=2)
    many = f"{node.walks} walks"
    if node.question is None:
        mark = f"{BEST} " if node.best else ""
        canvas.text(one.x + 12, one.y - 3, f"{mark}{canvas.describe(node.median_ms)}", "ag-bold")
        canvas.text(one.x + BOX - 8, one.y - 3, many, "ag-soft", "end")
        canvas.text(one.x + 12, one.y + 12, spread, "ag-soft")
    else:
        for line, words in enumerate(wrap(f"{node.question}?", BOX - 16, 2)):
            canvas.text(one.x + 12, top + 16 + 14 * line, words, "ag-bold")
        canvas.text(one.x + 12, top + high - 8, canvas.describe(node.median_ms))
        canvas.text(one.x + BOX - 8, top + high - 8, many, "ag-soft", "end")
    canvas.closed()


def section(facts: Facts) -> Section:
    """Return the section with the drawing, or with the reason why there is none."""
    title, found = "Which questions split fast from slow", fitted(facts.judged, facts.walks, facts.judged_best)
    if isinstance(found, str):
        return Section("tree", "Tree", title, nothing(found))
    picture = tree_picture(found, True, facts.sought.describe)
    text = (
        "A regression tree fitted to all timed walks (the logarithm of the time; at most 12 leaves). A box says the "
        "question, "
        "the median time and how many walks are in it; a leaf also where the middle half of its times lies. The "
        "faster answer "
        f"is above; {BEST} is the leaf of the best walk, the thick line the way there."
    )
    return Section(
        "tree",
        "Tree",
        title,
        f'<div class="scroll drawn" style="--drawn:{picture.width:g}px">{svg(picture)}</div>' + note(text),
    )


def still(facts: Facts) -> Still | None:
    """Return the drawing as a picture; None if there is no tree."""
    found = fitted(facts.judged, facts.walks, facts.judged_best)
    if isinstance(found, str):
        return None
    return picture_still("tree", tree_picture(found, False, facts.sought.describe))
