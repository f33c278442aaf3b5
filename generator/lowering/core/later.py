"""Asynchronous copies of the next tile, into a second buffer in shared memory.

    for (k_tile ..) {                  start to fill A_shared[0] for the first tile
        fill A_shared for k_tile       for (k_tile ..) {
        barrier                            wait for own copies; barrier
        compute                 ->         if (there is another tile)
        barrier                                start to fill A_shared[(k_tile + 1) % 2] for it
    }                                      compute with A_shared[k_tile % 2]
                                       }
                                       barrier

Copies that hold the results of operations (`prologue`) are loaded into registers instead, and stored into the second
buffer behind the computation. The buffer that an iteration fills was read in the previous one, with a barrier in
between. An array is read an iteration earlier than in the program, so nothing in the kernel may write it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from generator.decisions.asynchronous import LEAST_BYTES
from generator.expr import Binary, Expr, Int, Load, Name, map_children
from generator.linear import simplify
from generator.lowering.core.ahead import MOST, Ahead, Fill, at_value, where
from generator.lowering.core.neighbours import written_in
from generator.nest import Assign, Barrier, For, If, Node, map_expressions
from generator.program import ELEMENT_BYTES

MOST_UNROLLED = 8
"""The most iterations of a thread that are unrolled: each adds text before the loop and in it."""


@dataclass(frozen=True, slots=True)
class Later(Ahead):
    """Like `Ahead`. `doubled`: collects the copies with a second buffer."""

    doubled: set[str]

    def loop(self, loop: For) -> tuple[Node, ...]:
        """See Ahead: a loop whose copies are all large enough."""
        fills = self.fills(loop.body)
        held, started = [fill for fill in fills if fill.operated], [fill for fill in fills if not fill.operated]
        large = all(ELEMENT_BYTES[self.copies[fill.copy]] * fill.wide >= LEAST_BYTES for fill in started)
        few = sum(fill.turns * fill.wide for fill in held) <= MOST
        if not self.fits(loop, fills) or not started or not large or not few:
            return super(Later, self).loop(loop)
        names = {fill.copy for fill in fills}
        self.doubled.update(names)
        after = Binary("+", Name(loop.iterator), Int(1))
        another = at_value(loop.condition, loop.iterator, after)
        declared, loads, stores = self.moves(held, loop.iterator)
        stores = map_expressions(stores, lambda expr: in_half(expr, names, half(after)))
        next_ones = (*(_started(fill, loop.iterator, after) for fill in started), *loads)
        compute = map_expressions(
            self.nodes(loop.body[len(fills) + 1 : -1]), lambda expr: in_half(expr, names, half(Name(loop.iterator)))
        )
        inside = (Barrier(copies=True), *declared, If(another, next_ones), *compute,
                  *((If(another, stores),) if stores else ()))
        first = tuple(_first(fill, loop) if fill.operated else _started(fill, loop.iterator, loop.start)
                      for fill in fills)
        begins = where(at_value(loop.condition, loop.iterator, loop.start), first)
        return (*begins, replace(loop, body=inside), Barrier())


def half(tile: Expr) -> Expr:
    """Return the buffer of a tile; tiles are counted from 0."""
    return Int(tile.value % 2) if isinstance(tile, Int) else simplify(Binary("%", tile, Int(2)))


def in_half(expr: Expr, names: Collection[str], place: Expr) -> Expr:
    """Return `expr` with the elements of copies taken from one of their buffers."""
    inside = map_children(expr, lambda child: in_half(child, names, place))
    if isinstance(inside, Load) and inside.array in names:
        return Load(inside.array, (place, *inside.index), inside.access)
    return inside


def _first(fill: Fill, loop: For) -> For:
    """Return the iterations in which a thread copies its part of the first tile."""
    at_start = map_expressions((fill.loop,), lambda expr: at_value(expr, loop.iterator, loop.start))
    (made,) = map_expressions(at_start, lambda expr: in_half(expr, (fill.copy,), half(loop.start)))
    assert isinstance(made, For)
    return made


def _started(fill: Fill, iterator: str, tile: Expr) -> For:
    """Return the iterations in which a thread begins to copy its part of a tile."""

    def later(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        result: list[Node] = []
        for node in nodes:
            match node:
                case If(condition, then):
                    result.append(If(condition, later(then)))
                case Assign():
                    result.append(replace(node, later=True))
                case _:
                    raise AssertionError(f"{node} is not a part of a copy")
        return tuple(result)

    body = map_expressions(later(fill.loop.body), lambda expr: at_value(expr, iterator, tile))
    body = map_expressions(body, lambda expr: in_half(expr, (fill.copy,), half(tile)))
    note = f"{fill.copy}: this thread starts to copy its part of a tile"
    return replace(fill.loop, body=body, note=note, unroll=min(fill.turns, MOST_UNROLLED))


def with_later_copies(
    nodes: tuple[Node, ...], copies: Mapping[str, str], dims: Mapping[str, int], taken: set[str]
) -> tuple[tuple[Node, ...], frozenset[str]]:
    """Return `nodes` with asynchronous copies of the next tile wherever possible, and the copies that have two buffers
    now.

    Where only copies ahead through registers are possible, those are made. `copies`: the copies in shared memory with
    their element types; `dims`: their dimensions. New names are added to `taken`.
    """
    made = Later(copies, frozenset(written_in(nodes)), taken, set())
    found = made.nodes(nodes)

    def placed(expr: Expr) -> Expr:
        inside = map_children(expr, placed)
        if isinstance(inside, Load) and inside.array in made.doubled and len(inside.index) == dims[inside.array]:
            return Load(inside.array, (Int(0), *inside.index), inside.access)  # in an unchanged loop
        return inside

    return map_expressions(found, placed), frozenset(made.doubled)
