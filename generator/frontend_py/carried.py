"""Minima and maxima in scans, with the operand last that the previous iteration computes.

    d[r.x, r.y] = min(min(d[r.x, r.y], d[r.x - 1, r.y] + 3), d[r.x, r.y - 1] + 3)

Each iteration of the innermost loop (r.x) waits for the one before, and only then does the rest of the chain begin.
With `d[r.x - 1, r.y] + 3` last, the rest does not wait. The result is the same in any order (fmin and fmax choose the
number if the other value is none). gcc orders integers so itself; clang, which compiles for PoCL and Intel's runtime,
keeps the order.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import partial, reduce

from generator.frontend_py.definition import Definition
from generator.frontend_py.func import Func
from generator.frontend_py.nodes import Call, Expr, Op, Pixel, RVar, operands, parts
from generator.frontend_py.trees import same


def carried_last(func: Func, definition: Definition) -> tuple[Expr, ...]:
    """Return the values of a definition of `func` with such chains in this order. Equal parts of the definition are one
    object (`merged`).
    """
    if definition.domain is None:
        return definition.values
    uses = Counter(id(child) for node in parts(*definition.values) for child in operands(node))
    return _Order(func, definition, uses).of(definition.values)


@dataclass(frozen=True, slots=True)
class _Order:
    """`uses`: how often each part is an operand, by its id."""

    func: Func
    definition: Definition
    uses: Counter[int]

    def of(self, values: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Return `values` with chains in order."""
        done = dict[int, Expr]()
        for node in parts(*values):
            args = tuple(done[id(child)] for child in operands(node))
            changed = any(a is not b for a, b in zip(args, operands(node), strict=True))
            chain = self._chain(node)
            late = [one for one in chain if self._waits(one)]
            if late and list(map(id, late)) != list(map(id, chain[-len(late):])):
                assert isinstance(node, Op)
                early = [one for one in chain if not self._waits(one)]
                done[id(node)] = reduce(partial(_pair, node), (done[id(one)] for one in (*early, *late)))
            else:
                done[id(node)] = replace(node, args=args) if changed and isinstance(node, Call | Pixel | Op) else node
        return tuple(done[id(value)] for value in values)

    def _chain(self, node: Expr) -> list[Expr]:
        """Return the operands of a chain of minima or of maxima; none for other nodes."""
        if not isinstance(node, Op) or node.name not in ("min", "max"):
            return []
        nested = [_goes_on(node, one) and self.uses[id(one)] == 1 for one in node.args]
        return [inner for one, inside in zip(node.args, nested, strict=True)
                for inner in (self._chain(one) if inside else [one])]

    def _waits(self, one: Expr) -> bool:
        """Return whether an expression reads what only the previous iteration of the innermost loop computes."""
        return any(isinstance(node, Call) and node.func is self.func and self._moves(node) for node in parts(one))

    def _moves(self, read: Call) -> bool:
        """Return whether an element differs from the computed one along the innermost loop only."""
        different = [own for own, other in zip(self.definition.args, read.args, strict=True) if not same(own, other)]
        return bool(different) and all(self._is_innermost(own) for own in different)

    def _is_innermost(self, coordinate: Expr) -> bool:
        return any(isinstance(node, RVar) and node.domain is self.definition.domain and node.dim == 0
                   for node in parts(coordinate))


def _goes_on(node: Op, operand: Expr) -> bool:
    return isinstance(operand, Op) and (operand.name, operand.kind) == (node.name, node.kind)


def _pair(node: Op, first: Expr, second: Expr) -> Expr:
    return replace(node, args=(first, second))
