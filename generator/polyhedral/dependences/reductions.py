"""Reductions: statements whose own updates of an element may run in any order, and the order that remains.

`x[f(i)] = x[f(i)] op e(i)` with an associative and commutative `op` and an `e` that reads nothing that the statement
writes is a reduction: the dependences between its own updates are the only constraint on their order (Pugh & Wonnacott,
"Static analysis of upper and lower bounds on dependences and parallelism", TOPLAS 1994, section 7). `f` may depend on
data (a histogram) that the statement does not write.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from typing import Any, Literal, TypeAlias

import islpy as isl

from generator.arithmetic import FLOATING, c_type, common_type
from generator.expr import Binary, Call, Cast, Expr, Load, Name, Select, Unary, children, loads_of, map_children
from generator.polyhedral.dependences.model import maps, model
from generator.polyhedral.kit.parsed import map_of
from generator.program import ELEMENT_BYTES, Assignment, Program, Statement

Operator: TypeAlias = Literal["+", "*", "min", "max"]

# Functions with the element types that they do not round.
_MINIMA: dict[str, tuple[Operator, tuple[str, ...]]] = {
    "fmin": ("min", ("float", "double")), "fminf": ("min", ("float",)),
    "fmax": ("max", ("float", "double")), "fmaxf": ("max", ("float",))}

_COMPOUND: dict[str, tuple[Operator, bool]] = {"+": ("+", False), "-": ("+", True), "*": ("*", False)}


@dataclass(frozen=True, slots=True)
class Part:
    """An operand of an update; `negative` if it is subtracted."""

    expr: Expr
    negative: bool = False


@dataclass(frozen=True, slots=True)
class Update:
    """`if (guard) target = target operator contribution`; `read`: the number of the access that reads the target."""

    operator: Operator
    contribution: Expr
    read: int
    guard: Expr | None = None


def update_of(program: Program, statement: Statement) -> Update | None:
    """Return `statement` as an update of its target; None if it does not have this form.

    `x += e`, `x = e + x - g`, `x -= e` are sums, `x *= e` is a product; `x = fmin(x, e)`, `x = x < e ? x : e` and `if
    (e < x) x = e` are minima. The contribution is computed in the type of the target: `-e` and `e - g` of unsigned
    numbers would be wrong when added to a `long` or a `double`. An integer to which real numbers are added is truncated
    after every update, so it is not a reduction.
    """
    types = {array.name: array.type for array in program.arrays}
    body, guard = _comparing(statement.body)
    found = _plain_update(body, types)
    return found if found is None or guard is None else replace(found, guard=guard)


def _comparing(body: Assignment) -> tuple[Assignment, Expr | None]:
    """Return the assignment without its guard, and the guard; `if (e < x) x = e` becomes `x = e < x ? e : x`."""
    conditions = list(_conjuncts(body.guard)) if body.guard is not None else []
    for condition in conditions if not body.op else ():
        match condition:
            case Binary("<" | "<=" | ">" | ">=", left, right):
                own = [side for side in (left, right) if _same(side, body.target)]
                other = [side for side in (left, right) if not _same(side, body.target)]
                if len(own) == 1 and _bare(other[0]) == _bare(body.value):
                    chosen = replace(body, value=Select(condition, body.value, own[0]), guard=None)
                    rest = [one for one in conditions if one is not condition]
                    return chosen, reduce(lambda one, two: Binary("&&", one, two), rest) if rest else None
            case _:
                pass
    return replace(body, guard=None), body.guard


def _conjuncts(condition: Expr) -> Iterator[Expr]:
    """Yield the conditions that must all hold."""
    match condition:
        case Binary("&&", left, right):
            yield from _conjuncts(left)
            yield from _conjuncts(right)
        case _:
            yield condition


def _plain_update(body: Assignment, types: Mapping[str, str]) -> Update | None:
    """Return an assignment without a guard as an update."""
    target, value = body.target, body.value
    if body.op in _COMPOUND:
        operator, negative = _COMPOUND[body.op]
        return _update(operator, [Part(value, negative)], target.access - 1, types[target.array], types)
    for operator, parts in _readings(value, target, types[target.array]) if not body.op else ():
        own = [p.expr for p in parts if _same(p.expr, target) and not p.negative]
        if len(own) == 1 and isinstance(own[0], Load):
            rest = [p for p in parts if p.expr is not own[0]]
            return _update(operator, rest, own[0].access, types[target.array], types)
    return None


def _update(operator: Operator, parts: list[Part], read: int, kind: str, types: Mapping[str, str]) -> Update | None:
    """Return the update of an element of type `kind` by `parts`; None if its result depends on the order of updates."""
    result: Expr | None = None
    for part in parts:
        given = c_type(part.expr, types)
        if given in FLOATING and kind not in FLOATING:
            return None
        if operator in ("min", "max") and kind not in FLOATING and kind not in (given, common_type(kind, given)):
            return None  # compared in another type than it is stored
        value = part.expr if given in FLOATING or given == kind else Cast(kind, part.expr)
        if result is None:
            result = Unary("-", value) if part.negative else value
        else:
            result = Binary("-" if part.negative else operator, result, value)
    return None if result is None else Update(operator, result, read)


def _readings(value: Expr, target: Load, kind: str) -> Iterator[tuple[Operator, list[Part]]]:
    """Yield the top operator of `value` with its operands, down to `target`, which has type `kind`."""
    match value:
        case Binary("+" | "-", _, _):
            yield "+", _terms(value, target)
        case Binary("*", _, _):
            yield "*", _factors(value, target)
        case Call(function, (left, right)) if kind in _MINIMA.get(function, ("", ()))[1]:
            yield _MINIMA[function][0], [Part(left), Part(right)]
        case Select(Binary("<" | "<=" | ">" | ">=" as op, a, b), then, otherwise):
            if {_bare(a), _bare(b)} == {_bare(then), _bare(otherwise)} and _bare(a) != _bare(b):
                smaller = (op in ("<", "<=")) == (_bare(then) == _bare(a))
                yield ("min" if smaller else "max"), [Part(then), Part(otherwise)]


def _terms(value: Expr, target: Load) -> list[Part]:
    """Return `a - b + target` as `a - b`, `target`: a sum without it may have a type that wraps around."""
    if isinstance(value, Binary) and value.op in ("+", "-") and _holds(value, target):
        if value.op == "-":
            return [*_terms(value.left, target), Part(value.right, True)]
        return [*_terms(value.left, target), *_terms(value.right, target)]
    return [Part(value)]


def _factors(value: Expr, target: Load) -> list[Part]:
    if isinstance(value, Binary) and value.op == "*" and _holds(value, target):
        return [*_factors(value.left, target), *_factors(value.right, target)]
    return [Part(value)]


def _holds(expr: Expr, target: Load) -> bool:
    return _same(expr, target) or any(_holds(child, target) for child in children(expr))


def _same(expr: Expr, target: Load) -> bool:
    return isinstance(expr, Load) and _bare(expr) == _bare(target)


def _bare(expr: Expr) -> Expr:
    """Return `expr` without the numbers of its accesses."""
    stripped = map_children(expr, _bare)
    return Load(stripped.array, stripped.index) if isinstance(stripped, Load) else stripped


@lru_cache(maxsize=256)
def reducible(program: Program) -> tuple[str, ...]:
    """Return the names of the statements that update an element more than once and may do so in any order, sorted."""
    return tuple(sorted(s.name for s in program.statements if _is_reduction(program, s)))


def parallel_reductions(program: Program, strict_float: bool) -> tuple[str, ...]:
    """Return the reductions that a search may run in parallel: with atomic types; without floats if `strict_float`."""
    def offered(name: str) -> bool:
        kind = program.array(program.statement(name).body.target.array).type
        return ELEMENT_BYTES[kind] >= 4 and not (strict_float and kind in ("float", "double"))

    return tuple(name for name in reducible(program) if offered(name))


def sums(program: Program, reductions: Iterable[str]) -> frozenset[str]:
    """Return those of `reductions` that add (or multiply) floating-point numbers in any order of all terms.

    This excludes sums of unrounded sums: `x += a - b` could become `(x + a) - b`, where elements that cancel absorb the
    rest. Products have rounding errors of that size themselves.
    """
    found = []
    for name in reductions:
        statement = program.statement(name)
        update = update_of(program, statement)
        if update and update.operator in ("+", "*") and program.array(statement.body.target.array).type in FLOATING:
            lets = {variable.name: value for variable, value in statement.body.lets}
            found += [name] if _of_products(update.contribution, lets) else []
    return frozenset(found)


def _of_products(expr: Expr, lets: Mapping[str, Expr], inside: bool = False) -> bool:
    """Return whether `expr` is not a sum, or one (`inside`) of products and quotients only. `lets`: the values of
    names.
    """
    match expr:
        case Name(name) if name in lets:
            return _of_products(lets[name], lets, inside)
        case Unary(_, operand) | Cast(_, operand):
            return _of_products(operand, lets, inside)
        case Binary("+" | "-", left, right):
            return _of_products(left, lets, True) and _of_products(right, lets, True)
        case Binary("*" | "/", _, _):
            return True
        case _:
            return not inside


def _is_reduction(program: Program, statement: Statement) -> bool:
    update, target = update_of(program, statement), statement.body.target
    seen = (
        (update.contribution, *target.index, *((update.guard,) if update.guard is not None else ()),
         *(value for _, value in statement.body.lets)) if update else ()
    )
    if update is None or any(load.array == target.array for expr in seen for load in loads_of(expr)):
        return False  # it would see the result of a part of the updates
    own = _between(model(program).dependences, statement.name, statement.name)
    if own is None:
        return False
    writes = map_of(statement.accesses[target.access].relation)  # of all elements if data determine which one
    return bool(own.is_subset(writes.apply_range(writes.reverse())))


def _between(dependences: Any, source: str, sink: str) -> Any:
    """Return the isl Map of dependences from one statement to another; None if there are none."""
    for relation in maps(dependences):
        if (relation.get_tuple_name(isl.dim_type.in_), relation.get_tuple_name(isl.dim_type.out)) == (source, sink):
            return relation
    return None


@dataclass(frozen=True, slots=True, eq=False)
class Order:
    """The constraints of a schedule: all dependences, and the flow among them."""

    dependences: Any
    flow: Any


@lru_cache(maxsize=256)
def order_of(program: Program, reductions: tuple[str, ...]) -> Order:
    """Return the dependences that remain if the statements `reductions` may update in any order.

    A value-based dependence names only the last update before a read; if the updates are reordered, all of them must
    come before it. So every access of another statement to an updated element stays ordered with all updates.
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
        own = isl.UnionMap.from_map(map_of(statement.accesses[statement.body.target.access].relation))
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
    """Return the isl UnionMap between different instances of statement `name` that update the same element."""
    statement = program.statement(name)
    writes = map_of(statement.accesses[statement.body.target.access].relation)
    pairs = writes.apply_range(writes.reverse())
    return isl.UnionMap.from_map(pairs.subtract(isl.Map.identity(pairs.get_space())))
