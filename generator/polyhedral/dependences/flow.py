"""Exact value-based flow between accesses: the write that each read sees, and the reads that see none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import islpy as isl

from generator.polyhedral.kit.members import ends

MANY = 30
"""The number of loops from which on they are processed one by one."""

_Box: TypeAlias = tuple[tuple[int, int], ...] | None
"""The least and the greatest index per dimension; None if unknown."""


@dataclass(frozen=True, slots=True, eq=False)
class Flow:
    """`dependences` relate source to sink instances; `unsourced` are the sink accesses that may see older data."""

    dependences: Any
    unsourced: Any


def value_flow(sinks: Any, must: Any, may: Any, schedule: Any) -> Flow:
    """Return the sources that reach `sinks`: those of `may` with none of `must` to the same element in between.

    `must` is contained in `may`; all are isl UnionMaps from instances to elements; `schedule` is an isl Schedule. For a
    sink access `x -> e`, the sources are the earlier `w` of `may` on `e`, except those before an `m` of `must` on `e`
    that is itself earlier than `x`.

    Programs of many loops in sequence are processed loop by loop (`flow_of_sequence`), with the same result, but
    faster.

    Computed by relational algebra only. isl's own flow analysis searches the last source by parametric integer
    programming; as of isl 0.27 that misses sources in some domains with strides (an example is in
    tests/generator/polyhedral/dependences/test_flow.py) and fails on some subscripts with divisions.
    """
    if _apart(sinks, may):
        return Flow(isl.UnionMap.empty(sinks.get_space()), sinks)
    times = schedule.get_map().intersect_domain(schedule.get_domain())
    places = _places(times)
    if len(set(places.values())) > MANY:
        return flow_of_sequence(sinks, must, may, times, places)
    return _exact(sinks, must, may, times)


def _exact(sinks: Any, must: Any, may: Any, times: Any) -> Flow:
    """Return the same at the `times` of instances, for all pairs of statements at once."""
    earlier = _earlier(times, _meetings(sinks, may) | _meetings(must, may))  # x -> what runs before x
    candidates = sinks.domain_map().apply_range(earlier)  # [x -> e] -> what runs before x
    sources = sinks.range_map().apply_range(may.reverse()).intersect(candidates)
    certain = sinks.range_map().apply_range(must.reverse()).intersect(candidates)
    reaching = sources.subtract(certain.apply_range(earlier))
    dependences = reaching.curry().range_factor_range().reverse()
    return Flow(dependences.coalesce(), sinks.wrap().subtract(certain.domain()).unwrap())


def flow_of_sequence(sinks: Any, must: Any, may: Any, times: Any, places: Mapping[str, int]) -> Flow:
    """Return the same for loops in sequence. `places`: the number of the loop of each statement.

    Sources within a sink's own loop are found among its statements only. The rest comes from the previous loops, the
    latest first: from each, the values that the loop itself does not overwrite, until definite writes hide everything
    older.
    """
    parts = [_by_loop(accesses, places) for accesses in (sinks, must, may, times)]
    loops = {place: _Loop(*(part[place] for part in parts)) for place in sorted(set(places.values()))}
    touched = _ranges(loop.may for loop in loops.values())
    dependences, unsourced = isl.UnionMap.empty(sinks.get_space()), isl.UnionMap.empty(sinks.get_space())
    for place, loop in loops.items():
        if loop.sinks.is_empty():
            continue
        own = _exact(loop.sinks, loop.must, loop.may, loop.times)
        dependences = dependences.union(own.dependences)
        unsourced, rest = unsourced.union(own.unsourced.subtract_range(touched)), own.unsourced.intersect_range(touched)
        wanted = _arrays(rest)
        for before in [loops[p] for p in reversed(loops) if p < place]:
            if not before.arrays & wanted:
                continue
            dependences = dependences.union(before.left.apply_range(rest.reverse()))
            rest = rest.subtract_range(before.must.range())
            wanted = _arrays(rest)
            if not wanted:
                break
        unsourced = unsourced.union(rest)
    return Flow(dependences.coalesce(), unsourced)


class _Loop:
    """The accesses of the statements of one loop, and when they run."""

    def __init__(self, sinks: Any, must: Any, may: Any, times: Any) -> None:
        self.sinks, self.must, self.may, self.times = sinks, must, may, times
        self.arrays = _arrays(may)

    @cached_property
    def left(self) -> Any:
        """The accesses of `may` whose element no later instance overwrites with certainty (instances to elements)."""
        earlier = _earlier(self.times, _meetings(self.must, self.may))
        both = (
            self.must.range_map().apply_range(self.may.reverse()).intersect(self.must.domain_map().apply_range(earlier))
        )
        return self.may.subtract(both.reverse().range_factor_range())


def _places(times: Any) -> dict[str, int]:
    """Return the number of each statement's loop in the sequence; {} if one loop is around all of them."""
    found = {}
    for clock in _maps(times):
        first = (
            clock.plain_get_val_if_fixed(isl.dim_type.out, 0)
            if clock.dim(isl.dim_type.out)
            else isl.Val.nan(times.get_ctx())
        )
        if first.is_nan():
            return {}
        found[clock.get_tuple_name(isl.dim_type.in_)] = int(first.to_python())
    return found


