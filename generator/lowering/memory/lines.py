"""Lines of an array that single threads own, outside of global memory while a kernel runs.

    float h_lines[16][8][32];                                        16 bins; a tile of 8 x 32 points
    for (h_e0 = 0; h_e0 < 16; ++h_e0) h_lines[h_e0][t0][t1] = h[h_e0][8 * b0 + t0][32 * b1 + t1];
    ..  h_lines[bin][t0][t1] += v;
    for (h_e0 = 0; h_e0 < 16; ++h_e0) h[h_e0][8 * b0 + t0][32 * b1 + t1] = h_lines[h_e0][t0][t1];

Neighbouring threads have neighbouring elements of the same place in their lines, so no two threads of a warp access the
same bank, whatever elements data choose. No barriers are needed: no thread accesses lines of another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from generator.expr import Binary, Expr, Int, Load, Name
from generator.linear import simplify, substitute
from generator.lowering.memory.box import LocalBox, difference
from generator.lowering.memory.registers import exchanges
from generator.lowering.naming import fresh_name
from generator.nest import Assign, Atomic, For, If, Node
from generator.plan import KernelPlan
from generator.polyhedral.memory.lines import ITERATOR, POINT, OwnLine, own_lines, points_exist
from generator.polyhedral.memory.mapping import block_names, points_of, thread_names
from generator.polyhedral.schedules.kernels import KernelPart
from generator.program import Program


@dataclass(frozen=True, slots=True)
class LineBox(LocalBox):
    """The lines of all points of a tile: first the dimensions `along` which lines extend, then those of the tile.

    `starts`: the numbers of the first point of a tile. `exists`: the condition that a point has a line, in terms of its
    numbers. `names`: of loops over a line, then of those over the points of a thread.
    """

    line: OwnLine
    starts: tuple[Expr, ...]
    along: tuple[int, ...]
    exists: Expr
    names: tuple[str, ...]

    def of_instance(self, statement: str, values: Mapping[str, Expr]) -> LineOfPoint:
        """Return the line of the point that runs an instance of `statement`; `values`: of its iterators, in order."""
        given = {f"{ITERATOR}{k}": value for k, value in enumerate(values.values())}
        return self.of_point([simplify(substitute(number, given)) for number in self.line.numbers[statement]])

    def of_point(self, numbers: Sequence[Expr]) -> LineOfPoint:
        """Return the line of the point with these numbers."""
        place = tuple(simplify(Binary("-", number, start)) for number, start in zip(numbers, self.starts, strict=True))
        known = {f"{POINT}{d}": number for d, number in enumerate(numbers)}
        return LineOfPoint(self, place, tuple(simplify(substitute(one, known)) for one in self.line.corner))


@dataclass(frozen=True, slots=True)
class LineOfPoint:
    """The line of one point: its `place` in the tile, and the subscripts `corner` of its first element."""

    box: LineBox
    place: tuple[Expr, ...]
    corner: tuple[Expr, ...]

    def element(self, index: tuple[Expr, ...]) -> Load:
        """Return the element of the box that holds the element `index` of the whole array."""
        return Load(self.box.name, (*(difference(index[d], self.corner[d]) for d in self.box.along), *self.place))


def line_boxes(program: Program, part: KernelPart, plan: KernelPlan, prefix: tuple[str, ...],
               taken: set[str]) -> dict[str, LineBox]:
    """Return the lines that the threads of a kernel keep, by array. New names are added to `taken`."""
    found = {}
    for line in own_lines(program, part, prefix) if plan.combine == "private" and not plan.walk else ():
        name = fresh_name(f"{line.array}_lines", taken)
        along = tuple(d for d, size in enumerate(line.sizes) if size > 1)
        names = (*(f"{line.array}_e{d}" for d in along),
                 *(f"{line.array}_{p.dim}{'_next' if p.run else ''}" for p in points_of(plan)))
        found[line.array] = LineBox(
            name,
            line.array,
            program.array(line.array).type,
            (),
            (),
            (*(line.sizes[d] for d in along), *plan.tile),
            (),
            "compute",
            "block",
            line=line,
            starts=tuple(_starts(part, plan)),
            along=along,
            exists=points_exist(line, part, prefix, plan.tile),
            names=tuple(fresh_name(one, taken) for one in names),
        )
    return found


def lines_before(box: LineBox, plan: KernelPlan) -> Iterator[Node]:
    """Yield the nodes before the loops of a kernel: every thread loads its lines, unless it first writes them."""
    if box.line.loaded:
        yield from _over_lines(box, plan, lambda here, element: Assign(here, "", element))


def lines_after(box: LineBox, plan: KernelPlan) -> Iterator[Node]:
    """Yield the nodes after the loops: every thread stores its lines."""
    atomic = exchanges(plan, box.type)
    yield from _over_lines(box, plan, lambda here, element: (
        Atomic(element, "=", here, box.type) if atomic else Assign(element, "", here)))


def _over_lines(box: LineBox, plan: KernelPlan, node: Callable[[Load, Load], Node]) -> Iterator[Node]:
    """Yield `node` for every element of the lines of a thread: in the box, and in the array."""
    points = points_of(plan)
    elements, names = box.names[:len(box.along)], box.names[len(box.along):]
    numbers = list(_first_points(box, plan))
    for name, one in zip(names, points, strict=True):
        numbers[one.dim] = Binary("+", numbers[one.dim], Binary("*", Int(one.stride), Name(name)))
    numbers = [simplify(number) for number in numbers]
    line = box.of_point(numbers)
    offsets = {d: Name(name) for d, name in zip(box.along, elements, strict=True)}
    index = tuple(simplify(Binary("+", first, offsets[d])) if d in offsets else first
                  for d, first in enumerate(line.corner))
    body: tuple[Node, ...] = (node(Load(box.name, (*offsets.values(), *line.place)), Load(box.array, index)),)
    for name, d in reversed(list(zip(elements, box.along, strict=True))):
        body = (For(name, Int(0), Binary("<", Name(name), Int(box.line.sizes[d])), 1, body, unroll=0),)
    known = {f"{POINT}{d}": number for d, number in enumerate(numbers)}
    exists = substitute(box.exists, known)
    body = body if exists == Int(1) else (If(exists, body),)
    for name, one in reversed(list(zip(names, points, strict=True))):
        body = (For(name, Int(0), Binary("<", Name(name), Int(one.count)), 1, body, unroll=0),)
    yield from body


def _first_points(box: LineBox, plan: KernelPlan) -> Iterator[Expr]:
    """Yield the numbers of a thread's first point."""
    count = len(plan.block)
    for d, (start, thread) in enumerate(zip(box.starts, thread_names(count), strict=True)):
        run = plan.run if d == count - 1 else 1
        yield start if plan.block[d] == 1 else Binary("+", start, Binary("*", Int(run), Name(thread)))


def _starts(part: KernelPart, plan: KernelPlan) -> Iterator[Expr]:
    """Yield the numbers of the first point of a tile: 0 where there is one tile, as in the kernel's loops."""
    for size, dim, block in zip(plan.tile, part.parallel, block_names(len(plan.tile)), strict=True):
        yield Binary("*", Int(size), Name(block)) if dim.extent > size else Int(0)
