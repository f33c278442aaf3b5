"""Kernels whose sums of products are computed on tensor cores.

    int antune_row = .., antune_column = ..;            the warp's part of the tile
    parts[i][j] = 0;
    for (int k_tile = 0; k_tile < ..; k_tile++) {       a few terms of all sums of the tile at a time
        A_tile[..][..] = to_fp16(A[..][..]);            all threads copy both factors, rounded; 0 outside
        B_tile[..][..] = to_fp16(B[..][..]);
        barrier
        parts[i][j] += A_tile x B_tile                  every warp its part
        barrier
    }
    sums = parts                                        in shared memory
    barrier
    C[i][j] = C[i][j] + alpha * sums[i][j];             the rest, like any kernel

In a sum of several products, each product has its own copies and multiplication, in sequence, in the same shared
memory. Copies may be a tile ahead (`tile_rounds.py` with `factor_copies.py`). Blocks without elements of the rest, as
above the diagonal of a triangle, skip everything before it.

The analysis that finds the sum (`generator.polyhedral.memory.contractions`) proves that each product is computed once,
and that the rest may run after all of them; the loops of the rest are checked as those of any kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import prod
from typing import Literal, cast

from generator.decisions.fragments import MOST_HELD, MOST_PARTS, ROUNDED_LATER, depths, held, warp_grid
from generator.decisions.size_lists import smallest_inner
from generator.errors import IllegalPlan
from generator.expr import Binary, Call, Expr, Int, Load, Name, loads_of, map_children, names_of
from generator.linear import simplify, substitute
from generator.lowering.core.factor_copies import FactorCopy, divided, quotient, remainder
from generator.lowering.core.tile_rounds import TileRounds
from generator.lowering.memory.box import LocalBox, padded_rows
from generator.lowering.naming import fresh_name
from generator.nest import (
    Barrier,
    For,
    Fragments,
    Node,
    SharedFactor,
    WarpTile,
    map_expressions,
)
from generator.plan import KernelPlan
from generator.polyhedral.memory.contractions import SUMS, Contraction, Index
from generator.polyhedral.memory.mapping import block_names, check_besides, check_fits
from generator.polyhedral.memory.products import Product
from generator.polyhedral.schedules.kernels import Dimension, KernelPart
from generator.precision import WORD
from generator.program import ELEMENT_BYTES
from generator.target import LANES

HONOURED = ("products", "order", "inner_tile", "padding", "vector", "ahead", "asynchronous", "unroll", "exchange",
            "columns", "cache")


@dataclass(frozen=True, slots=True)
class TensorKernel:
    """`boxes` in shared memory, the nodes that compute the sums, and the box of the sums, which the rest reads."""

    boxes: tuple[LocalBox, ...]
    body: tuple[Node, ...]
    sums: LocalBox
    corner: tuple[Expr, Expr]

    def placed(self, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        """Return the loops of the rest with the sums read from their box."""
        return map_expressions(nodes, self._placed)

    def _placed(self, expr: Expr) -> Expr:
        if isinstance(expr, Call) and expr.function == SUMS:
            index = zip(expr.arguments, self.corner, strict=True)
            return Load(self.sums.name, tuple(simplify(Binary("-", at, first)) for at, first in index))
        return map_children(expr, self._placed)


def rest_plan(plan: KernelPlan) -> KernelPlan:
    """Return the plan of the rest, without the decisions about copies and fragments."""
    return KernelPlan(plan.statements, plan.tile, plan.block, unroll=plan.unroll, exchange=plan.exchange,
                      columns=plan.columns)


def tensor_kernel(
    found: Contraction, plan: KernelPlan, prefix: tuple[str, ...], taken: set[str]
) -> TensorKernel:
    """Return the computation of the sums; new names are added to `taken`.

    Raises:
        IllegalPlan: sizes do not fit fragments and warps, or the plan has a decision that such kernels do not support.
    """
    check_besides(plan, "on tensor cores", HONOURED)
    check_fits(found.part, plan)
    loops = tuple(fresh_name(f"{index.iterator}_tile" if k == _inner(found) else index.iterator, taken)
                  for k, index in enumerate(found.depth))
    taken |= {name for statement in found.program.statements for name in statement.iterators}  # loops of the rest
    tile = _warp_tile(found, plan, taken)
    maker = _Maker(found, plan, prefix, tile, loops)
    boxes = maker.boxes()
    corner = maker.corner(found.rows), maker.corner(found.columns)
    return TensorKernel(boxes, maker.body(boxes, taken), boxes[-1], corner)


def _warp_tile(found: Contraction, plan: KernelPlan, taken: set[str]) -> WarpTile:
    """Return how warps share the tile. Raises IllegalPlan."""
    assert plan.products != "full", "it is for tensor cores"
    what = f"{', '.join(plan.statements)} on tensor cores"
    rows, columns, threads = plan.tile[found.rows], plan.tile[found.columns], prod(plan.block)
    others = [d for d in range(len(plan.tile)) if d not in (found.rows, found.columns)]
    if any(plan.tile[d] != 1 for d in others):
        raise IllegalPlan(f"{what}: a block has rows and columns of one product, so that tile sizes of other "
                          f"dimensions are 1; they are {plan.tile}")
    warps = warp_grid(rows, columns, threads // LANES) if threads % LANES == 0 else None
    if warps is None:
        raise IllegalPlan(f"{what}: {threads} threads cannot share a tile of {rows} x {columns} in fragments of "
                          f"16 x 16: use whole warps of {LANES} threads, each with 1 to {MOST_PARTS} fragments")
    depth = smallest_inner(plan.inner_tile)
    if plan.inner_tile not in depths(plan.products):
        raise IllegalPlan(f"{what}: the inner tile is {plan.inner_tile}; terms of a sum are multiplied "
                          f"{' or '.join(map(str, depths(plan.products)))} at a time")
    bytes_ = ELEMENT_BYTES[WORD[plan.products]]
    if plan.padding * bytes_ % 16:
        raise IllegalPlan(f"{what}: rows that are longer by {plan.padding} elements; use a multiple of {16 // bytes_}")
    _check_next(plan, what, held(rows, columns, depth, threads))
    each = rows // 16 // warps[0], columns // 16 // warps[1]

    def factor(side: Expr, base: str, own: str, size: int) -> SharedFactor:
        turned = _is_turned(side, own)
        row = (size if turned else depth) + plan.padding
        base = base if len(found.products) > 1 else _array(side) or base
        return SharedFactor(fresh_name(f"{base}_tile", taken), row, turned)

    first = found.products[0]
    left = factor(first.left, "left", found.parallel[found.rows][0].iterator, rows)
    right = factor(first.right, "right", found.parallel[found.columns][0].iterator, columns)
    parts, sums = fresh_name("parts", taken), fresh_name("sums", taken)
    row = columns + plan.padding
    return WarpTile(plan.products, warps, each, depth, left, right, parts, sums, row, plan.asynchronous)


def _check_next(plan: KernelPlan, what: str, elements: int) -> None:
    """Raise IllegalPlan if the next tile cannot be fetched as the plan says. `elements`: how many a thread copies."""
    if plan.asynchronous and plan.products not in ROUNDED_LATER:
        raise IllegalPlan(f"{what}: asynchronous copies round nothing, and {plan.products} is rounded before it is in "
                          f"shared memory; use {' or '.join(ROUNDED_LATER)}, or tiles that are only ahead")
    if plan.ahead and not plan.asynchronous and elements > MOST_HELD:
        raise IllegalPlan(f"{what}: a thread would hold {elements} elements of the next tile in registers, at most "
                          f"{MOST_HELD} are allowed; use more threads or a smaller inner tile")


def _inner(found: Contraction) -> int:
    """Return which summation iterator is tiled: the one with the most values."""
    extents = [index.extent for index in found.depth]
    return max(range(len(extents)), key=lambda k: (extents[k], k))


def _array(side: Expr) -> str:
    """Return the first array in a factor; empty if it is computed from iterators only."""
    return next((load.array for load in loads_of(side)), "")


def _is_turned(side: Expr, own: str) -> bool:
    """Return whether elements adjacent in memory belong to adjacent rows (columns) of the sums, counted by `own`."""
    last = [load.index[-1] for load in loads_of(side) if load.index]
    return any(own in names_of(index) for index in last)


@dataclass(frozen=True, slots=True)
class _Value:
    """An iterator's value in the generated code, with its least and greatest value there."""

    index: Index
    value: Expr
    least: int
    most: int

    @property
    def exists(self) -> list[Expr]:
        """The conditions under which the statement has such an instance."""
        found: list[Expr] = []
        if self.least < self.index.low:
            found.append(Binary(">=", self.value, Int(self.index.low)))
        if self.most > self.index.high:
            found.append(Binary("<=", self.value, Int(self.index.high)))
        return found


