"""A box of an array that threads keep outside of global memory: its corner, its subscripts, its declaration.

    int a_at0 = max(0, 8 * b0 - 1);        the corner is not a sum
    a[a_at0 + e0][4 * b1 + e1]  ->  a_here[e0][e1]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import prod
from typing import Literal, Self, TypeAlias

from generator.expr import Binary, Expr, Int, Load, Name
from generator.linear import is_plain, is_sum, simplify, substitute
from generator.lowering.naming import fresh_name
from generator.nest import Assign, Declare, Level, Node
from generator.program import ELEMENT_BYTES

Filled: TypeAlias = Literal["copy", "compute"]


@dataclass(frozen=True, slots=True)
class Ring:
    """Rows of a box, in dimension `dim`, that stay from step to step of a block: row `r` is at `r & (rows - 1)`.

    A step fills those from `first` on, an index of the whole array; the others are already filled.
    """

    dim: int
    rows: int
    first: Expr


@dataclass(frozen=True, slots=True)
class LocalBox:
    """The array `name` holds the `box[d]` elements of `array` from index `corner[d]` on.

    `sizes`: as declared; rows may be longer than those of the box, against bank conflicts. `variables[d]`: holds the
    corner in dimension d; None if it is a sum that can be in subscripts. The threads of a `level` fill the box
    together, with copies or computed values, and only they read it. Without `array`, it is for combining values of
    threads. In the dimension of a `ring`, loops over the box count the rows of the whole array.
    """

    name: str
    array: str
    type: str
    corner: tuple[Expr, ...]
    box: tuple[int, ...]
    sizes: tuple[int, ...]
    variables: tuple[str | None, ...]
    filled: Filled
    level: Level
    ring: Ring | None = field(default=None, kw_only=True)

    @property
    def bytes(self) -> int:
        """Size in bytes."""
        return ELEMENT_BYTES[self.type] * prod(self.sizes)

    @property
    def index(self) -> tuple[Name, ...]:
        """The iterators of loops over the box: an element's subscripts in it."""
        return tuple(Name(f"e{d}") for d in range(len(self.box)))

    @property
    def here(self) -> Load:
        """The element `index` of the box."""
        return Load(self.name, tuple(self._round(d, e) for d, e in enumerate(self.index)))

    @property
    def bounds(self) -> tuple[tuple[Expr, Expr], ...]:
        """Per dimension, the first element to fill, as counted by the loops, and the one after the last."""
        return tuple((self.ring.first, simplify(Binary("+", self._first[d], Int(n)))) if self.ring and d == self._around
                     else (Int(0), Int(n)) for d, n in enumerate(self.box))

    @property
    def _around(self) -> int | None:
        """The dimension of a ring."""
        return self.ring.dim if self.ring else None

    def _round(self, dim: int, index: Expr) -> Expr:
        """Return where the row `index` of the whole array is in the dimension of a ring; else `index`, one of the box.
        """
        return Binary("&", index, Int(self.ring.rows - 1)) if self.ring and dim == self._around else index

    @property
    def declared(self) -> list[Node]:
        """The nodes that initialize the variables."""
        return [node for name, first in zip(self.variables, self.corner, strict=True) if name is not None
                for node in (Declare(name, "int", ()), Assign(Load(name), "", first))]

    @property
    def outside(self) -> tuple[Expr, ...]:
        """The subscripts in the whole array of the element `index` of the box."""
        return tuple(e if d == self._around else simplify(Binary("+", first, e))
                     for d, (first, e) in enumerate(zip(self._first, self.index, strict=True)))

    @property
    def _first(self) -> tuple[Expr, ...]:
        return tuple(
            first if name is None else Load(name) for name, first in zip(self.variables, self.corner, strict=True)
        )

    def at(self, tiles: Mapping[str, Expr]) -> Self:
        """Return the box with its corner in names of the generated code. `tiles`: the numbers of the tiles around it.
        """
        ring = self.ring and replace(self.ring, first=simplify(substitute(self.ring.first, tiles)))
        return replace(self, corner=tuple(simplify(substitute(first, tiles)) for first in self.corner), ring=ring)

    def element(self, index: tuple[Expr, ...]) -> Load:
        """Return the element of the box that holds the element `index` of the whole array."""
        return Load(self.name, tuple(self._round(d, i) if d == self._around else difference(i, first)
                                     for d, (i, first) in enumerate(zip(index, self._first, strict=True))))


def padded_rows(box: tuple[int, ...], padding: int) -> tuple[int, ...]:
    """Return the declared sizes of a box, whose rows are longer by `padding`."""
    return (*box[:-1], box[-1] + padding)


def corner_variables(array: str, corner: tuple[Expr, ...], word: str, taken: set[str]) -> tuple[str | None, ...]:
    """Return names for the variables of a box: `a_word0`, .. where its corner is not a sum; added to `taken`."""
    return tuple(None if is_sum(first) else fresh_name(f"{array}_{word}{d}", taken) for d, first in enumerate(corner))


def difference(index: Expr, first: Expr) -> Expr:
    """Return `index - first`; a data-dependent index is not simplified, whatever its type."""
    if is_plain(index):
        return simplify(Binary("-", index, first))
    return index if first == Int(0) else Binary("-", index, first)
