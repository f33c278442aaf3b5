"""Reductions inside of expressions: sum(e), maximum(e), ... over the RDom that `e` uses.

Internally each is a Func: its coordinates are the Vars of `e`, its update runs over the RDom. If `e` uses several
RDoms, sum(r, e) selects one; coordinates of the others become coordinates of that Func.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from generator.errors import InputError
from generator.frontend_py.domain import RDom, domains_of
from generator.frontend_py.func import Func, FuncRef
from generator.frontend_py.functions import select
from generator.frontend_py.nodes import Const, Expr, RVar, Var, arithmetic, as_expr, parts
from generator.frontend_py.trees import with_coordinates
from generator.frontend_py.types import INT32
from generator.frontend_py.where import here


def sum(*given: Any, name: str = "sum") -> Expr:
    """sum(e), sum(r, e): the sum of the values, in their type."""
    return _reduced("+", _Summed.of(name, given), 0)


def product(*given: Any, name: str = "product") -> Expr:
    """product(e), product(r, e): the product of the values, in their type."""
    return _reduced("*", _Summed.of(name, given), 1)


def maximum(*given: Any, name: str = "maximum") -> Expr:
    """maximum(e), maximum(r, e): the greatest value."""
    wanted = _Summed.of(name, given)
    return _reduced("max", wanted, wanted.value.type.least)


def minimum(*given: Any, name: str = "minimum") -> Expr:
    """minimum(e), minimum(r, e): the least value."""
    wanted = _Summed.of(name, given)
    return _reduced("min", wanted, wanted.value.type.greatest)


def argmax(*given: Any, name: str = "argmax") -> FuncRef:
    """argmax(e), argmax(r, e): the coordinates of the first greatest value and the value, a tuple (x, ..., value)."""
    return _found(">", _Summed.of(name, given))


def argmin(*given: Any, name: str = "argmin") -> FuncRef:
    """argmin(e), argmin(r, e): the coordinates of the first least value and the value, as a tuple (x, ..., value)."""
    return _found("<", _Summed.of(name, given))


@dataclass(frozen=True, slots=True, eq=False)
class _Summed:
    """A reduction over `domain`: of `value` at `places`, used at `args` (Vars, and coordinates of other RDoms)."""

    name: str
    domain: RDom
    value: Expr
    places: tuple[Var, ...]
    args: tuple[Expr, ...]

    @staticmethod
    def of(name: str, given: tuple[Any, ...]) -> _Summed:
        """Parse (e), (r, e), (e, name) or (r, e, name). Raises InputError unless the RDom is unique."""
        if given and isinstance(given[-1], str):
            given, name = given[:-1], given[-1]
        if len(given) not in (1, 2) or (len(given) == 2 and not isinstance(given[0], RDom)):
            raise InputError(f"use {name}(expression) or {name}(RDom, expression)", here())
        value = as_expr(given[-1])
        domains = domains_of([value])
        if len(given) == 1 and len(domains) != 1:
            raise InputError(
                f"{name}(...) needs an expression with one RDom, this one has {len(domains)}; say which one: "
                f"{name}(r, expression)",
                here(),
            )
        domain = given[0] if len(given) == 2 else domains[0]
        if not any(domain is d for d in domains):
            raise InputError(f"{name}(...): the expression does not use RDom `{domain.name}`", here())
        args: dict[object, Expr] = {}
        places: dict[object, Var] = {}
        for node in parts(value, *(() if domain.predicate is None else (domain.predicate,))):
            if isinstance(node, Var) or (isinstance(node, RVar) and node.domain is not domain):
                key = node.key if isinstance(node, Var) else (id(node.domain), node.dim)
                args.setdefault(key, node)
                places.setdefault(key, node if isinstance(node, Var) else Var())
        free = with_coordinates(value, {k: v for k, v in places.items() if isinstance(k, tuple)})
        return _Summed(name, domain, free, tuple(places.values()), tuple(args.values()))


def _reduced(op: str, wanted: _Summed, start: float) -> Expr:
    func, at = Func(wanted.name), wanted.places
    func[at] = Const(wanted.value.type, start)
    func[at] = arithmetic(op, func[at], wanted.value)
    return func[wanted.args].as_expr()


def _found(op: str, wanted: _Summed) -> FuncRef:
    func, at, domain, value = Func(wanted.name), wanted.places, wanted.domain, wanted.value
    start = value.type.least if op == ">" else value.type.greatest
    func[at] = (*(Const(INT32, 0) for _ in domain.ranges), Const(value.type, start))
    best = func[at][len(domain.ranges)]
    better = value > best if op == ">" else value < best
    func[at] = tuple(select(better, new, func[at][k])
                     for k, new in enumerate((*(RVar(domain, d) for d in range(len(domain.ranges))), value)))
    return func[wanted.args]
