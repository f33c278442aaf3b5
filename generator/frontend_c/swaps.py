"""Pointers that are swapped at the end of each step of a loop over time, as in double-buffered solvers.

    for (t = 0; t < T; t++) {                for (t = 0; t < T / 2; t++) {
        for (i ...) b[i] = f(a, i);              for (i ...) b[i] = f(a, i);
        tmp = a; a = b; b = tmp;        ->       for (i ...) a[i] = f(b, i);
    }                                        }
                                             for (t = T / 2 * 2; t < T; t++)
                                                 for (i ...) b[i] = f(a, i);

The names then always denote the same memory: their targets at the beginning of the SCoP.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from generator.errors import InputError
from generator.frontend_c.elements import nodes, put_child, write_subscripts
from generator.frontend_c.jumps import stops
from generator.frontend_c.loops import read_header
from generator.frontend_c.places import where

_COUNTED = {"<": 0, "<=": 1}


@dataclass(frozen=True, slots=True)
class Unswapped:
    """The statements of a SCoP, and the pointers that the original swaps."""

    items: tuple[Any, ...]
    pointers: tuple[str, ...]


def without_swaps(items: Sequence[Any], pointers: Collection[str]) -> Unswapped:
    """Return `items` without swaps. `pointers`: the names of arrays and pointers.

    Raises:
        InputError: a swap anywhere but at the end of an outermost loop that counts up by one, or a use after that loop.
    """
    found: list[Any] = []
    swapped: set[str] = set()
    for item in items:
        if used := sorted(swapped & {node.name for node in nodes(item) if isinstance(node, c_ast.ID)}):
            raise InputError(
                f"`{used[0]}` changed places with another pointer in the loop before: end the SCoP after that loop",
                where(item),
            )
        pairs = _pairs(item, pointers) if isinstance(item, c_ast.For) else []
        if (
            pairs
        ):  # pointers declared inside are replaced first: the copies of the body would declare them twice
            (item,) = write_subscripts([item], pointers)
        found += _by_parity(item, pairs) if pairs else [item]
        swapped |= {name for pair in pairs for name in pair}
    return Unswapped(tuple(found), tuple(sorted(swapped)))


def _pairs(loop: Any, pointers: Collection[str]) -> list[tuple[str, str]]:
    """Return the pointers that are swapped at the end of `loop`'s body, and remove the statements for that."""
    pairs: list[tuple[str, str]] = []
    body = loop.stmt
    while isinstance(body, c_ast.Compound) and (pair := _swap(body.block_items or [], pointers)) is not None:
        body.block_items = body.block_items[:-3]
        pairs.append(pair)
    return pairs


def _swap(statements: Sequence[Any], pointers: Collection[str]) -> tuple[str, str] | None:
    """Return (a, b) if the last statements are `tmp = a; a = b; b = tmp;`."""
    if len(statements) < 3:
        return None
    first, second, third = (_copied(node) for node in statements[-3:])
    if first is None or second is None or third is None:
        return None
    (spare, one), (to, other), (last, back) = first, second, third
    exchange = to == one and last == other and back == spare and len({spare, one, other}) == 3
    return (one, other) if exchange and {one, other} <= set(pointers) else None


def _copied(node: Any) -> tuple[str, str] | None:
    """Return (to, from) of `to = from;` or `float *to = from;`."""
    match node:
        case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=to), rvalue=c_ast.ID(name=source)):
            return str(to), str(source)
        case c_ast.Decl(name=to, type=c_ast.PtrDecl(), init=c_ast.ID(name=source)):
            return str(to), str(source)
        case _:
            return None


def _by_parity(loop: Any, pairs: Sequence[tuple[str, str]]) -> list[Any]:
    """Return the loop with two steps per iteration, and the remaining step."""
    header, place = read_header(loop), loop.coord
    test = header.test
    counted = isinstance(test, c_ast.BinaryOp) and test.op in _COUNTED and isinstance(test.left, c_ast.ID) \
        and test.left.name == header.iterator
    one = header.sign == 1 and isinstance(header.step, c_ast.Constant) and header.step.value == "1"
    if not (counted and one):
        raise InputError(
            f"pointers change places in this loop: write it as `for ({header.iterator} = 0; {header.iterator} < STEPS; "
            f"{header.iterator}++)`",
            where(loop),
        )
    if stops(loop.stmt):
        raise InputError(
            "pointers change places in this loop, and `break` leaves it: which of them is which would then depend on "
            "data; let "
            "the loop run to its end, or take it out of the SCoP",
            where(loop),
        )
    if any(isinstance(node, c_ast.Assignment) and isinstance(node.lvalue, c_ast.ID) and node.lvalue.name in name
           for name in pairs for node in nodes(loop.stmt)):
        raise InputError("pointers change places here in more ways than at the end of the loop", where(loop))
    exchange = {a: b for pair in pairs for a, b in (pair, pair[::-1])}
    steps = _sum("-", test.right, header.start)
    steps = _sum("+", steps, _number(1, place)) if test.op == "<=" else steps
    half = c_ast.BinaryOp("/", steps, _number(2, place), place)
    first = _sum("+", header.start, _sum("*", _number(2, place), c_ast.ID(header.iterator, place)))
    twice, rest = deepcopy(loop), deepcopy(loop)
    _set_start(twice, _number(0, place))
    twice.cond = c_ast.BinaryOp("<", c_ast.ID(header.iterator, place), half, place)
    twice.stmt = c_ast.Compound(
        [
            _renamed(deepcopy(loop.stmt), {}, {header.iterator: first}),
            _renamed(deepcopy(loop.stmt), exchange, {header.iterator: _sum("+", first, _number(1, place))}),
        ],
        place,
    )
    _set_start(rest, _sum("+", header.start, _sum("*", half, _number(2, place))))
    return [twice, rest]


def _sum(op: str, left: Any, right: Any) -> Any:
    return c_ast.BinaryOp(op, deepcopy(left), deepcopy(right), left.coord)


def _number(value: int, place: Any) -> Any:
    return c_ast.Constant("int", str(value), place)


def _set_start(loop: Any, start: Any) -> None:
    if isinstance(loop.init, c_ast.DeclList):
        loop.init.decls[0].init = start
    else:
        loop.init.rvalue = start


def _renamed(node: Any, names: dict[str, str], values: dict[str, Any]) -> Any:
    """Return `node` with names replaced by others, and by expressions (changed in place)."""
    if isinstance(node, c_ast.ID):
        node.name = names.get(node.name, node.name)
        return deepcopy(values[node.name]) if node.name in values else node
    for label, child in node.children():
        put_child(node, label, _renamed(child, names, values))
    return node
