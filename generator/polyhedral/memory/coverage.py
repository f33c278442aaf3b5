"""The exact check of generated loops: they run the instances they should, each once, in its block and thread.

isl's AST generation simplifies conditions aggressively; as of isl 0.27 it loses instances of some domains with
several strides. So the loops are read back as sets and compared with what was asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import islpy as isl

from generator.errors import IllegalPlan
from generator.expr import Binary, Expr
from generator.nest import For, If, Instance, Node
from generator.polyhedral.dependences.model import maps
from generator.polyhedral.kit.affine import Iteration, affine, condition, loop_domain, subtract, top
from generator.polyhedral.kit.tree import multi


class MissingLoop(IllegalPlan):
    """An instance runs outside of a loop that its generated code relies on."""


def check_instances(nodes: tuple[Node, ...], bounds: Sequence[tuple[str, int, int]], expected: Any,
                    loops: Mapping[str, tuple[str, ...]] | None = None) -> None:
    """Compare the instances that `nodes` run with `expected`.

    The loops are read as affine expressions, the same way as the user's C. `bounds` are the parameters (host
    iterators, block and thread indices) with their least and greatest value; `expected` is the isl UnionMap from
    instances to the values of the parameters at which they run, followed by those of the `loops` of the statement
    (outermost first), where it has any. Other instances (copies) are ignored.

    Raises:
        IllegalPlan: an instance is missing, is too many, runs at other indices, or runs twice.
        MissingLoop: one of `loops` is not around its statement.
    """
    wanted = {m.get_tuple_name(isl.dim_type.in_): m for m in maps(expected)}
    found: dict[str, Any] = {}
    for instance, at in _executed(nodes, _start(bounds)):
        if instance.name not in wanted:
            continue
        run = _run_at(instance, at)
        if not run.is_single_valued():
            raise IllegalPlan(f"the generated loops run an instance of {instance.name} twice")
        if missing := set((loops or {}).get(instance.name, ())) - set(at.iterators):
            raise MissingLoop(f"isl made no loop {min(missing)} around {instance.name}")
        kept = {*(name for name, _, _ in bounds), *(loops or {}).get(instance.name, ())}
        places = run
        for position in reversed(range(len(at.iterators))):
            if at.iterators[position] not in kept:
                places = places.project_out(isl.dim_type.out, position, 1)
        before = found.get(instance.name)
        if before is not None and not before.is_disjoint(places):
            raise IllegalPlan(f"the generated loops run an instance of {instance.name} twice")
        found[instance.name] = places if before is None else before.union(places)
    for name, places in wanted.items():
        if name not in found or not places.is_equal(found[name]):
            raise IllegalPlan(f"the generated loops do not run what they should of {name}; use other sizes or another "
                              "schedule")


def values_at(members: Sequence[Any], domain: Any) -> Any:
    """The isl UnionMap from the instances of `domain` to the values of `members`."""
    if not members:
        return isl.UnionMap.from_domain(domain)
    return isl.UnionMap.from_multi_union_pw_aff(multi(members)).intersect_domain(domain)


def _start(bounds: Sequence[tuple[str, int, int]]) -> Iteration:
    """The box of parameter values."""
    at = top()
    for name, low, high in bounds:
        at = at.enter(name)
        last = len(at.iterators) - 1
        domain = at.domain.lower_bound_val(isl.dim_type.set, last, isl.Val(low))
        at = Iteration(at.iterators, domain.upper_bound_val(isl.dim_type.set, last, isl.Val(high)))
    return at


def _executed(nodes: tuple[Node, ...], at: Iteration) -> Iterator[tuple[Instance, Iteration]]:
    """Every instance node with the iterations in which it is reached."""
    for node in nodes:
        match node:
            case For(iterator, start, test, step, body):
                yield from _executed(body, loop_domain(at.enter(iterator), start, _each_bound(test), step, quick=True))
            case If(test, then, otherwise):
                region = condition(test, at)
                yield from _executed(then, at.restrict(region))
                yield from _executed(otherwise, subtract(at, region))
            case Instance():
                yield node, at
            case _:
                raise AssertionError("statements are filled in later")


def _each_bound(test: Expr) -> Expr:
    """`i < min(a, b)` as `i < a && i < b`: the same, and one set without pieces."""
    match test:
        case Binary("<" | "<=" as op, left, Binary("min", one, other)):
            return Binary("&&", _each_bound(Binary(op, left, one)), _each_bound(Binary(op, left, other)))
        case _:
            return test


def _run_at(instance: Instance, at: Iteration) -> Any:
    """The isl Map from instances to the iterations (with the parameters in front) that run them."""
    run = isl.Map.from_domain(at.domain)
    for argument in instance.arguments:
        run = run.flat_range_product(isl.Map.from_pw_aff(affine(argument, at)))
    return run.intersect_domain(at.domain).set_tuple_name(isl.dim_type.out, instance.name).reverse()
