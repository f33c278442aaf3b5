"""Loads of two neighbours at a place chosen by data become one load of twice the size.

    a = grid[z][x / 8] * u + grid[z][x / 8 + 1] * v;  // z = (int)(image[x] * 10)       becomes

    ulong pair = antune_pair(&grid[z][x / 8]);  a = as_float((uint)pair) * u + as_float((uint)(pair >> 32)) * v;

Vectors of such elements are gathered one by one, and gathering limits interpolation in grids and tables: Intel's CPU
runtime (2026.22.10) then gathers half as many. It does so with integers only: of `vload2`, `memcpy` and a pair that is
copied to a private array it makes two gathers again, or no vector.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import TypeAlias

from generator.expr import (
    Binary,
    Call,
    Expr,
    Fold,
    Int,
    Load,
    Name,
    Select,
    Unary,
    children,
    loads_of,
    map_children,
    names_of,
)
from generator.linear import is_plain, simplify
from generator.nest import Assign, Atomic, Declare, For, If, Node, Streamed, walk
from generator.program import Array

Loops: TypeAlias = tuple[tuple[str, frozenset[str]], ...]
"""The loops around a node, the outermost first: iterators, and the names that are assigned to inside."""
PAIR = "antune_pair"
"""A function: the bits of an element of type float and of the one after it, as an integer."""
AS_FLOAT = "antune_as_float"
PAIR_FUNCTION = f"""#if defined(__clang__) && defined(__ENDIAN_LITTLE__)
typedef ulong __attribute__((aligned(4), may_alias)) antune_two_floats;
static inline ulong {PAIR}(const __global float *first) {{ return *(const __global antune_two_floats *)first; }}
#else
static inline ulong {PAIR}(const __global float *first) {{ return as_uint(first[0]) | (ulong)as_uint(first[1]) << 32; }}
#endif
"""


def with_pairs(nodes: Sequence[Node], arrays: Sequence[Array], elsewhere: Collection[str]) -> tuple[Node, ...]:
    """Return `nodes`, where loops load pairs of neighbours in `arrays` of type float that the kernel only reads.

    `elsewhere`: arrays that are not in global memory.
    """
    written = {node.target.array for node in walk(tuple(nodes)) if isinstance(node, Assign | Atomic | Streamed)}
    names = {array.name for array in arrays if array.type == "float" and array.extents}
    return _all_paired(nodes, names.difference(written, elsewhere), count(), ())


def _all_paired(
    nodes: Sequence[Node], names: Collection[str], numbers: Iterator[int], loops: Loops
) -> tuple[Node, ...]:
    """Return the same. `loops`: those around the nodes."""
    return tuple(part for node in nodes for part in _paired(node, names, numbers, loops))


def _paired(node: Node, names: Collection[str], numbers: Iterator[int], loops: Loops) -> Iterator[Node]:
    match node:
        case If(condition, then, otherwise):
            yield If(condition, _all_paired(then, names, numbers, loops), _all_paired(otherwise, names, numbers, loops))
        case For(iterator, body=body):
            changed = {part.target.array for part in walk(body) if isinstance(part, Assign)}
            inside = (*loops, (iterator, frozenset(changed)))
            yield replace(node, body=_all_paired(body, names, numbers, inside))
        case Assign(value=value, wide=None, later=False) if loops:
            values = dict[Expr, Expr]()
            for first, second in _neighbours(value, names, loops):
                pair = Load(f"{PAIR}_{next(numbers)}")
                values |= {first: Call(AS_FLOAT, (pair,)), second: Call(AS_FLOAT, (Binary(">>", pair, Int(32)),))}
                yield Declare(pair.array, "unsigned long", ())
                yield Assign(pair, "", Call(PAIR, (Unary("&", first),)))
            yield replace(node, value=_replaced(value, values))
        case _:
            yield node


def _neighbours(value: Expr, names: Collection[str], loops: Loops) -> list[tuple[Load, Load]]:
    """Return pairs of different loads that are evaluated in any case, the second one right after the first in memory,
    at places that data choose.
    """
    loads = [load for load in dict.fromkeys(_always(value)) if load.array in names and _by_data(load, loops)]
    found, free = list[tuple[Load, Load]](), set(loads)
    for first in loads:
        second = next((load for load in loads if load in free and _follows(load, first)), None)
        if first in free and second is not None:
            found.append((first, second))
            free -= {first, second}
    return found


def _always(expr: Expr) -> Iterator[Load]:
    """Yield the loads of `expr` that are evaluated whatever the conditions in it are."""
    match expr:
        case Load():
            yield expr
        case Select(condition, _, _):
            yield from _always(condition)
        case Binary("&&" | "||", left, _):
            yield from _always(left)
        case Fold():
            return
        case _:
            for child in children(expr):
                yield from _always(child)


def _by_data(load: Load, loops: Loops) -> bool:
    """Return whether data choose its place, and no loop walks along a row that they have chosen before it: vectors of
    that row's elements are loaded at once.
    """
    chosen = [part for index in load.index for part in loads_of(index)]
    moving = names_of(load.index[-1])
    return bool(chosen) and not any(
        iterator in moving and not any(part.array in changed or iterator in names_of(part) for part in chosen)
        for iterator, changed in loops)


def _follows(load: Load, first: Load) -> bool:
    """Return whether `load` is the element after `first` in its row."""
    same = load.array == first.array and load.index[:-1] == first.index[:-1]
    others = dict[Expr, Name]()
    last, before = _sum_of(load.index[-1], others), _sum_of(first.index[-1], others)
    return same and simplify(Binary("-", last, before)) == Int(1)


def _sum_of(index: Expr, others: dict[Expr, Name]) -> Expr:
    """Return `index`, with a name for each term that is not arithmetic of `int` only: inside one, as in a conversion of
    a floating-point sum, the order of operations matters. `others`: the names so far.
    """
    match index:
        case Binary("+" | "-" | "*", _, _) | Unary("+" | "-", _):
            return map_children(index, lambda child: _sum_of(child, others))
        case _:
            return index if is_plain(index) else others.setdefault(index, Name(f"term {len(others)}"))


def _replaced(expr: Expr, values: dict[Expr, Expr]) -> Expr:
    found = values.get(expr)
    return map_children(expr, lambda child: _replaced(child, values)) if found is None else found
