"""Differences of C's unsigned arithmetic from the integers: `i - 1` wraps around for `unsigned i` at 0.

Sums and products may leave the range of their type and come back (`i - 1 + 1`); only the value that is compared,
divided, widened or used as a subscript counts. Types are those of C11 6.3.1.8 with a 32-bit int and a 64-bit long.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import islpy as isl

from generator.arithmetic import FLOATING, integer_limits
from generator.expr import Binary, Cast, Expr, Select, Unary, children

_RANK = ("int", "unsigned int", "long", "unsigned long")
_COMPARE = frozenset(["<", "<=", ">", ">=", "==", "!="])
ToAffine = Callable[[Expr], Any]


def wrapped(expr: Expr, affine: ToAffine, condition: ToAffine) -> Any:
    """Return the isl Set of points at which the C value of `expr` differs from its affine form; None if there are none.

    `affine` and `condition` return the isl PwAff and the isl Set of a subexpression.
    """
    found = _Wrapping(affine, condition)
    return found.used(expr, found.kind(expr))


class _Wrapping:
    """Collects the points of one expression; None is the empty set."""

    def __init__(self, affine: ToAffine, condition: ToAffine) -> None:
        self.affine, self.condition = affine, condition
        self._kinds: dict[int, tuple[Expr, str]] = {}
        self._inside: dict[int, tuple[Expr, Any]] = {}

    def kind(self, expr: Expr) -> str:
        """Return the C type of an integer expression, after promotion."""
        if id(expr) not in self._kinds:
            self._kinds[id(expr)] = expr, self._kind(expr)
        return self._kinds[id(expr)][1]

    def _kind(self, expr: Expr) -> str:
        match expr:
            case Cast(kind, _):
                return kind if kind in _RANK else "int"
            case Unary("-" | "+" | "~", operand):
                return self.kind(operand)
            case Binary(op, left, right) if op not in _COMPARE and op not in ("&&", "||"):
                return self.common(left, right)
            case Select(_, then, otherwise):
                return self.common(then, otherwise)
            case _:
                return "int"

    def common(self, left: Expr, right: Expr) -> str:
        """Return the type in which C computes with both."""
        return max(self.kind(left), self.kind(right), key=_RANK.index)

    def used(self, expr: Expr, kind: str) -> Any:
        """Return where the value of `expr`, converted to type `kind`, is used and wrong."""
        found = self.inside(expr)
        if isinstance(expr, Cast) and expr.type not in FLOATING:  # real numbers have room for every `int`
            found = _union(found, self.outside(expr.operand, expr.type))
        for checked in {self.kind(expr), kind}:
            if checked.startswith("unsigned"):
                found = _union(found, self.outside(expr, checked))
        return found

    def inside(self, expr: Expr) -> Any:
        """Return where a part of `expr` is wrong in a way that sums and products do not undo."""
        if id(expr) not in self._inside:
            self._inside[id(expr)] = expr, self._wrong_inside(expr)
        return self._inside[id(expr)][1]

    def _wrong_inside(self, expr: Expr) -> Any:
        match expr:
            case Binary("&&" | "||" as op, left, right):
                reached = self.condition(left if op == "&&" else Unary("!", left))
                return _union(self.used(left, "int"), _within(self.used(right, "int"), reached))
            case Binary(op, left, right) if op in _COMPARE or op in ("/", "%"):
                common = self.common(left, right)
                return _union(self.used(left, common), self.used(right, common))
            case Select(test, then, otherwise):
                found = _union(self.used(test, "int"), _within(self.inside(then), self.condition(test)))
                return _union(found, _within(self.inside(otherwise), self.condition(Unary("!", test))))
            case Cast(kind, operand) if kind in _RANK and _RANK.index(kind) > _RANK.index(self.kind(operand)):
                return self.used(operand, "int")  # widened: a wrapped value stays wrapped
            case Binary(_, left, right) if self.common(left, right).endswith("long"):
                return _union(self.widened(left), self.widened(right))
            case _:
                found = None
                for child in children(expr):
                    found = _union(found, self.inside(child))
                return found

    def widened(self, operand: Expr) -> Any:
        """Return the same as `inside` for an operand that is converted to 64 bits."""
        return self.inside(operand) if self.kind(operand).endswith("long") else self.used(operand, "int")

    def outside(self, expr: Expr, kind: str) -> Any:
        """Return where the value of `expr` does not fit into type `kind`."""
        value = self.affine(expr)
        space = value.domain().space
        limits = [isl.PwAff.from_aff(isl.Aff.zero_on_domain(isl.LocalSpace.from_space(space))
                                     .set_constant_val(isl.Val(str(limit)))) for limit in integer_limits(kind)]
        return value.lt_set(limits[0]).union(value.gt_set(limits[1]))


def _union(first: Any, second: Any) -> Any:
    return second if first is None else first if second is None else first.union(second)


def _within(found: Any, region: Any) -> Any:
    return None if found is None else found.intersect(region)
