"""A number one that Intel's CPU compiler does not know, used where it would miscompile a literal.

Its compiler rewrites `c - t0 - 1` to `c + ~t0`. One of its passes computes values that grow linearly from thread to
thread before the loop over a block's threads, and takes `~t0` to be loop-invariant: products of such sums are right for
the first 16 threads only (docs/compilers.md). It leaves `c - t0 - antune_one` unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from generator.expr import Binary, Expr, Int, Name, Unary, map_children, names_of
from generator.nest import For, Node, expressions, map_expressions, walk

ONE = Name("antune_one")
"""A variable of the kernel with the value 1."""
_THREAD = re.compile(r"t\d")


def with_opaque_one(body: tuple[Node, ...]) -> tuple[Node, ...]:
    """Return `body` with ONE in integer sums from which a thread's index and, in total, 1 are subtracted."""
    threads = _of_threads(body)

    def rewritten(expr: Expr) -> Expr:
        return map_children(_without_complement(expr, threads), rewritten)

    return map_expressions(body, rewritten)


def _of_threads(body: tuple[Node, ...]) -> frozenset[str]:
    """Return thread indices, and iterators that start at them: their loops go from thread to thread."""
    names = {
        name for node in walk(body) for expr in expressions(node) for name in names_of(expr) if _THREAD.fullmatch(name)
    }
    for node in walk(body):
        if isinstance(node, For) and names & names_of(node.start):
            names.add(node.iterator)
    return frozenset(names)


def _without_complement(expr: Expr, threads: frozenset[str]) -> Expr:
    """Return `expr`; if it is a sum `... - t0 ... - 1`, with ONE in place of one of its numbers."""
    terms = list(_terms(expr, 1))
    constant = sum(sign * term.value for sign, term in terms if isinstance(term, Int))
    if constant != -1 or not any(sign < 0 and names_of(term) & threads for sign, term in terms):
        return expr
    sign, chosen = next((sign, term) for sign, term in terms if isinstance(term, Int))
    assert isinstance(chosen, Int)
    rest = chosen.value + sign
    opaque: Expr = ONE if sign < 0 else Unary("-", ONE)
    if rest:
        opaque = Binary("+" if sign < 0 else "-", Int(rest), ONE)
    return _replaced(expr, chosen, opaque)


def _terms(expr: Expr, sign: int) -> Iterator[tuple[int, Expr]]:
    """Yield the terms of a sum, each with 1 or -1."""
    match expr:
        case Binary("+" | "-" as op, left, right):
            yield from _terms(left, sign)
            yield from _terms(right, sign if op == "+" else -sign)
        case Unary("-", operand):
            yield from _terms(operand, -sign)
        case _:
            yield sign, expr


def _replaced(expr: Expr, old: Int, new: Expr) -> Expr:
    """Return `expr` with `new` in place of the term that is this very object."""
    if expr is old:
        return new
    match expr:
        case Binary("+" | "-") | Unary("-"):
            return map_children(expr, lambda part: _replaced(part, old, new))
        case _:
            return expr
