"""The exact check of generated loops: they run the right instances, each once, in its block and thread.

isl's AST generation simplifies conditions aggressively; as of isl 0.27 it loses instances of some domains with several
strides. So the loops are read back as sets and compared with the expected ones, and the numbers at which fill points
are entered (`entries.py`) with those of the instances below.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import islpy as isl

from generator.errors import IllegalPlan
from generator.expr import Binary, Call, Cast, Expr, Int, Name, Select, Unary, map_children
from generator.linear import simplify
from generator.nest import For, If, Instance, Node
from generator.polyhedral.dependences.model import maps
from generator.polyhedral.kit.affine import Iteration, affine, condition, loop_domain, stays_false, subtract, top
from generator.polyhedral.kit.tree import multi
from generator.polyhedral.memory.entries import Entries, check_entered
from generator.polyhedral.memory.loop_values import LoopValues

Entered: TypeAlias = Mapping[str, tuple[Expr, ...]]
"""Arguments of instances, by name."""


class MissingLoop(IllegalPlan):
    """An instance runs outside of a loop that its generated code relies on."""


def check_instances(
    nodes: tuple[Node, ...],
    bounds: Sequence[tuple[str, int, int]],
    expected: Any,
    loops: Mapping[str, tuple[str, ...]] | None = None,
    inner: LoopValues | None = None,
    entries: Entries | None = None,
) -> None:
    """Compare the instances that `nodes` run with `expected`, and the tiles whose copies they use with `entries`.

    The loops are read as affine expressions, like the user's C. `bounds`: the parameters (host iterators, block and
    thread indices) with their least and greatest value. `expected`: the isl UnionMap from instances to the values of
    the parameters at which they run, followed by those of the `loops` of the statement (outermost first), if it has
    any. Other instances (copies) are ignored. `inner`: the intended values of the other loops' iterators; if these are
    right, which is not required, the check is much faster.

    Raises:
        IllegalPlan: an instance is missing, is too many, runs at other indices, runs twice, or uses other copies.
        MissingLoop: one of `loops` is not around its statement.
    """
    # otherwise repeated intersections would repeat the same integer divisions
    wanted = {m.get_tuple_name(isl.dim_type.in_): m.compute_divs() for m in maps(expected)}
    runs: dict[str, list[_Run]] = {name: [] for name in wanted}
    for instance, at, entered in _executed(nodes, _start(bounds), {}):
        if instance.name in wanted:
            if missing := set((loops or {}).get(instance.name, ())) - set(at.iterators):
                raise MissingLoop(f"isl made no loop {min(missing)} around {instance.name}")
            run = _Run(at.iterators, _run_at(instance, at))
            runs[instance.name].append(run)
            check_entered(instance.name, run.places, entered, at, (entries or {}).get(instance.name, {}))
    for name, places in wanted.items():
        kept = (*(name for name, _, _ in bounds), *(loops or {}).get(name, ()))
        values = {loop: _coordinate(places, k) for k, loop in enumerate(kept)}
        for loop, value in (inner or {}).get(name, {}).items():
            values.setdefault(loop, value)
        if not _run_in_place(runs[name], places.domain(), values):
            _compare(name, runs[name], places, kept)


@dataclass(frozen=True, slots=True)
class _Run:
    """The isl Map from the instances that one node runs to the values of what is around it (`iterators`)."""

    iterators: tuple[str, ...]
    places: Any


def _run_in_place(runs: Sequence[_Run], domain: Any, values: Mapping[str, Any]) -> bool:
    """Return whether the runs are those of `domain`, each once, with the iterators at `values` (isl Maps from
    instances).

    Iterators that are known functions of the instance need not be eliminated.
    """
    left = domain
    for run in runs:
        if not values.keys() >= set(run.iterators):
            return False
        place = isl.Map.from_domain(domain)
        for iterator in run.iterators:
            place = place.flat_range_product(values[iterator])
        if not run.places.reset_tuple_id(isl.dim_type.out).is_subset(place):
            return False
        instances = run.places.intersect(place).domain().coalesce()
        if not instances.is_subset(left):
            return False
        left = left.subtract(instances)
    return bool(left.is_empty())


def _coordinate(values: Any, position: int) -> Any:
    """Return one of the values of an isl Map."""
    count = values.dim(isl.dim_type.out)
    return values.project_out(isl.dim_type.out, position + 1, count - position - 1).project_out(
        isl.dim_type.out, 0, position
    )


def _compare(name: str, runs: Sequence[_Run], expected: Any, kept: Sequence[str]) -> None:
    """Compare runs for any values of the iterators of inner loops. Raises IllegalPlan."""
    found = None
    for run in runs:
        places = run.places
        if not places.is_single_valued():
            raise IllegalPlan(f"the generated loops run an instance of {name} twice")
        for position in reversed(range(len(run.iterators))):
            if run.iterators[position] not in kept:
                places = places.project_out(isl.dim_type.out, position, 1)
        if found is not None and not found.is_disjoint(places):
            raise IllegalPlan(f"the generated loops run an instance of {name} twice")
        found = places if found is None else found.union(places)
    if found is None or not expected.is_equal(found):
        raise IllegalPlan(
            f"the generated loops do not run what they should of {name}; use other sizes or another schedule"
        )


def values_at(members: Sequence[Any], domain: Any) -> Any:
    """Return the isl UnionMap from the instances of `domain` to the values of `members`."""
    if not members:
        return isl.UnionMap.from_domain(domain)
    return isl.UnionMap.from_multi_union_pw_aff(multi(members)).intersect_domain(domain)


def _start(bounds: Sequence[tuple[str, int, int]]) -> Iteration:
    """Return the box of parameter values."""
    at = top()
    for name, low, high in bounds:
        at = at.enter(name)
        last = len(at.iterators) - 1
        domain = at.domain.lower_bound_val(isl.dim_type.set, last, isl.Val(low))
        at = Iteration(at.iterators, domain.upper_bound_val(isl.dim_type.set, last, isl.Val(high)))
    return at


def _executed(nodes: tuple[Node, ...], at: Iteration,
              entered: dict[str, tuple[Expr, ...]]) -> Iterator[tuple[Instance, Iteration, Entered]]:
    """Yield every instance node with the iterations in which it is reached, and the instances that have been `entered`
    there before, in nodes that are around it as well.
    """
    entered = dict(entered)
    for node in nodes:
        match node:
            case For(iterator, start, test, step, body):
                yield from _executed(body, _inside(at.enter(iterator), floors(start), floors(test), step), entered)
            case If(test, then, otherwise):
                region = condition(floors(test), at)
                yield from _executed(then, at.restrict(region), entered)
                yield from _executed(otherwise, subtract(at, region), entered)
            case Instance(name, arguments):
                yield node, at, entered
                entered[name] = tuple(map(floors, arguments))
            case _:
                raise AssertionError("statements are filled in later")


def _inside(at: Iteration, start: Expr, test: Expr, step: int) -> Iteration:
    """Return the iterations of a generated loop, whose iterator is the last one of `at`."""
    test = _each_bound(test)
    if step != 1 or not stays_false(test, at.iterators[-1], step):
        return loop_domain(at, start, test, step, quick=True)
    begun = _each_bound(Binary("<=", start, Name(at.iterators[-1])))
    return at.restrict(condition(begun, at)).restrict(condition(test, at))


def _each_bound(test: Expr) -> Expr:
    """Return `i < min(a, b)` as `i < a && i < b` (`max(a, b) <= i` likewise), which gives one set without pieces."""
    match test:
        case Binary("<" | "<=" as op, left, Binary("min", one, other)):
            return Binary("&&", _each_bound(Binary(op, left, one)), _each_bound(Binary(op, left, other)))
        case Binary("<" | "<=" as op, Binary("max", one, other), right):
            return Binary("&&", _each_bound(Binary(op, one, right)), _each_bound(Binary(op, other, right)))
        case Binary("&&", left, right):
            return Binary("&&", _each_bound(left), _each_bound(right))
        case _:
            return test


def floors(expr: Expr) -> Expr:
    """Return `expr` with floor(a / n) for `a < 0 ? -((n - 1 - a) / n) : a / n`, as generated for divisions by n > 0.

    The value is the same, without pieces.
    """
    inside = map_children(expr, floors)
    match inside:
        case Select(Binary("<", a, Int(0)), Unary("-", Binary("/", up, Int(n))), Binary("/", down, Int(same))):
            if n == same and n > 0 and a == down and simplify(Binary("+", a, up)) == Int(n - 1):
                return Call("floor", (Binary("/", Cast("double", a), Cast("double", Int(n))),))
    return inside


def _run_at(instance: Instance, at: Iteration) -> Any:
    """Return the isl Map from instances to the iterations (preceded by the parameters) that run them."""
    run = isl.Map.from_domain(at.domain)
    for argument in instance.arguments:
        run = run.flat_range_product(isl.Map.from_pw_aff(affine(floors(argument), at)))
    return run.intersect_domain(at.domain).set_tuple_name(isl.dim_type.out, instance.name).reverse()
