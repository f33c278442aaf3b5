"""Copies one tile ahead: load the data of a loop's next iteration while computing the current one.

    for (k_tile ..) {                  fill A_shared for the first tile
        fill A_shared for k_tile       for (k_tile ..) {
        barrier                            barrier
        compute                 ->         if (there is another tile) A_next = this thread's part of its copy
        barrier                            compute
    }                                      barrier
                                           if (there is another tile) A_shared = A_next
                                       }

Copies have no conditions, but subscripts limited to the array: `A[min(.., n - 1)]` is loaded where `A[..]` does not
exist, and nothing reads it. There are as many barriers as before, and none under a condition. An array is read an
iteration earlier than in the program, so nothing in the kernel may write it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from generator.expr import Binary, Expr, Int, Load, Name
from generator.linear import simplify, substitute
from generator.lowering.core.neighbours import written_in
from generator.lowering.memory.prologues import element_of, with_element
from generator.lowering.naming import fresh_name
from generator.nest import Assign, Barrier, Declare, For, If, Node, map_expressions, rounds, walk

MOST = 32
"""The most elements that a thread holds for the next tile."""


def with_next_tile(nodes: tuple[Node, ...], copies: Mapping[str, str], taken: set[str]) -> tuple[Node, ...]:
    """Return `nodes` with copies a tile ahead wherever that is possible.

    `copies`: the copies in shared memory with their element types. New names are added to `taken`.
    """
    return Ahead(copies, frozenset(written_in(nodes)), taken).nodes(nodes)


@dataclass(frozen=True, slots=True)
class Fill:
    """The iterations in which a thread copies its part of `copy`, `wide` elements each.

    `operated`: the copy holds the results of operations, which run when its elements have arrived.
    """

    loop: For
    copy: str
    wide: int
    operated: bool

    @property
    def turns(self) -> int:
        """The number of iterations."""
        return rounds(self.loop) or 0


@dataclass(frozen=True, slots=True)
class Ahead:
    """Makes the loops. `copies`: with their element types; `written`: arrays; `taken`: names."""

    copies: Mapping[str, str]
    written: frozenset[str]
    taken: set[str]

    def nodes(self, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        """Return the nodes with all loops over tiles transformed."""
        result: list[Node] = []
        for node in nodes:
            match node:
                case For():
                    result += self.loop(node)
                case If(condition, then, otherwise):
                    result.append(If(condition, self.nodes(then), self.nodes(otherwise)))
                case _:
                    result.append(node)
        return tuple(result)

    def loop(self, loop: For) -> tuple[Node, ...]:
        """Return a transformed loop, with the nodes before and after it."""
        fills = self.fills(loop.body)
        body = loop.body[len(fills):]
        if not self.fits(loop, fills) or sum(fill.turns * fill.wide for fill in fills) > MOST:
            return (replace(loop, body=self.nodes(loop.body)),)
        after = Binary("+", Name(loop.iterator), Int(1))
        another = at_value(loop.condition, loop.iterator, after)
        declared, loads, stores = self.moves(fills, loop.iterator)
        inside = (Barrier(), *declared, If(another, loads), *self.nodes(body[1:-1]), Barrier(), If(another, stores))
        first = map_expressions(tuple(f.loop for f in fills), lambda expr: at_value(expr, loop.iterator, loop.start))
        return *where(at_value(loop.condition, loop.iterator, loop.start), first), replace(loop, body=inside)

    def moves(self, fills: list[Fill], iterator: str) -> tuple[tuple[Node, ...], tuple[Node, ...], tuple[Node, ...]]:
        """Return the declarations of registers for the tile after `iterator`, the loads into them, and the stores."""
        after = Binary("+", Name(iterator), Int(1))
        parts = [(fill, fresh_name(f"{fill.copy}_next", self.taken)) for fill in fills]
        declared = tuple(Declare(name, self.copies[fill.copy], _sizes(fill)) for fill, name in parts)
        loads = tuple(_moved(fill, name, False, iterator, after) for fill, name in parts)
        return declared, loads, tuple(_moved(fill, name, True, iterator, after) for fill, name in parts)

    def fits(self, loop: For, fills: list[Fill]) -> bool:
        """Return whether a loop over tiles has copies that can be made ahead, with barriers around the rest of its
        body.
        """
        body = loop.body[len(fills):]
        return bool(fills) and len(body) > 2 and body[0] == body[-1] == Barrier() and loop.step == 1

    def fills(self, body: tuple[Node, ...]) -> list[Fill]:
        """Return the fills at the beginning of the body, if all of them can be made ahead."""
        found: list[Fill] = []
        for node in body:
            fill = self._fill(node)
            if fill is None:
                break
            found.append(fill)
        return found

    def _fill(self, node: Node) -> Fill | None:
        """Return a loop with a constant trip count and one copy of an unwritten array per iteration; else None."""
        if not isinstance(node, For) or node.start != Int(0) or node.step != 1 or not rounds(node):
            return None
        inside = [inner for inner in walk(node.body) if not isinstance(inner, If)]
        match inside:
            case [Assign(Load(copy), "", value, wide=wide)] if (
                copy in self.copies and element_of(value).array not in self.written
            ):
                return Fill(node, copy, wide.lanes if wide else 1, not isinstance(value, Load))
            case _:
                return None


def where(condition: Expr, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """Return `nodes` under a condition, unless the condition is a true comparison of numbers."""
    match condition:
        case Binary("<" | "<=" as op, Int(left), Int(right)) if left < right + (op == "<="):
            return nodes
        case _:
            return (If(condition, nodes),)


def _sizes(fill: Fill) -> tuple[int, ...]:
    return (fill.turns, fill.wide) if fill.wide > 1 else (fill.turns,)


def at_value(expr: Expr, iterator: str, value: Expr) -> Expr:
    """Return `expr` with a value for an iterator."""
    return simplify(substitute(expr, {iterator: value}))


def _moved(fill: Fill, name: str, out: bool, iterator: str, after: Expr) -> For:
    """Return the iterations for the next tile: into registers, or `out` of them."""
    held = Load(name, (Name(fill.loop.iterator), *([Int(0)] if fill.wide > 1 else [])))

    def moved(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        result: list[Node] = []
        for node in nodes:
            match node:
                case If(condition, then):
                    result.append(If(condition, moved(then)))
                case Assign():
                    result.append(replace(node, value=with_element(node.value, held)) if out else
                                  replace(node, target=held, value=element_of(node.value)))
                case _:
                    raise AssertionError(f"{node} is not a part of a copy")
        return tuple(result)

    body = map_expressions(moved(fill.loop.body), lambda expr: at_value(expr, iterator, after))
    note = f"{fill.copy}: {'the next tile' if out else 'this thread loads its part of the next tile'}"
    return replace(fill.loop, body=body, note=note, unroll=fill.turns)
