"""Replace variables that hold a value of indices by that value.

For instance, the first row of a box is computed once and used in bounds and subscripts below. With the expression in
its place, bounds and strides can be found without running the kernel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from generator.expr import Call, Expr, Fold, Load, Real, map_children, parts
from generator.nest import Assign, Atomic, Declare, For, If, Node, Receive, Shuffle, map_expressions, walk

WHOLE = ("int", "long", "long long")  # types that hold every index without truncation


def with_index_values(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """Return `nodes` without the variables that are set once, to an expression of indices only, which replaces their
    uses.
    """
    known = _index_values(tuple(walk(nodes)))
    return map_expressions(_without(nodes, known), lambda expr: _value(expr, known)) if known else nodes


def _index_values(nodes: tuple[Node, ...]) -> dict[str, Expr]:
    """Return the values of such variables by name. `nodes`: in text order, so that a variable is set before it is used.
    """
    sets = Counter(n.target.array for n in nodes if isinstance(n, Assign | Atomic))
    sets.update(n.variable.array for n in nodes if isinstance(n, Shuffle | Receive))
    sets.update(n.source.array for n in nodes if isinstance(n, Receive))  # other lanes read it: it stays a variable
    once = {n.name for n in nodes if isinstance(n, Declare) and not n.sizes and n.type in WHOLE and sets[n.name] == 1}
    known: dict[str, Expr] = {}
    for node in nodes:
        if isinstance(node, Assign) and node.target.array in once and not node.op:
            value = _value(node.value, known)
            if not any(isinstance(part, Load | Real | Call | Fold) for part in parts(value)):
                known[node.target.array] = value
    return known


def _value(expr: Expr, known: Mapping[str, Expr]) -> Expr:
    if isinstance(expr, Load) and expr.array in known:
        return known[expr.array]
    return map_children(expr, lambda child: _value(child, known))


def _without(nodes: tuple[Node, ...], known: Mapping[str, Expr]) -> tuple[Node, ...]:
    result: list[Node] = []
    for node in nodes:
        match node:
            case For(body=body):
                result.append(replace(node, body=_without(body, known)))
            case If(condition, then, otherwise):
                result.append(If(condition, _without(then, known), _without(otherwise, known)))
            case Declare(name) if name in known:
                pass
            case Assign(target) if target.array in known:
                pass
            case _:
                result.append(node)
    return tuple(result)
