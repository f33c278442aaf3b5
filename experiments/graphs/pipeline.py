"""A drawing of a pipeline: a box around what each kernel computes, from the inputs at the top to the outputs at the
bottom.

A stage that several kernels compute appears in each of them. A line that crosses the edge of a kernel is an array in
global memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from experiments.graphs.words import LETTER, wrap
from experiments.pictures.canvas import Canvas, Picture, Point
from experiments.pictures.layers import Arrow, Item, Layout, layout
from experiments.words import describe_ms

if TYPE_CHECKING:
    from generator.lowering.analysis.stage_work import StageWork
    from generator.pipeline_graph import Computed, PipelineGraph, PipelineKernel

HIGH, NARROWEST, WIDEST = 34.0, 76.0, 190.0
HEAD, PAD, MARGIN, PORT = 20.0, 9.0, 12.0, 10.0
ACROSS, DOWN = 12.0, 24.0
"""Distances between the parts of a kernel."""
APART, BELOW = 20.0, 34.0
"""Distances between kernels."""
BOLD = 7.0
"""The mean width of a bold letter in pixels."""
THICK = 1.2
REDUNDANT = 1.005
"""From this mean number of computations per element on, a stage is labelled with its redundant work."""
_IN, _OUT = "\nin", "\nout"
"""Suffixes of the names of input and output positions of arrays."""


@dataclass(frozen=True, slots=True)
class KernelNote:
    """A kernel in a drawing: time in ms (None: unknown), decisions in words, work for stages by array."""

    ms: float | None
    words: str
    works: Mapping[str, StageWork] = field(default_factory=lambda: MappingProxyType({}))

    def word(self, one: Computed) -> str:
        """Return where a stage is computed, with its box and its redundant work; this repeats in words what the colours
        show.
        """
        work = self.works.get(one.array)
        if one.place == "root" or work is None:
            return _word(one)
        box = f" {'x'.join(map(str, reversed(work.box)))}" if work.box else ""
        return f"{one.place}{box}{f', {work.times:.3g}x' if work.times >= REDUNDANT else ''}"


Notes: TypeAlias = Mapping[tuple[str, ...], KernelNote]


@dataclass(frozen=True, slots=True)
class _Inside:
    """A kernel with the layout of its parts in a box of this size; `leaving` are the arrays that later kernels read."""

    kernel: PipelineKernel
    leaving: tuple[str, ...]
    title: str
    note: KernelNote
    parts: Layout
    left: float
    width: float
    height: float

    @property
    def alone(self) -> bool:
        """Whether the kernel computes only one stage."""
        return len(self.kernel.arrays) == 1

    def entry(self, array: str) -> float:
        """Return where an array enters, relative to the middle of the box (positive: right)."""
        many = len(self.kernel.fetched)
        return PORT * (self.kernel.fetched.index(array) - (many - 1) / 2) if self.alone else self._middle(_input(array))

    def exit(self, array: str) -> float:
        """Return where an array leaves, relative to the middle of the box (positive: right)."""
        return self._middle(_output(array) if _output(array) in self.parts.places else array)

    def _middle(self, name: str) -> float:
        return self.left + self.parts.places[name][0] - self.width / 2


def pipeline_picture(graph: PipelineGraph, notes: Notes, heading: str, tips: bool) -> Picture:
    """Return the drawing with a heading; `notes` of the kernels are given by their statements."""
    insides = [_inside(kernel, number, notes.get(kernel.statements, KernelNote(None, "")), _read_later(graph, number))
               for number, kernel in enumerate(graph.kernels, 1)]
    items = [Item(_input(array), _wide(array, "input"), HIGH) for array in graph.inputs]
    items += [Item(inside.title, inside.width, inside.height) for inside in insides]
    places = layout(items, _arrows(graph, insides), APART, BELOW)
    canvas, top = Canvas(tips), MARGIN + 26
    canvas.text(MARGIN, MARGIN + 12, heading, "ag-bold")
    for way in places.ways.values():
        _arrow(canvas, way, (MARGIN, top))
    for array in graph.inputs:
        x, y = places.places[_input(array)]
        _node(canvas, (MARGIN + x, top + y), array, "input", "", array)
    whole = sum(inside.note.ms or 0 for inside in insides)
    for inside in insides:
        x, y = places.places[inside.title]
        _kernel(canvas, inside, (MARGIN + x - inside.width / 2, top + y), whole)
    width = max(places.width, BOLD * len(heading)) + 2 * MARGIN
    return canvas.picture(width, top + places.height + MARGIN, f"kernels of the {heading}")


def _read_later(graph: PipelineGraph, number: int) -> frozenset[str]:
    return frozenset(array for later in graph.kernels[number:] for array in later.fetched)


def _inside(kernel: PipelineKernel, number: int, note: KernelNote, read_later: frozenset[str]) -> _Inside:
    leaving = tuple(array for array in kernel.stored if array in read_later)
    items, arrows = _parts(kernel, note, leaving if len(kernel.stored) > 1 else ())
    parts = layout(items, arrows, ACROSS, DOWN)
    title = f"kernel {number}"
    time = "" if note.ms is None else describe_ms(note.ms)
    width = max(parts.width + 2 * PAD, BOLD * len(title) + LETTER * len(time) + 30)
    height = HEAD + parts.height + 2 * PAD
    return _Inside(kernel, leaving, title, note, parts, (width - parts.width) / 2, width, height)


def _parts(kernel: PipelineKernel, note: KernelNote, leaving: Sequence[str]) -> tuple[list[Item], list[Arrow]]:
    """Return the parts in the box of a kernel, and the arrows between them; a kernel of one stage needs no arrows.

    `leaving`: arrays that have an arrow to the bottom of the box.
    """
    items = [Item(one.array, _wide(one.array, note.word(one)), HIGH) for one in kernel.arrays]
    arrows: list[Arrow] = []
    if len(items) == 1:
        return items, arrows
    made: set[str] = set()
    for one in kernel.arrays:
        arrows += [Arrow(array if array in made else _input(array), one.array, array) for array in one.reads]
        made.add(one.array)
    items = [*(Item(_input(array), PORT, 0, first=True) for array in kernel.fetched), *items]
    items += [Item(_output(array), PORT, 0) for array in leaving]
    return items, [*arrows, *(Arrow(array, _output(array), array) for array in leaving)]


def _arrows(graph: PipelineGraph, insides: Sequence[_Inside]) -> list[Arrow]:
    """Return the arrows through global memory, from the last kernel that wrote an array."""
    made: dict[str, tuple[str, float]] = {}
    found = []
    for inside in insides:
        for array in inside.kernel.fetched:
            start, leaves = made.get(array, (_input(array), 0.0))
            found.append(Arrow(start, inside.title, array, leaves, inside.entry(array)))
        made |= {array: (inside.title, inside.exit(array)) for array in inside.leaving}
    return found


def _kernel(canvas: Canvas, inside: _Inside, corner: Point, whole_ms: float) -> None:
    (x, y), ms = corner, inside.note.ms
    canvas.rect(x, y, inside.width, inside.height, "ag-box", corner=4)
    canvas.opened(f"{inside.title}: {inside.note.words}" if inside.note.words else inside.title)
    canvas.text(x + PAD, y + 13, inside.title, "ag-bold")
    if ms is not None:
        canvas.text(x + inside.width - PAD, y + 13, describe_ms(ms), "", "end")
        canvas.rect(x, y + HEAD - 3, inside.width, 3, "ag-track", corner=0)
        canvas.rect(x, y + HEAD - 3, inside.width * ms / whole_ms if whole_ms else 0, 3, "ag-root", corner=0)
    canvas.closed()
    _wires(canvas, inside, corner)
    for one in inside.kernel.arrays:
        at, down = inside.parts.places[one.array]
        place = x + inside.left + at, y + HEAD + PAD + down
        _node(canvas, place, one.array, inside.note.word(one), f"ag-{one.place}", _tip(one, inside.note))


def _wires(canvas: Canvas, inside: _Inside, corner: Point) -> None:
    """Draw the arrows between the stages of a kernel, from its top and to its bottom."""
    (x, y), middle = corner, corner[0] + inside.width / 2
    left, top, bottom = x + inside.left, y + HEAD + PAD, y + inside.height
    for arrow, way in inside.parts.ways.items():
        _arrow(canvas, way, (left, top), tip=not arrow.end.endswith(_OUT))
    for array in () if inside.alone else inside.kernel.fetched:
        at = middle + inside.entry(array)
        canvas.line([(at, top - PAD), (at, top)], THICK)
    for array in inside.leaving:
        at = middle + inside.exit(array)
        begin = inside.parts.places.get(_output(array), (0, inside.parts.places[array][1] + HIGH))[1]
        canvas.line([(at, top + begin), (at, bottom)], THICK)


def _node(canvas: Canvas, at: Point, name: str, word: str, style: str, tip: str) -> None:
    width = _wide(name, word)
    left, top = at[0] - width / 2, at[1]
    canvas.opened(tip)
    canvas.rect(left, top, width, HIGH, "ag-node", corner=4 if style else 15)
    if style:
        canvas.rect(left, top, 5, HIGH, style, corner=2)
    canvas.text(at[0] + 2, top + 14, _short(name), "ag-bold", "middle")
    canvas.text(at[0] + 2, top + 27, word, "ag-soft", "middle")
    canvas.closed()


def _arrow(canvas: Canvas, way: Sequence[Point], shift: Point, tip: bool = True) -> None:
    points = [(x + shift[0], y + shift[1]) for x, y in way]
    x, y = points[-1]
    canvas.line([*points[:-1], (x, y - 10 if tip else y)], THICK)
    if tip:
        canvas.arrow((x, y - 10), (x, y), THICK)


def _word(one: Computed) -> str:
    """Return the place of a stage in words, which repeats what the colours show."""
    if one.place != "root":
        return one.place
    if one.array in one.reads:
        return "output, updated" if one.output else "updated"
    return "output" if one.output else "own kernel"


def _tip(one: Computed, note: KernelNote) -> str:
    size, work = " x ".join(map(str, reversed(one.extents))) or "1", note.works.get(one.array)
    often = "" if work is None else f", each computed {work.times:.3g} times"
    return "\n".join([f"{one.array}: {_word(one)}, {size} elements{often}", *one.definitions])


def _wide(name: str, word: str) -> float:
    return max(NARROWEST, BOLD * len(_short(name)) + 18, LETTER * len(word) + 18)


def _short(name: str) -> str:
    return wrap(name, WIDEST - 18, 1)[0]


def _input(array: str) -> str:
    return f"{array}{_IN}"


def _output(array: str) -> str:
    return f"{array}{_OUT}"
