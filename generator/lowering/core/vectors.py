"""Loops whose iterations access neighbours in memory, so that a compiler for CPUs can run them as one vector."""

from __future__ import annotations

from generator.expr import Binary, Expr, Int, Load, Name, loads_of, names_of
from generator.linear import simplify, substitute
from generator.nest import Assign, Declare, For

_LONGEST = 64
"""The longest vector that LLVM supports."""


def is_vector(loop: For, count: int) -> bool:
    """Return whether an innermost loop has `count` iterations that write neighbours and read neighbours or one element.

    Registers are elements of arrays, too: a loop over them that reads along columns is better unrolled. An element that
    all iterations write would be a sum, whose terms a compiler with a vector pragma may add in any order.
    """
    own = {node.name for node in loop.body if isinstance(node, Declare) and not node.sizes}
    every = [node for node in loop.body if isinstance(node, Assign)]
    assigns = [node for node in every if node.target.array not in own]
    read = [load for node in every for load in loads_of(node.value)]
    by_data = {load for load in read if any(part.array in own for index in load.index for part in loads_of(index))}
    moving = [load for load in read if any(loop.iterator in names_of(index) for index in load.index)]
    return (
        4 <= count <= _LONGEST
        and count.bit_count() == 1
        and _runs(loop, count)
        and bool(assigns)
        and len(every) + len(own) == len(loop.body)
        and not by_data
        and all(_apart(node.target, loop.iterator) for node in assigns)
        and all(moves_by_one(load, loop.iterator) for load in moving)
    )


def _runs(loop: For, count: int) -> bool:
    """Return whether it counts from 0 to `count`."""
    name = Name(loop.iterator)
    ends = (Binary("<", name, Int(count)), Binary("<=", name, Int(count - 1)))
    return loop.start == Int(0) and loop.step == 1 and loop.condition in ends


def _apart(target: Load, name: str) -> bool:
    """Return whether each value of `name` has its own element; at a border that clamps subscripts, several share one.
    """
    return moves_by_one(target, name) and _by_one(target.index[-1], name)


def moves_by_one(load: Load, name: str) -> bool:
    """Return whether the next value of `name` is the next element in memory, except at borders, where it stays."""
    *rows, last = load.index or (Int(0),)
    return _step(last, name) and not any(name in names_of(index) for index in rows)


def _step(index: Expr, name: str) -> bool:
    match index:
        case Binary("min" | "max", left, right):
            moving = [side for side in (left, right) if name in names_of(side)]
            return bool(moving) and all(_step(side, name) for side in moving)
        case _:
            return _by_one(index, name)


def _by_one(index: Expr, name: str) -> bool:
    return simplify(Binary("-", substitute(index, {name: Binary("+", Name(name), Int(1))}), index)) == Int(1)
