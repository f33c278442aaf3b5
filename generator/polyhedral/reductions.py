"""Reductions: statements whose own updates of an element may run in any order, and what then still has an order.

`x[f(i)] = x[f(i)] op e(i)` with an associative and commutative `op` and an `e` that reads nothing that the statement
writes is a reduction: the dependences between its own updates are the only thing that orders them (Pugh & Wonnacott,
"Static analysis of upper and lower bounds on dependences and parallelism", TOPLAS 1994, section 7).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import islpy as isl

from generator.expr import Binary, Call, Expr, Load, Select, Unary, children, map_children
from generator.polyhedral.model import Model, maps, model
from generator.program import ELEMENT_BYTES, Program, Statement

Operator: TypeAlias = Literal["+", "*", "min", "max"]

_MINIMA = {"fmin": "min", "fminf": "min", "fmax": "max", "fmaxf": "max", "min": "min", "max": "max"}


@dataclass(frozen=True, slots=True)
class Update:
    """`target = target operator contribution`; `read` numbers the access that reads the target."""

    operator: Operator
    contribution: Expr
    read: int


def update_of(statement: Statement) -> Update | None:
    """`statement` as an update of its target; None when it has no such form.

    `x += e`, `x = e + x - g`, `x -= e` are sums, `x *= e` a product, `x = fmin(x, e)` and `x = x < e ? x : e` minima.
    """
    body = statement.body
    if body.guard is not None:
        return None
    target, value = body.target, body.value
    if body.op:
        found = {"+": ("+", value), "-": ("+", Unary("-", value)), "*": ("*", value)}.get(body.op)
        return Update(found[0], found[1], target.access - 1) if found else None  # type: ignore[arg-type]
    for operator, parts in _readings(value):
        own = [p for p in parts if isinstance(p, Load) and (p.array, p.index) == (target.array, target.index)]
        if len(own) == 1:
            rest = [p for p in parts if p is not own[0]]
            return Update(operator, _joined(operator, rest), own[0].access)
    return None


def _readings(value: Expr) -> Iterator[tuple[Operator, list[Expr]]]:
    """The operator at the top of `value` with its operands, flattened."""
    match value:
        case Binary("+" | "-", _, _):
            yield "+", _terms(value)
        case Binary("*", _, _):
            yield "*", _factors(value)
        case Call(function, (left, right)) if function in _MINIMA:
            yield _MINIMA[function], [left, right]  # type: ignore[misc]
        case Select(Binary("<" | "<=" | ">" | ">=" as op, a, b), then, otherwise):
            if {_bare(a), _bare(b)} == {_bare(then), _bare(otherwise)} and _bare(a) != _bare(b):
                smaller = (op in ("<", "<=")) == (_bare(then) == _bare(a))
                yield ("min" if smaller else "max"), [then, otherwise]


def _terms(value: Expr) -> list[Expr]:
    match value:
        case Binary("+", left, right):
            return [*_terms(left), *_terms(right)]
        case Binary("-", left, right):
            return [*_terms(left), Unary("-", right)]
        case _:
            return [value]


def _factors(value: Expr) -> list[Expr]:
    if isinstance(value, Binary) and value.op == "*":
        return [*_factors(value.left), *_factors(value.right)]
    return [value]


def _joined(operator: Operator, parts: list[Expr]) -> Expr:
    result = parts[0]
    for part in parts[1:]:
        result = (Binary("-", result, part.operand) if isinstance(part, Unary) and part.op == "-"
                  else Binary(operator, result, part))
    return result


def _bare(expr: Expr) -> Expr:
    """`expr` without the numbers of its accesses."""
    stripped = map_children(expr, _bare)
    return Load(stripped.array, stripped.index) if isinstance(stripped, Load) else stripped


@lru_cache(maxsize=16)
def reducible(program: Program) -> tuple[str, ...]:
    """Names of the statements that update an element more than once and may do so in any order, sorted."""
    return tuple(sorted(s.name for s in program.statements if _is_reduction(s, model(program))))


def parallel_reductions(program: Program, strict_float: bool) -> tuple[str, ...]:
    """The reductions that a search may run in parallel: of types with atomic updates; no floats if `strict_float`."""
    def offered(name: str) -> bool:
        kind = program.array(program.statement(name).body.target.array).type
        return ELEMENT_BYTES[kind] >= 4 and not (strict_float and kind in ("float", "double"))

    return tuple(name for name in reducible(program) if offered(name))


def _is_reduction(statement: Statement, facts: Model) -> bool:
    update = update_of(statement)
    if update is None or any(load.array == statement.body.target.array for load in _loads(update.contribution)):
        return False  # it would see what a part of the updates makes
    own = _between(facts.dependences, statement.name, statement.name)
    if own is None:
        return False
    writes = isl.Map(statement.accesses[statement.body.target.access].relation)
    if not writes.is_single_valued():
        return False
    return bool(own.is_subset(writes.apply_range(writes.reverse())))


def _loads(expr: Expr) -> Iterator[Load]:
    if isinstance(expr, Load):
        yield expr
    for child in children(expr):
        yield from _loads(child)


def _between(dependences: Any, source: str, sink: str) -> Any:
    """The isl Map of dependences from one statement to another; None for none."""
    for relation in maps(dependences):
        if (relation.get_tuple_name(isl.dim_type.in_), relation.get_tuple_name(isl.dim_type.out)) == (source, sink):
            return relation
    return None


@dataclass(frozen=True, slots=True, eq=False)
class Order:
    """What a schedule must respect: all dependences, and the flow among them."""

    dependences: Any
    flow: Any


@lru_cache(maxsize=64)
def order_of(program: Program, reductions: tuple[str, ...]) -> Order:
    """The dependences that are left when the statements `reductions` may update in any order.

    A value-based dependence names only the last update before a read; when the updates change places, all of them
    must come before it. So every access of another statement to an updated element stays ordered with all updates.
    """
    facts = model(program)
    if not reductions:
        return Order(facts.dependences, facts.flow)
    flow, every = _without_own(facts.flow, reductions), _without_own(facts.dependences, reductions)
    times = isl.Schedule(program.schedule).get_map().intersect_domain(facts.domain)
    earlier = times.lex_lt_union_map(times)  # x -> what runs after x
    accesses = facts.reads.union(facts.writes)
    for name in reductions:
        statement = program.statement(name)
        own = isl.UnionMap.from_map(isl.Map(statement.accesses[statement.body.target.access].relation))
        others = accesses.subtract_domain(own.domain())
        after = own.apply_range(others.reverse()).intersect(earlier)
        before = others.apply_range(own.reverse()).intersect(earlier)
        every = every.union(after).union(before)
    return Order(every.coalesce(), flow)


def _without_own(dependences: Any, names: Iterable[str]) -> Any:
    result = isl.UnionMap("{ }")
    for relation in maps(dependences):
        ends = (relation.get_tuple_name(isl.dim_type.in_), relation.get_tuple_name(isl.dim_type.out))
        if ends[0] != ends[1] or ends[0] not in names:
            result = result.union(isl.UnionMap.from_map(relation))
    return result


def updates_of_one_element(program: Program, name: str) -> Any:
    """The isl UnionMap between different instances of statement `name` that update the same element."""
    statement = program.statement(name)
    writes = isl.Map(statement.accesses[statement.body.target.access].relation)
    pairs = writes.apply_range(writes.reverse())
    return isl.UnionMap.from_map(pairs.subtract(isl.Map.identity(pairs.get_space())))
