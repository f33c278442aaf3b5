"""Schedules from partitions: the Plan chooses the statements that share loops, and isl how these loops run.

A Group is scheduled as a whole. Its outer loops (the parallel ones, or the host loops above them) are shared by all of
its statements; inside them every part is a separate group. Groups for which isl finds no common loops are refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import islpy as isl

from generator.errors import IllegalPlan
from generator.polyhedral.dependences.model import maps, model
from generator.polyhedral.dependences.reductions import order_of
from generator.polyhedral.kit.components import strongly_connected
from generator.polyhedral.kit.memoized import memoized
from generator.polyhedral.kit.tree import Band, Sequence, Tree, coincident_first, from_isl, multi, statements_of
from generator.polyhedral.schedules.scheduling import Constraints, find_schedule
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from generator.schedules.partition import Group, Partition

MAX_PARALLEL = 3  # a grid has three dimensions

Path = tuple[tuple[str, ...], ...]
"""Statements of a group and of the groups around it, outermost first."""


@dataclass(frozen=True, slots=True)
class Component:
    """A strongly connected component: its statements (sorted), and the number of its outermost parallel loops.

    `parallel` is known at the outermost level only, where it limits what may be combined; 0 elsewhere.
    """

    statements: tuple[str, ...]
    parallel: int


@dataclass(frozen=True, slots=True)
class Level:
    """The components at one place of a schedule; `before` holds pairs (a, b): a must come before b (by number)."""

    components: tuple[Component, ...]
    before: frozenset[tuple[int, int]]


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """The scope of a group's schedule: its instances, the dependences still to be ordered, and the loops around it."""

    domain: Any
    dependences: Any
    flow: Any
    around: tuple[Any, ...]


def partition_tree(program: Program, partition: Partition) -> Tree:
    """Return the schedule tree of `partition`.

    Raises:
        IllegalPlan: the groups are not all statements, each once; or isl finds no common loops for a group.
    """
    return _sequence(program, partition.reductions, partition.groups, (), tuple(s.name for s in program.statements))


def _sequence(program: Program, reductions: tuple[str, ...], groups: SequenceOf[Group], path: Path,
              expected: Iterable[str]) -> Tree:
    listed = sorted(name for group in groups for name in group.statements)
    if not all(group.statements for group in groups):
        raise IllegalPlan(f"a group of {', '.join(sorted(expected))} holds no statement")
    if listed != sorted(expected):
        raise IllegalPlan(f"the groups must hold each of {', '.join(sorted(expected))} once; they hold "
                          f"{', '.join(listed)}")
    children = [_group(program, reductions, group, path) for group in groups]
    if len(groups) == 1:
        return children[0]
    return Sequence(tuple(_domain(program, group.statements) for group in groups), tuple(children))


def _group(program: Program, reductions: tuple[str, ...], group: Group, path: Path) -> Tree:
    here = (*path, group.statements)
    tree = group_tree(program, reductions, here)
    if not group.parts:
        return tree
    band, outer = split_band(tree, group.statements)
    inside = _sequence(program, reductions, group.parts, here, group.statements)
    return Band(band.members[:outer], band.coincident[:outer], band.permutable, inside)


def split_band(tree: Tree, statements: tuple[str, ...]) -> tuple[Band, int]:
    """Return the band at the top of a group's tree, and how many of its members come before the parts.

    Raises:
        IllegalPlan: there is no loop to share.
    """
    if not isinstance(tree, Band):
        raise IllegalPlan(f"{', '.join(statements)} share no loop, so there are no parts inside")
    band = coincident_first(tree)
    if band.coincident[0]:
        count = next((i for i, c in enumerate(band.coincident) if not c), len(band.members))
        return band, min(count, MAX_PARALLEL)
    return band, next((i for i, c in enumerate(band.coincident) if c), len(band.members))


@memoized(maxsize=512)
def group_tree(program: Program, reductions: tuple[str, ...], path: Path) -> Tree:
    """Return isl's schedule of the statements path[-1] inside the shared loops of the groups before.

    Raises:
        IllegalPlan: isl gave up, or finds no loop that all the statements can share.
    """
    statements = path[-1]
    place = _place(program, reductions, path)
    if len(statements) == 1:
        return _scheduled(place, place.flow)
    reads = _inside(_shared_reads(program), place.domain)
    tree = _scheduled(place, _linked(program, place, place.flow.union(reads)))
    if (
        not _is_parallel(tree) and not reads.is_empty()
    ):  # many iterations that read one element may be far apart in all parallel loops
        plain = _scheduled(place, _linked(program, place, place.flow))
        tree = plain if _is_parallel(plain) else tree
    return tree if isinstance(tree, Band) else _side_by_side(program, reductions, path, place)