def _by_loop(accesses: Any, places: Mapping[str, int]) -> dict[int, Any]:
    """Return the accesses (or times) of the statements in each place."""
    found = {place: isl.UnionMap.empty(accesses.get_space()) for place in places.values()}
    for relation in _maps(accesses):
        place = places.get(relation.get_tuple_name(isl.dim_type.in_))
        if place is not None:
            found[place] = found[place].add_map(relation)
    return found


def _ranges(accesses: Iterable[Any]) -> Any:
    """Return all elements of several accesses."""
    found = isl.UnionSet("{ }")
    for one in accesses:
        found = found.union(one.range())
    return found.coalesce()


def _arrays(accesses: Any) -> set[str]:
    return {array for array, _ in _named(accesses)}


def _apart(sinks: Any, may: Any) -> bool:
    """Return whether no two instances obviously access the same element of those that `sinks` access."""
    arrays = {array for array, _ in _named(sinks)}
    found: dict[str, Any] = {}
    for relation in (*_maps(sinks), *_maps(may)):
        array = relation.get_tuple_name(isl.dim_type.out)
        if array not in arrays:
            continue
        before = found.setdefault(array, relation)
        if before.get_tuple_name(isl.dim_type.in_) != relation.get_tuple_name(isl.dim_type.in_):
            return False  # several statements
        found[array] = before.union(relation)
    return all(relation.is_injective() for relation in found.values())


def _meetings(one: Any, other: Any) -> set[tuple[str, str]]:
    """Return the pairs of statements (names) in which `one` and `other` may access the same element, judged by boxes.
    """
    by_array: dict[str, list[tuple[str, _Box]]] = {}
    for array, statement, box in _boxes(other):
        by_array.setdefault(array, []).append((statement, box))
    return {
        (a, b) for array, a, box in _boxes(one) for b, other_box in by_array.get(array, ()) if _meet(box, other_box)
    }


def _boxes(accesses: Any) -> list[tuple[str, str, _Box]]:
    """Return (array, statement, box of elements) of all accesses."""
    found = []
    for relation in _maps(accesses):
        touched = relation.range()
        if not touched.is_empty():
            bounds = ends(touched) if touched.is_bounded() else None
            found.append((relation.get_tuple_name(isl.dim_type.out), relation.get_tuple_name(isl.dim_type.in_), bounds))
    return found


def _meet(one: _Box, other: _Box) -> bool:
    return one is None or other is None or all(a[0] <= b[1] and b[0] <= a[1] for a, b in zip(one, other, strict=True))


def _named(accesses: Any) -> set[tuple[str, str]]:
    """Return (array, statement) of all accesses."""
    return {(m.get_tuple_name(isl.dim_type.out), m.get_tuple_name(isl.dim_type.in_)) for m in _maps(accesses)}


def _earlier(times: Any, wanted: set[tuple[str, str]]) -> Any:
    """Return which instances run before which, only for the pairs of statements in `wanted`, because there are many
    more.
    """
    clocks = {m.get_tuple_name(isl.dim_type.in_): m for m in _maps(times)}
    found = isl.UnionMap.empty(times.get_space())
    for late, early in sorted(wanted):
        if late in clocks and early in clocks:
            found = found.add_map(clocks[late].lex_gt_map(clocks[early]))
    return found


def _maps(union: Any) -> list[Any]:
    listed = union.get_map_list()
    return [listed.get_at(k) for k in range(listed.n_map())]
