"""A box of an array in shared memory: its first indices, subscripts into it, the loops in which threads share it out.

    int a_at0 = max(0, 8 * b0 - 1);                                             the box does not begin at a sum
    for (e0 = t0; e0 < 10; e0 += 8) for (e1 = t1; ..) a_here[e0][e1] = ..;      a[a_at0 + e0][4 * b1 + e1]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from generator.expr import Binary, Expr, Int, Load, Name
from generator.linear import is_plain, is_sum, simplify
from generator.lowering.cooperative import share
from generator.lowering.naming import fresh_name
from generator.nest import Assign, Declare, For, Node
from generator.polyhedral.tile_boxes import TileBox
from generator.program import ELEMENT_BYTES


def _as_it_is(corner: Expr) -> Expr:
    return corner


@dataclass(frozen=True, slots=True)
class SharedBox:
    """The shared array `name` that stands for the elements of `box`.

    `sizes` is what is declared: rows may be longer. `variables[d]` holds the first index in dimension d; None where
    that is a sum that can stand in subscripts. `told`, in the methods, puts a corner into names of the generated code.
    """

    name: str
    type: str
    sizes: tuple[int, ...]
    box: TileBox
    variables: tuple[str | None, ...]

    @property
    def bytes(self) -> int:
        """Size in bytes."""
        return ELEMENT_BYTES[self.type] * prod(self.sizes)

    @property
    def index(self) -> tuple[Name, ...]:
        """The iterators of the loops of `shared_out`: an element's subscripts in the box."""
        return tuple(Name(f"e{d}") for d in range(len(self.sizes)))

    def declared(self, told: Callable[[Expr], Expr] = _as_it_is) -> list[Node]:
        """What gives the variables their values."""
        return [node for name, first in zip(self.variables, self.box.corner, strict=True) if name is not None
                for node in (Declare(name, "int", ()), Assign(Load(name), "", told(first)))]

    def outside(self, told: Callable[[Expr], Expr] = _as_it_is) -> tuple[Expr, ...]:
        """The subscripts in the whole array of the element `index` of the box."""
        return tuple(simplify(Binary("+", first, e)) for first, e in zip(self._corner(told), self.index, strict=True))

    def element(self, index: tuple[Expr, ...], told: Callable[[Expr], Expr] = _as_it_is) -> Load:
        """The element of the box that stands for the element `index` of the whole array."""
        return Load(self.name, tuple(_minus(i, first) for i, first in zip(index, self._corner(told), strict=True)))

    def shared_out(self, block: tuple[int, ...], body: tuple[Node, ...], note: str) -> Node:
        """`body` for every element of the box: the threads of the block take turns. `note` stands at the outer loop."""
        index = self.index
        for d in reversed(range(len(index))):
            start, step = share(d, len(index), block)
            inside = Binary("<", index[d], Int(self.box.sizes[d]))
            body = (For(index[d].name, start, inside, step, body, "" if d else note),)
        return body[0]

    def _corner(self, told: Callable[[Expr], Expr]) -> tuple[Expr, ...]:
        return tuple(told(first) if name is None else Load(name)
                     for name, first in zip(self.variables, self.box.corner, strict=True))


def corner_variables(box: TileBox, word: str, taken: set[str]) -> tuple[str | None, ...]:
    """Names for the variables of a box: `a_word0`, .. where a corner is no sum; they go to `taken`."""
    return tuple(None if is_sum(first) else fresh_name(f"{box.array}_{word}{d}", taken)
                 for d, first in enumerate(box.corner))


def _minus(index: Expr, first: Expr) -> Expr:
    """The difference; what data decide is left as it is, whatever its type."""
    if first == Int(0):
        return index
    return simplify(Binary("-", index, first)) if is_plain(index) else Binary("-", index, first)