def _scheduled(place: _Place, proximity: Any) -> Tree:
    """Return isl's schedule in which the pairs in `proximity` are close to each other. Raises IllegalPlan."""
    found = find_schedule(Constraints(place.domain, place.dependences, proximity), ScheduleChoice(), whole=True)
    return _without(from_isl(found), place)


def _is_parallel(tree: Tree) -> bool:
    return isinstance(tree, Band) and any(tree.coincident)


def _side_by_side(program: Program, reductions: tuple[str, ...], path: Path, place: _Place) -> Band:
    """Return the parallel loops of the components of path[-1] as common loops, if no dependence crosses them.

    Raises:
        IllegalPlan: there are none.
    """
    groups = strongly_connected(path[-1], {(a, b) for a, b in links([place.dependences]) if a != b})
    trees = [group_tree(program, reductions, (*path[:-1], group)) for group in groups] if len(groups) > 1 else []
    bands = [coincident_first(tree) for tree in trees if isinstance(tree, Band)]
    common = min((split_band(b, path[-1])[1] for b in bands if b.coincident[0]), default=0)
    if common and len(bands) == len(groups) and all(band.coincident[0] for band in bands):
        members = tuple(_union([band.members[k] for band in bands]) for k in range(common))
        if place.dependences.is_subset(place.dependences.eq_at_multi_union_pw_aff(multi(members))):
            below = tuple(_rest(band, common) for band in bands)
            return Band(members, (True,) * common, True,
                        Sequence(tuple(_domain(program, group) for group in groups), below))
    raise IllegalPlan(f"{', '.join(path[-1])} have no loop that they can share")


def _union(members: SequenceOf[Any]) -> Any:
    result = members[0]
    for member in members[1:]:
        result = result.union_add(member)
    return result


def _rest(band: Band, count: int) -> Tree:
    """Return `band` without its first members."""
    if count == len(band.members):
        return band.child
    return Band(band.members[count:], band.coincident[count:], band.permutable, band.child)


@memoized(maxsize=512)
def _place(program: Program, reductions: tuple[str, ...], path: Path) -> _Place:
    domain = _domain(program, path[-1])
    if len(path) == 1:
        order = order_of(program, reductions)
        return _Place(domain, _inside(order.dependences, domain), _inside(order.flow, domain), ())
    outer = _place(program, reductions, path[:-1])
    band, count = split_band(group_tree(program, reductions, path[:-1]), path[-2])
    members = band.members[:count]
    left = [relation.eq_at_multi_union_pw_aff(multi(members)) for relation in (outer.dependences, outer.flow)]
    around = tuple(m.intersect_domain(domain) for m in (*outer.around, *members))
    return _Place(domain, _inside(left[0], domain), _inside(left[1], domain), around)


def _domain(program: Program, statements: Iterable[str]) -> Any:
    result = isl.UnionSet("{ }")
    for name in statements:
        result = result.union(isl.UnionSet(program.statement(name).domain))
    return result


def _inside(relation: Any, domain: Any) -> Any:
    return relation.intersect_domain(domain).intersect_range(domain)


@lru_cache(maxsize=64)
def _shared_reads(program: Program) -> Any:
    """Return pairs of different statements that isl should bring together: they read the same element."""
    reads, times = model(program).reads, isl.Schedule(program.schedule).get_map()
    shared = reads.apply_range(reads.reverse()).intersect(times.lex_lt_union_map(times))
    result = isl.UnionMap("{ }")
    for relation in maps(shared):
        if relation.get_tuple_name(isl.dim_type.in_) != relation.get_tuple_name(isl.dim_type.out):
            result = result.union(isl.UnionMap.from_map(relation))
    return result


def _linked(program: Program, place: _Place, proximity: Any) -> Any:
    """Return `proximity` with unconnected statements connected by their iterators, so that isl sees one component."""
    linked = links([place.dependences, proximity])
    for first, second in pairwise(statements_of(place.domain)):
        if not _connected(first, second, linked):
            linked.append((first, second))
            proximity = proximity.union(_alike(program, first, second))
    return proximity


