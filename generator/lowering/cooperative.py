"""Cooperative copies as ordinary loops: what each thread of the block does to fill a shared copy.

The same loops as `emit.kernel` prints: the last dimensions of the box go to the threads, the last one to x. Only that
no element lies beyond the end of the array is a bound of the loops here, not a condition inside them: bounds are
counted exactly, conditions are sampled.
"""

from __future__ import annotations

from math import prod

from generator.expr import Binary, Expr, Int, Load, Name
from generator.nest import Assign, Copy, For, If, Node


def copy_loops(copy: Copy, block: tuple[int, ...]) -> Node:
    """The loops of one thread; `block` is x first. Thread indices are `t0` (outermost), `t1`, ..."""
    sizes = tuple(reversed(block))
    # A space keeps the iterators apart from every name of the program.
    index = tuple(Name(f"{copy.local} {dim}") for dim in range(len(copy.sizes)))
    source = tuple(Binary("+", o, i) for o, i in zip(copy.origin, index, strict=True))
    node: Node = Assign(Load(copy.local, index), "", Load(copy.array, source))
    for at, below in zip(source, copy.below, strict=True):
        if below:
            node = If(Binary(">=", at, Int(0)), (node,))
    for dim in reversed(range(len(copy.sizes))):
        start, step = share(dim, len(copy.sizes), sizes)
        bound: Expr = Int(copy.sizes[dim])
        if copy.above[dim]:
            bound = Binary("min", bound, Binary("-", Int(copy.extents[dim]), copy.origin[dim]))
        node = For(index[dim].name, start, Binary("<", index[dim], bound), step, (node,))
    return node


def share(dim: int, count: int, sizes: tuple[int, ...]) -> tuple[Expr, int]:
    """First element and step of a thread in dimension `dim` of a box with `count`; the block is `sizes`, outermost first.

    The last dimensions are shared out. The outer ones of a block that has more than the box are flattened into the first.
    """
    spread = min(count, len(sizes))
    dim -= count - spread
    if dim < 0 or not sizes:
        return Int(0), 1
    surplus = len(sizes) - spread
    if dim > 0:
        return Name(f"t{dim + surplus}"), sizes[dim + surplus]
    start: Expr = Name("t0")
    for extra in range(1, surplus + 1):
        start = Binary("+", Binary("*", start, Int(sizes[extra])), Name(f"t{extra}"))
    return start, prod(sizes[:surplus + 1])