@dataclass(frozen=True, slots=True)
class _Maker:
    """Builds the loops of a thread. `loops`: the names of those over the terms of a sum."""

    found: Contraction
    plan: KernelPlan
    prefix: tuple[str, ...]
    tile: WarpTile
    loops: tuple[str, ...]

    @property
    def part(self) -> KernelPart:
        """The kernel."""
        return self.found.part

    @property
    def inner(self) -> int:
        """The summation iterator that is tiled."""
        return _inner(self.found)

    def corner(self, dim: int) -> Expr:
        """Return the iterator of a parallel dimension at the first point of a block's tile."""
        first = Int(self.found.parallel[dim][0].least)
        here = Binary("*", Int(self.plan.tile[dim]), Name(block_names(len(self.plan.tile))[dim]))
        return simplify(Binary("+", first, here))

    def boxes(self) -> tuple[LocalBox, ...]:
        """Return the boxes of both factors and the sums."""
        rows, columns = self.tile.sizes
        word = WORD[self.tile.precision]
        found = []
        for factor, size in ((self.tile.left, rows), (self.tile.right, columns)):
            sizes = (self.tile.depth, size) if factor.turned else (size, self.tile.depth)
            box = self._box(factor.name, word, sizes)
            found.append(replace(box, sizes=(2, *box.sizes)) if self.plan.asynchronous else box)
        return *found, self._box(self.tile.sums, "float", (rows, columns))

    def _box(self, name: str, kind: str, sizes: tuple[int, int]) -> LocalBox:
        return LocalBox(name, "", kind, (Int(0), Int(0)), sizes, padded_rows(sizes, self.plan.padding), (None, None),
                        "copy", "block")

    def body(self, boxes: tuple[LocalBox, ...], taken: set[str]) -> tuple[Node, ...]:
        """Return everything until the sums are in shared memory; new names are added to `taken`."""
        others = [k for k in reversed(range(len(self.found.depth))) if k != self.inner]
        index = self.found.depth[self.inner]
        rounds = TileRounds(
            self.loops[self.inner],
            -(-index.extent // self.tile.depth),
            f"{self.tile.depth} values of {index.iterator}",
            len(self.found.products),
            lambda product, tile: self._copies(boxes, self.found.products[product], tile),
            self._step("multiply"),
            bool(others),
            taken,
        )
        body = rounds.nodes("later" if self.plan.asynchronous else "ahead" if self.plan.ahead else "at once")
        for k in others:
            end = Binary("<", Name(self.loops[k]), Int(self.found.depth[k].extent))
            body = (For(self.loops[k], Int(0), end, 1, body, unroll=0),)
        return (self._step("clear"), *body, self._step("store"), Barrier())

    def _step(self, step: Literal["clear", "multiply", "store"]) -> Fragments:
        return Fragments(step, self.tile, divided(self.plan.block, LANES)[0])

    def _copies(self, boxes: tuple[LocalBox, ...], product: Product, tile: Expr) -> tuple[FactorCopy, ...]:
        sides = ((product.left, self.found.rows, self.tile.left), (product.right, self.found.columns, self.tile.right))
        return tuple(self._copy(box, *side, tile) for box, side in zip(boxes, sides, strict=False))

    def _copy(self, box: LocalBox, side: Expr, dim: int, factor: SharedFactor, tile: Expr) -> FactorCopy:
        """Return what fills the tile of a factor."""
        own, deep = (box.index[1], box.index[0]) if factor.turned else (box.index[0], box.index[1])
        found = self._values(dim, own, deep, tile)
        wanted = self.found.parallel[dim][0] if factor.turned else self.found.depth[self.inner]
        [across] = [value for value in found if value.index is wanted]
        lanes = self.plan.vector if self._in_vectors(side, across) else 1
        tiled = self.found.depth[self.inner]  # beyond its end both factors are 0, because 0 * Inf is NaN
        conditions = [one for value in found if value.index is tiled or value.index.iterator in names_of(side)
                      for one in value.exists]
        exist = reduce(lambda a, b: Binary("&&", a, b), conditions) if conditions else None
        source = substitute(side, {one.index.iterator: one.value for one in found})
        what = f"{array} " if len(self.found.products) > 1 and (array := _array(side)) else ""
        return FactorCopy(box, source, exist, lanes, self.tile.precision, self.plan.block, what)

    def _in_vectors(self, side: Expr, across: _Value) -> bool:
        """Return whether copies of a row can be vectors: contiguous in memory, aligned, and entirely inside or outside.
        """
        lanes, index = self.plan.vector, across.index
        if not isinstance(side, Load) or not side.index or side.index[-1] != Name(index.iterator):
            return False
        elsewhere = any(index.iterator in names_of(one) for one in side.index[:-1])
        whole = self.found.program.array(side.array).extents[-1] % lanes == 0 and across.least % lanes == 0
        ends = [index.low] * (across.least < index.low) + [index.high + 1] * (across.most > index.high)
        return whole and not elsewhere and all(end % lanes == 0 for end in ends)

    def _values(self, dim: int, own: Name, deep: Name, tile: Expr) -> list[_Value]:
        """Return all iterators at an element of a copy: `own` counts rows (columns) in the tile, `deep` terms, in the
        tile of terms number `tile`.
        """
        found = [_Value(index, simplify(Binary("-", Name(name), Int(index.shift))), index.least, index.most)
                 for index, name in zip(self.found.outer, self.prefix, strict=True)]
        for d, (one, behind) in enumerate(zip(self.part.parallel, self.found.parallel, strict=True)):
            if len(behind) == 1:
                found.append(self._of_block(d, one, behind[0], own if d == dim else Int(0)))
            else:
                found += self._of_batches(d, behind)
        for k, index in enumerate(self.found.depth):
            here, most = cast(Expr, Name(self.loops[k])), index.high
            if k == self.inner:
                here = Binary("+", Binary("*", Int(self.tile.depth), tile), deep)
                most = index.low + -(-index.extent // self.tile.depth) * self.tile.depth - 1
            found.append(_Value(index, simplify(Binary("+", Int(index.low), here)), index.low, most))
        return found

    def _of_batches(self, dim: int, behind: Sequence[Index]) -> list[_Value]:
        """Return iterators with one value per block: the dimension counts those of the whole kernel row by row."""
        first, second = behind
        count = second.most - second.least + 1
        skipped = self.part.parallel[dim].low - (first.least + first.shift) * count
        number = simplify(Binary("+", Name(block_names(len(self.plan.tile))[dim]), Int(skipped)))
        values = (quotient(number, count), remainder(number, count))
        return [_Value(index, simplify(Binary("+", Int(index.least), value)), index.least, index.most)
                for index, value in zip((first, second), values, strict=True)]

    def _of_block(self, dim: int, one: Dimension, index: Index, inside: Expr) -> _Value:
        tile = self.plan.tile[dim]
        value = simplify(Binary("+", self.corner(dim), inside))
        return _Value(index, value, index.least, index.least + -(-one.extent // tile) * tile - 1)
