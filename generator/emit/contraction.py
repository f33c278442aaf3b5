"""The kernels that must not fuse multiplications with additions.

Intel's CPU runtime (2026.22.10) miscompiles, after a barrier, a fused multiply-add one of whose factors is a thread
index converted to a floating type: `(g - (float)t0 * 0.3f) + (float)t0 * 0.3f` comes out as `g + (float)t0 * 0.3f` if
t0 is not the dimension along x. Unfused it is right, as are such values held in a variable. This does not depend on the
device, because exported text may run anywhere.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from math import prod

from generator.expr import Binary, Cast, Expr, Load, Name, Real, Select, children, parts
from generator.nest import Assign, Atomic, Barrier, Declare, If, Node, walk

COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


def must_not_contract(body: tuple[Node, ...], block: tuple[int, ...]) -> bool:
    """Return whether a kernel with a barrier and blocks of several rows uses an index in arithmetic with real numbers.

    `block` is x first. Elements of arrays count as real; integer ones are not affected, but it does no harm.
    """
    nodes = list(walk(body))
    if prod(block[1:]) == 1 or not any(isinstance(node, Barrier) for node in nodes):
        return False
    values = [node.value for node in nodes if isinstance(node, Assign | Atomic)]
    values += [node.condition for node in nodes if isinstance(node, If)]
    integers = {node.name for node in nodes if isinstance(node, Declare) and node.type not in ("float", "double")}
    held = {node.target.array for node in nodes if isinstance(node, Assign) and node.target.array in integers
            and any(isinstance(term, Name) for term in _terms(node.value))}
    return any(_has_index_in_real(value, held) for value in values)


def _has_index_in_real(value: Expr, held: Collection[str]) -> bool:
    """Return whether there is an explicit conversion anywhere, or an index beside real numbers or elements.

    The latter in the value or in a comparison, both of whose sides belong to the same arithmetic. `held`: the variables
    that are computed from an index.
    """
    whole: list[tuple[Expr, ...]] = [(value,)]
    converted: list[tuple[Expr, ...]] = []
    for part in parts(value):
        if isinstance(part, Binary) and part.op in COMPARISONS:
            whole.append((part.left, part.right))
        elif isinstance(part, Cast) and part.type in ("float", "double"):
            converted.append((part.operand,))
    converted += [sides for sides in whole if any(isinstance(term, Real | Load) for term in _terms(*sides))]
    return any(isinstance(term, Name) or (isinstance(term, Load) and term.array in held)
               for sides in converted for term in _terms(*sides))


def _terms(*exprs: Expr) -> Iterator[Expr]:
    """Yield the terms of these values, in any order, without subscripts and conditions."""
    waiting = list(exprs)
    while waiting:
        term = waiting.pop()
        yield term
        match term:
            case Load():
                continue
            case Binary(op) if op in COMPARISONS or op in ("&&", "||"):
                continue
            case Select():
                waiting += term.then, term.otherwise
            case _:
                waiting += children(term)
