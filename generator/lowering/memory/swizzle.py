"""Swizzled rows: the places of the elements in the rows of a shared array are permuted, each row differently.

    A_shared[j][k]  ->  A_shared[j][k ^ (j & 31)]          32 floats per row: column k is in 32 different banks
    A_shared[j][k]  ->  A_shared[j][k ^ (j & 7) * 4]       the same for vectors of four, which stay together

Without it, the elements of a column are in as many banks as the rows begin in: one, if a row is as long as all banks.
Unlike longer rows (padding) it takes no memory, and every row begins where it did, aligned for vectors.

The element at `c` of row `r` moves to `c ^ unit * (r / period % count)`. All three are powers of two, `unit` elements
stay together, and `count` units are gcd(128, L) bytes, where a row has L bytes and all banks together have 128. So
`count` units divide a row, and the map permutes the units within parts of `count` of them: it is a bijection of each
row. If neighbouring threads read the column in rows at a distance of `stride`, their rows begin in the same bank again
after 128 / gcd(128, stride * L) of them, which is `period` / `stride`; so many times `count` neighbours find different
banks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd, prod

from generator.errors import IllegalPlan
from generator.expr import Binary, Expr, Int, Load, loads_of, map_children, names_of
from generator.linear import is_plain, plain_form, terms
from generator.lowering.memory.box import LocalBox
from generator.nest import Assign, Atomic, Node, map_expressions, walk
from generator.plan import KernelPlan
from generator.polyhedral.memory.mapping import thread_names
from generator.program import ELEMENT_BYTES

WORD_BYTES = 4
BANKS_BYTES = 32 * WORD_BYTES
"""The bytes of one word of each bank: 32 on NVIDIA's and AMD's GPUs."""


@dataclass(frozen=True, slots=True)
class Swizzle:
    """The map of a box of so many `rows`: `unit` elements stay together; `period` and `count` as above."""

    unit: int
    period: int
    count: int
    rows: int

    def moved(self, row: int, column: int) -> int:
        """Return the place of an element in its row."""
        return column ^ self.unit * (row // self.period % self.count)

    def place(self, row: Expr, column: Expr) -> Expr:
        """Return the same as an expression."""
        bits = (self.count - 1) * self.period
        if isinstance(row, Int):
            return column if row.value & bits == 0 else Binary("^", column, Int(self.moved(row.value, 0)))
        part: Expr = row if bits + 1 >= self.rows and self.period == 1 else Binary("&", row, Int(bits))
        if self.unit > self.period:
            part = Binary("*", part, Int(self.unit // self.period))
        elif self.period > self.unit:
            part = Binary("/", part, Int(self.period // self.unit))
        return Binary("^", column, part)


def swizzle_of(sizes: Sequence[int], element_bytes: int, lanes: int, stride: int = 1) -> Swizzle | None:
    """Return the map of a box with these sizes, of which accesses transfer up to `lanes` elements; None: it has none.

    `stride` (a power of two): the distance of the rows that neighbouring threads read; less is used for a box of few
    rows. There is no map if no two units divide gcd(128, L), or if the box has so few rows that all would stay as they
    are.
    """
    *outer, row = sizes
    unit, line = max(lanes, WORD_BYTES // element_bytes), row * element_bytes
    count = gcd(BANKS_BYTES, line) // (unit * element_bytes)
    while stride:
        period = stride * (BANKS_BYTES // gcd(BANKS_BYTES, stride * line))
        if count > 1 and prod(outer) > period:
            return Swizzle(unit, period, count, prod(outer))
        stride //= 2
    return None


def with_swizzles(nodes: tuple[Node, ...], boxes: Sequence[LocalBox], plan: KernelPlan) -> tuple[Node, ...]:
    """Return `nodes` with the rows of the plan's `swizzled` arrays in `boxes` swizzled, in all reads and writes.

    Vector accesses and asynchronous copies determine how many elements stay together. Every access must be a node's
    own: what an array is called in other text (on tensor cores) is not found.

    Raises:
        IllegalPlan: an array has no box, or rows that cannot be swizzled; rows are padded, too.
    """
    if not plan.swizzled:
        return nodes
    own = [box for box in boxes if box.array in plan.swizzled]
    _check(plan, {box.array for box in own}, boxes)
    found = {box.name: (len(box.box), box.sizes, _required(plan, box, _lanes(nodes, box), _stride(nodes, box, plan)))
             for box in own}
    return map_expressions(nodes, lambda expr: _placed(expr, found))


def _check(plan: KernelPlan, own: set[str], boxes: Sequence[LocalBox]) -> None:
    what = f"swizzled rows of {', '.join(plan.statements)}"
    if plan.padding:
        raise IllegalPlan(f"{what}: they are padded by {plan.padding} elements, too; use one of both against bank "
                          "conflicts")
    if unknown := sorted(set(plan.swizzled) - own):
        known = sorted({box.array for box in boxes if box.array})
        raise IllegalPlan(f"{what}: {', '.join(unknown)} would have some, but a block of several threads shares parts "
                          f"of {', '.join(known) or 'no array'} only")


def _lanes(nodes: tuple[Node, ...], box: LocalBox) -> int:
    """Return the most elements of a box that an access transfers."""
    wide = ((node.wide, node.target, node.value) for node in walk(nodes) if isinstance(node, Assign) and node.wide)
    return max((one.lanes for one, *sides in wide if any(load.array == box.name for side in sides
                                                         for load in loads_of(side))), default=1)


def _stride(nodes: tuple[Node, ...], box: LocalBox, plan: KernelPlan) -> int:
    """Return the greatest power of two that divides the distances of the rows that neighbouring threads read."""
    threads, distances = set(thread_names(len(plan.block))), list[int]()
    for node in walk(nodes):
        for load in loads_of(node.value) if isinstance(node, Assign | Atomic) else ():
            if load.array != box.name or not is_plain(row := _row(load.index[-len(box.box):-1], box.sizes)):
                continue
            distances += [factor for atom, factor in terms(row).items() if atom and names_of(atom) & threads]
    return min((abs(n) & -abs(n) for n in distances if n), default=1)


def _required(plan: KernelPlan, box: LocalBox, lanes: int, stride: int) -> Swizzle:
    sizes, element = box.sizes[-len(box.box):], ELEMENT_BYTES[box.type]
    found = swizzle_of(sizes, element, lanes, stride)
    if found is None:
        unit = max(lanes, WORD_BYTES // element)
        raise IllegalPlan(
            f"swizzled rows of {', '.join(plan.statements)}: {box.name} has {prod(sizes[:-1])} rows of {sizes[-1]} "
            f"elements of {element} bytes, of which {unit} stay together; rows need a multiple of {2 * unit} elements, "
            f"and there must be more than {BANKS_BYTES // gcd(BANKS_BYTES, sizes[-1] * element)} rows of this length")
    return found


def _placed(expr: Expr, boxes: Mapping[str, tuple[int, tuple[int, ...], Swizzle]]) -> Expr:
    inside = map_children(expr, lambda child: _placed(child, boxes))
    if not isinstance(inside, Load) or inside.array not in boxes:
        return inside
    dims, sizes, swizzle = boxes[inside.array]
    *_, column = inside.index
    row = _row(inside.index[-dims:-1], sizes, swizzle.period * swizzle.count)
    return Load(inside.array, (*inside.index[:-1], swizzle.place(row, column)), inside.access)


def _row(index: Sequence[Expr], sizes: Sequence[int], modulus: int = 0) -> Expr:
    """Return the number of a row in a box with these last `sizes`, without multiples of `modulus`."""
    number, place = list[Expr](), 1
    for one, size in zip(reversed(index), reversed(sizes[:-1]), strict=False):
        if not modulus or place % modulus:
            number.append(one if place == 1 else Binary("*", one, Int(place)))
        place *= size
    total = number[0] if number else Int(0)  # a box of one dimension has one row
    for more in number[1:]:
        total = Binary("+", more, total)
    return plain_form(total) or total  # data-dependent subscripts stay as they are
