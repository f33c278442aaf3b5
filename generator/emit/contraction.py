"""Which kernels must not fuse multiplications with additions.

Intel's CPU runtime (2026.22.10) miscompiles a fused multiply-add one of whose factors is a thread index, converted to a
floating type, behind a barrier: `(g - (float)t0 * 0.3f) + (float)t0 * 0.3f` comes out as `g + (float)t0 * 0.3f` where t0 is
not the dimension along x. Unfused it is right, as are values of the same kind that a variable holds. A device is not asked
whether it is that one: exported text may run anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from generator.expr import Binary, Cast, Expr, Load, Name, Real, Select, children, parts
from generator.nest import Assign, Atomic, Barrier, If, Node, walk

COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


def must_not_contract(body: tuple[Node, ...], block: tuple[int, ...]) -> bool:
    """Whether a kernel with blocks of several rows (`block` is x first) has a barrier, and an index in arithmetic with real
    numbers or elements of arrays. (Of integers, too: it does them no harm.)"""
    nodes = list(walk(body))
    if prod(block[1:]) == 1 or not any(isinstance(node, Barrier) for node in nodes):
        return False
    values = [node.value for node in nodes if isinstance(node, Assign | Atomic)]
    values += [node.condition for node in nodes if isinstance(node, If)]
    return any(_has_index_in_real(part) for value in values for part in (value, *_compared(value)))


def _compared(value: Expr) -> Iterator[Expr]:
    """Both sides of every comparison, as one value: they are computed by the same arithmetic."""
    return (Binary("-", part.left, part.right) for part in parts(value)
            if isinstance(part, Binary) and part.op in COMPARISONS)


def _has_index_in_real(value: Expr) -> bool:
    """An explicit conversion anywhere, or an index beside real numbers or elements in the value itself."""
    converted = [part.operand for part in parts(value) if isinstance(part, Cast) and part.type in ("float", "double")]
    beside = any(isinstance(term, Real | Load) for term in _terms(value))
    return any(isinstance(term, Name) for operand in (*converted, *([value] if beside else [])) for term in _terms(operand))


def _terms(expr: Expr) -> Iterator[Expr]:
    """What the value is computed from: neither subscripts nor conditions."""
    yield expr
    match expr:
        case Load():
            return
        case Binary(op, _, _) if op in COMPARISONS or op in ("&&", "||"):
            return
        case Select(_, then, otherwise):
            yield from _terms(then)
            yield from _terms(otherwise)
        case _:
            for child in children(expr):
                yield from _terms(child)
