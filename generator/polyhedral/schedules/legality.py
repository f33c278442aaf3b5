"""The exact check that a tree, with its blocks and threads, respects every dependence.

The tree is descended with the set of dependences whose two ends are still unordered. A band or a sequence orders some
of them; one ordered backwards is a violation. Inside a kernel nothing orders different threads: a dependence across
blocks or threads of one launch is a violation, and so is one that is still unordered at a leaf.
"""

from __future__ import annotations

from collections.abc import Mapping as MappingOf
from typing import Any, TypeAlias

import islpy as isl

from generator.errors import IllegalPlan
from generator.polyhedral.dependences.model import maps
from generator.polyhedral.kit.tree import Band, Fill, Launch, Leaf, Mapping, Sequence, Tree, multi

Tiles: TypeAlias = MappingOf[int, tuple[Any, ...]]
"""By number of a kernel that runs the tiles of a wavefront: the parallel numbers of its tiles."""


def check_host(tree: Tree, dependences: Any, tiles: Tiles) -> dict[int, Any]:
    """Return the dependences within one launch, per kernel number. Raises IllegalPlan."""
    match tree:
        case Launch(number):
            return {number: dependences}
        case Band(members=(total,), child=Launch(number)) if number in tiles:
            return {number: _in_tile(total, tiles[number], dependences)}
        case Band(members=members, child=child):
            return check_host(child, _after_band(members, dependences, "host loop"), tiles)
        case Sequence(filters, children):
            left: dict[int, Any] = {}
            for child, inner in zip(children, _split(filters, dependences, "launch order"), strict=True):
                left |= check_host(child, inner, tiles)
            return left
        case Leaf() | Mapping() | Fill():
            raise AssertionError("a host tree ends in launches")


def _in_tile(total: Any, parallel: tuple[Any, ...], dependences: Any) -> Any:
    """Return the dependences within one launch of a wavefront of tiles, whose numbers have the sum `total`.

    If no dependence decreases a number, equal sums mean that each number is equal, which isl handles far faster than
    the equality of two sums of floors.
    """
    last = total
    for member in parallel:
        last = last.sub(member)
    numbers = (*parallel, last)
    if all(dependences.lex_gt_at_multi_union_pw_aff(multi((number,))).is_empty() for number in numbers):
        return dependences.eq_at_multi_union_pw_aff(multi(numbers))
    return _after_band((total,), dependences, "host loop")


def check_kernel(tree: Tree, dependences: Any) -> None:
    """Raise IllegalPlan unless the threads of a launch of `tree` respect `dependences`.

    These are the dependences within the launch, none of which crosses threads (`check_threads`).
    """
    if dependences.is_empty():
        return
    match tree:
        case Leaf():
            raise _violation("nothing orders two dependent instances", dependences)
        case Band(members=members, child=child):
            check_kernel(child, _after_band(members, dependences, "loop"))
        case Mapping(child=child):
            check_kernel(child, dependences)
        case Sequence(filters, children):
            for child, inner in zip(children, _split(filters, dependences, "order of statements"), strict=True):
                check_kernel(child, inner)
        case Fill(child=child):
            check_kernel(child, dependences)
        case Launch():
            raise AssertionError("a kernel launches no kernel")


def check_threads(tree: Tree, dependences: Any) -> None:
    """Raise IllegalPlan if a dependence within a launch crosses blocks or threads.

    Needed in addition to `check_kernel`, because loops and sequences order only the instances of one thread.
    """
    for level in ("block", "thread"):
        members = indices(tree, level)
        if members:
            _require_same(members, dependences, level)


def indices(tree: Tree, level: str) -> tuple[Any, ...]:
    """Return the block or thread indices of each instance in `tree`, over all branches; () if it maps none."""
    match tree:
        case Leaf() | Launch():
            return ()
        case Mapping(level=here, members=members) if here == level:
            return members
        case Band(child=child) | Fill(child=child) | Mapping(child=child):
            return indices(child, level)
        case Sequence(filters, children):
            branches = [tuple(m.intersect_domain(part) for m in indices(child, level))
                        for part, child in zip(filters, children, strict=True)]
            result: list[Any] = []
            for branch in branches:
                for k, member in enumerate(branch):
                    result[k:k + 1] = [result[k].union_add(member) if k < len(result) else member]
            return tuple(result)


def _require_same(members: tuple[Any, ...], dependences: Any, level: str) -> None:
    crossing = dependences.subtract(dependences.eq_at_multi_union_pw_aff(multi(members)))
    if not crossing.is_empty():
        raise _violation(f"a dependence crosses {level}s of one launch", crossing)


def _after_band(members: tuple[Any, ...], dependences: Any, what: str) -> Any:
    """Return the dependences that the band leaves unordered."""
    partial = multi(members)
    backwards = dependences.lex_gt_at_multi_union_pw_aff(partial)
    if not backwards.is_empty():
        raise _violation(f"a {what} runs a dependence backwards", backwards)
    return dependences.eq_at_multi_union_pw_aff(partial)


def _split(filters: tuple[Any, ...], dependences: Any, what: str) -> list[Any]:
    """Return the dependences inside each part of a sequence."""
    inside = []
    for later, sink in enumerate(filters):
        arriving = dependences.intersect_range(sink)
        for source in filters[later + 1:]:
            backwards = arriving.intersect_domain(source)
            if not backwards.is_empty():
                raise _violation(f"the {what} runs a dependence backwards", backwards)
        inside.append(arriving.intersect_domain(sink))
    return inside


def _violation(what: str, dependences: Any) -> IllegalPlan:
    """Return the error for broken dependences, with one example: `S1(i=0, j=2) depends on S0(i=0)`."""
    pair = next(maps(dependences)).sample()
    message = f"{what}: {_instance(pair.range())} depends on {_instance(pair.domain())}"
    return IllegalPlan(message, str(pair))


def _instance(one: Any) -> str:
    """Return the only point of an isl Set."""
    point, kind = one.sample_point(), isl.dim_type.set
    values = [f"{one.get_dim_name(kind, d)}={point.get_coordinate_val(kind, d)}" for d in range(one.dim(kind))]
    return f"{one.get_tuple_name()}({', '.join(values)})" if values else str(one.get_tuple_name())
