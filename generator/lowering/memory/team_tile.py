"""The tile of a team in a kernel with several time steps: its part of each array, and loops over it.

    for (int i = max(-1, -8 * b0) + t0, last = min(8, 38 - 8 * b0); i <= last; i += 2)    the tile with 1 element on
        .. A_here[i + 1] ..                      holds A[8 * b0 + i]                      either side

Loops count from the tile's first element: then compilers see that neighbours in a box are neighbours in the array, too
(Intel's CPU runtime uses gathers and scatters if subscripts of boxes are differences).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from generator.expr import Binary, Expr, Int, Name
from generator.linear import simplify
from generator.lowering.memory.box import Filled, LocalBox, padded_rows
from generator.lowering.memory.cooperative import nested
from generator.nest import For, Node
from generator.plan import KernelPlan
from generator.polyhedral.memory.mapping import block_names, thread_names
from generator.polyhedral.time.time_steps import Margin
from generator.program import Array

Bounds = tuple[Expr, Expr]
"""The first and the last value of a loop."""
Limits = Sequence[tuple[int, int]]
"""The first and the last index of each dimension."""


def grown_sizes(tile: Sequence[int], margin: Margin) -> tuple[int, ...]:
    """Return the elements of a tile with `margin` around it."""
    return tuple(size + low + high for size, (low, high) in zip(tile, margin, strict=True))


def of_arrays(sizes: tuple[int, ...], order: tuple[int, ...]) -> tuple[int, ...]:
    """Return sizes of a plan in the order of the arrays' dimensions."""
    return tuple(sizes[order.index(d)] for d in range(len(sizes))) if order else sizes


@dataclass(frozen=True, slots=True)
class TimeBox(LocalBox):
    """A tile with `margin` around it, of an array with these `extents`."""

    margin: Margin
    extents: tuple[int, ...]

    @property
    def whole(self) -> Limits:
        """The bounds of the whole array."""
        return tuple((0, extent - 1) for extent in self.extents)


@dataclass(frozen=True, slots=True)
class TeamTile:
    """The tile of a team in its plan; dimensions are those of the arrays. `index`: names for places.

    The last `elsewhere` elements along the plan's x are in no box.
    """

    plan: KernelPlan
    index: tuple[Name, ...]
    elsewhere: int = 0

    @property
    def sizes(self) -> tuple[int, ...]:
        """The elements in each dimension."""
        return of_arrays(self.plan.tile, self.plan.order)

    @property
    def dims(self) -> tuple[int, ...]:
        """The array dimension of each dimension of the plan."""
        return self.plan.order or tuple(range(len(self.plan.tile)))

    def thread(self, dim: int) -> Name:
        """Return the number of a thread in a dimension."""
        return Name(thread_names(len(self.sizes))[self.dims.index(dim)])

    def kept(self, dim: int) -> int:
        """Return the elements that are in boxes, without margins."""
        return self.sizes[dim] - (self.elsewhere if dim == self.dims[-1] else 0)

    def corner(self, dim: int) -> Expr:
        """Return the first index of the tile."""
        return Binary("*", Int(self.sizes[dim]), Name(block_names(len(self.sizes))[self.dims.index(dim)]))

    def reach(self, margin: Margin, dim: int, limits: tuple[int, int]) -> Bounds:
        """Return the places of the tile with `margin` around it whose elements are within `limits`."""
        low, high = margin[dim]
        first, last = Int(-low), Int(self.kept(dim) - 1 + high)
        return (Binary("max", first, self.place(dim, Int(limits[0]))) if low or limits[0] > 0 else first,
                Binary("min", last, self.place(dim, Int(limits[1]))))

    def place(self, dim: int, index: Expr) -> Expr:
        """Return the place of `index` in the tile: 0 is its first element."""
        return simplify(Binary("-", index, self.corner(dim)))

    def index_of(self, places: Sequence[Expr]) -> tuple[Expr, ...]:
        """Return the index of the element at `places`."""
        return tuple(simplify(Binary("+", self.corner(d), place)) for d, place in enumerate(places))

    def box(self, array: Array, name: str, margin: Margin, filled: Filled) -> TimeBox:
        """Return the team's box for the tile of an array with `margin` around it."""
        corner = tuple(simplify(Binary("-", self.corner(d), Int(low))) for d, (low, _) in enumerate(margin))
        box = grown_sizes([self.kept(d) for d in range(len(margin))], margin)
        return TimeBox(
            name,
            array.name,
            array.type,
            corner,
            box,
            padded_rows(box, self.plan.padding),
            (None,) * len(box),
            filled,
            "block",
            margin,
            array.extents,
        )

    def shared_out(self, bounds: Mapping[int, tuple[str, Bounds]], inside: Node, note: str, unroll: int = 1) -> Node:
        """Return loops over some dimensions (name, bounds) in which the threads of the team take turns."""
        loops = []
        for dim in sorted(bounds):
            name, (low, high) = bounds[dim]
            threads = self.plan.block[self.dims.index(dim)]
            begin = low if threads == 1 else self.thread(dim) if low == Int(0) else Binary("+", low, self.thread(dim))
            loops.append(For(name, begin, Binary("<=", Name(name), high), threads, (), once=True))
        return nested(loops, (inside,), note, unroll)

    def over(self, margin: Margin, limits: Limits, make: Callable[[tuple[Expr, ...]], Node], note: str) -> Node:
        """Return loops over the tile with `margin` around it, within `limits`, with the body that `make` returns for an
        index.
        """
        bounds = {d: (self.index[d].name, self.reach(margin, d, limits[d])) for d in range(len(self.sizes))}
        return self.shared_out(bounds, make(self.index_of(self.index)), note)
