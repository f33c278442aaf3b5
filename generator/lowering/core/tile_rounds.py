"""The loop of a block over the tiles of a sum on tensor cores: copies at once, a tile ahead, or asynchronously.

    for (k_tile ..) {          fill A_tile for tile 0             start to fill A_tile[0] for tile 0
      fill A_tile              for (k_tile ..) {                  for (k_tile ..) {
      barrier                    barrier                            wait for own copies; barrier
      multiply                   if (there is another tile)         if (there is another tile)
      barrier                      A_next = its part of it            start to fill A_tile[(k_tile + 1) % 2]
    }                            multiply                           multiply A_tile[k_tile % 2]
                                 barrier                          }
                                 if (there is another tile)
                                   A_tile = A_next
                               }

The tiles of several products follow each other, so that the next one of the last product is the first one of the next
round. No barrier is under a condition. `ahead.py` and `later.py` do the same to loops of any kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from generator.expr import Binary, Expr, Int, Name
from generator.linear import simplify
from generator.lowering.core.factor_copies import FactorCopy
from generator.lowering.core.later import half
from generator.lowering.naming import fresh_name
from generator.nest import Barrier, For, Fragments, If, Node

Way: TypeAlias = Literal["at once", "ahead", "later"]
Copies: TypeAlias = Callable[[int, Expr], tuple[FactorCopy, ...]]
"""Returns what fills the tiles of both factors, given the numbers of the product and of the round."""


@dataclass(frozen=True, slots=True)
class TileRounds:
    """`copies` fill the tiles that `multiply` multiplies, for each of `products` in each of `count` rounds.

    `iterator` counts the rounds. `again`: the loop runs several times. New names are added to `taken`.
    """

    iterator: str
    count: int
    note: str
    products: int
    copies: Copies
    multiply: Fragments
    again: bool
    taken: set[str]

    def nodes(self, way: Way) -> tuple[Node, ...]:
        """Return the loop, with what precedes and follows it."""
        if way == "ahead":
            return *(copy.at_once() for copy in self.copies(0, Int(0))), self._loop(self._ahead())
        if way == "later":
            behind = [Barrier()] if self.again else []  # the first tile may lie where some still multiply
            return *self._started(0, Int(0)), self._loop(self._later()), *behind
        return (self._loop(self._at_once()),)

    def _at_once(self) -> Iterator[Node]:
        for product in range(self.products):
            yield from (copy.at_once() for copy in self.copies(product, Name(self.iterator)))
            yield from (Barrier(), self.multiply, Barrier())

    def _ahead(self) -> Iterator[Node]:
        for product in range(self.products):
            following = self.copies(*self._next(product))
            names = [fresh_name(f"{copy.box.name}_next", self.taken) for copy in following]
            parts = list(zip(following, names, strict=True))
            yield Barrier()
            yield from (copy.held(name) for copy, name in parts)
            yield from self._if_there(product, tuple(copy.loaded(name) for copy, name in parts))
            yield from (self.multiply, Barrier())
            yield from self._if_there(product, tuple(copy.stored(name) for copy, name in parts))

    def _later(self) -> Iterator[Node]:
        for product in range(self.products):
            yield Barrier(copies=True)
            yield from self._if_there(product, self._started(*self._next(product)))
            yield replace(self.multiply, place=self._place(product, Name(self.iterator)))

    def _started(self, product: int, tile: Expr) -> tuple[Node, ...]:
        return tuple(copy.started(self._place(product, tile)) for copy in self.copies(product, tile))

    def _place(self, product: int, tile: Expr) -> Expr:
        """Return which of two places a tile has: the tiles of all products alternate."""
        odd: Expr = tile if self.products % 2 else Int(0)
        return half(simplify(Binary("+", odd, Int(product))))

    def _next(self, product: int) -> tuple[int, Expr]:
        """Return the next product, and its round."""
        if product + 1 < self.products:
            return product + 1, Name(self.iterator)
        return 0, Binary("+", Name(self.iterator), Int(1))

    def _if_there(self, product: int, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        """Return `nodes` under the condition that there is a next tile: the last product of the last round has none."""
        _, tile = self._next(product)
        another = simplify(Binary("<", tile, Int(self.count)))
        return nodes if tile == Name(self.iterator) else (If(another, nodes),)

    def _loop(self, body: Iterator[Node]) -> For:
        condition = Binary("<", Name(self.iterator), Int(self.count))
        return For(self.iterator, Int(0), condition, 1, tuple(body), self.note, unroll=0)