def links(relations: Iterable[Any]) -> list[tuple[str, str]]:
    """Return (source, sink) of every isl Map in some UnionMaps."""
    return [(r.get_tuple_name(isl.dim_type.in_), r.get_tuple_name(isl.dim_type.out))
            for relation in relations for r in maps(relation)]


def _connected(first: str, second: str, linked: list[tuple[str, str]]) -> bool:
    reached, found = {first}, True
    while found:
        more = {b for a, b in linked if a in reached} | {a for a, b in linked if b in reached}
        found = not more <= reached
        reached |= more
    return second in reached


def _alike(program: Program, first: str, second: str) -> Any:
    """Return `{ first[i, j, ..] -> second[i, j, ..] }` over the loops that both have."""
    one, other = program.statement(first), program.statement(second)
    depth = min(len(one.iterators), len(other.iterators))
    names = [[f"{letter}{d}" for d in range(len(s.iterators))] for letter, s in (("a", one), ("b", other))]
    same = " and ".join(f"a{d} = b{d}" for d in range(depth)) or "true"
    return isl.UnionMap(f"{{ {first}[{', '.join(names[0])}] -> {second}[{', '.join(names[1])}] : {same} }}")


def _without(tree: Tree, place: _Place) -> Tree:
    """Return `tree` without the members that the loops around it determine."""
    if not place.around:
        return tree
    match tree:
        case Band():
            kept = [k for k, member in enumerate(tree.members) if not _determined(member, place)]
            child = _without(tree.child, place)
            if not kept:
                return child
            return Band(tuple(tree.members[k] for k in kept), tuple(tree.coincident[k] for k in kept),
                        tree.permutable, child)
        case Sequence(filters, children):
            return Sequence(filters, tuple(_without(child, place) for child in children))
        case _:
            return tree


def _determined(member: Any, place: _Place) -> bool:
    """Return whether all instances at one point of the outer loops have the same value of `member`."""
    outer = isl.UnionMap.from_multi_union_pw_aff(multi(place.around)).intersect_domain(place.domain)
    return bool(outer.reverse().apply_range(isl.UnionMap.from_union_pw_aff(member)).is_single_valued())


@memoized(maxsize=512)
def level(program: Program, reductions: tuple[str, ...], path: Path) -> Level:
    """Return the components inside the shared loops of path[-1] (of the whole program for an empty path).

    Raises:
        IllegalPlan: isl finds no common loops for a group of `path`, or only such that leave it no parallel loop.
    """
    if path:
        _check_parallel(program, reductions, path)
        band_statements = path[-1]
        inner = _place(program, reductions, (*path, band_statements))
        names, dependences = band_statements, inner.dependences
    else:
        names = tuple(s.name for s in program.statements)
        dependences = order_of(program, reductions).dependences
    edges = {(a, b) for a, b in links([dependences]) if a != b}
    groups = strongly_connected(names, edges)
    number = {name: k for k, group in enumerate(groups) for name in group}
    before = frozenset((number[a], number[b]) for a, b in edges if number[a] != number[b])
    return Level(tuple(Component(group, 0 if path else _parallel(program, reductions, path, group))
                       for group in groups), before)


def _check_parallel(program: Program, reductions: tuple[str, ...], path: Path) -> None:
    """Raise IllegalPlan if components with parallel loops of their own cannot share an outermost one.

    (Rule 2 of Coding Ants, section 5.1.2; shared host loops would launch a kernel for every point.)
    """
    tree = group_tree(program, reductions, path)
    if _is_parallel(tree):
        return
    dependences = _place(program, reductions, path).dependences
    groups = strongly_connected(path[-1], {(a, b) for a, b in links([dependences]) if a != b})
    if len(groups) > 1 and all(_parallel(program, reductions, path[:-1], group) for group in groups):
        raise IllegalPlan(f"{', '.join(path[-1])} would lose their parallel loops if they shared any")


def _parallel(program: Program, reductions: tuple[str, ...], path: Path, statements: tuple[str, ...]) -> int:
    try:
        tree = group_tree(program, reductions, (*path, statements))
    except IllegalPlan:
        return 0
    if not isinstance(tree, Band):
        return 0
    band = coincident_first(tree)
    return next((i for i, c in enumerate(band.coincident) if not c), len(band.members))
