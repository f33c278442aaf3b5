"""Exact value-based flow between accesses: which write does a read see, which reads see none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import islpy as isl


@dataclass(frozen=True, slots=True, eq=False)
class Flow:
    """`dependences` relate source to sink instances; `unsourced` are the sink accesses that may see older data."""

    dependences: Any
    unsourced: Any


def value_flow(sinks: Any, must: Any, may: Any, schedule: Any) -> Flow:
    """The sources that reach `sinks`: those of `may` with none of `must` to the same element in between.

    `must` is contained in `may`; all are isl UnionMaps from instances to elements, `schedule` an isl Schedule.
    With `x -> e` a sink access, sources are the earlier `w` of `may` on `e`, except those before an `m` of `must`
    on `e` that is itself earlier than `x`.

    By relational algebra alone. isl's own flow analysis searches the last source by parametric integer programming;
    as of isl 0.27 that misses sources in some domains with strides (tests/test_polyhedral_flow.py holds one) and
    fails on some subscripts with divisions.
    """
    if _apart(sinks, may):
        return Flow(isl.UnionMap.empty(sinks.get_space()), sinks)
    times = schedule.get_map().intersect_domain(schedule.get_domain())
    earlier = _earlier(times, _meetings(sinks, may) | _meetings(must, may))  # x -> what runs before x
    candidates = sinks.domain_map().apply_range(earlier)  # [x -> e] -> what runs before x
    sources = sinks.range_map().apply_range(may.reverse()).intersect(candidates)
    certain = sinks.range_map().apply_range(must.reverse()).intersect(candidates)
    reaching = sources.subtract(certain.apply_range(earlier))
    dependences = reaching.curry().range_factor_range().reverse()
    return Flow(dependences.coalesce(), sinks.wrap().subtract(certain.domain()).unwrap())


def _apart(sinks: Any, may: Any) -> bool:
    """Whether it is plain that no two instances access the same element of what `sinks` access."""
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
    """The pairs of statements (names) in which `one` and `other` have an access to the same array."""
    return {(a, b) for array, a in _named(one) for other_array, b in _named(other) if array == other_array}


def _named(accesses: Any) -> set[tuple[str, str]]:
    """(array, statement) of all accesses."""
    return {(m.get_tuple_name(isl.dim_type.out), m.get_tuple_name(isl.dim_type.in_)) for m in _maps(accesses)}


def _earlier(times: Any, wanted: set[tuple[str, str]]) -> Any:
    """Which instances run before which, for the pairs of statements in `wanted` alone: there are many more."""
    clocks = {m.get_tuple_name(isl.dim_type.in_): m for m in _maps(times)}
    found = isl.UnionMap.empty(times.get_space())
    for late, early in sorted(wanted):
        if late in clocks and early in clocks:
            found = found.add_map(clocks[late].lex_gt_map(clocks[early]))
    return found


def _maps(union: Any) -> list[Any]:
    listed = union.get_map_list()
    return [listed.get_at(k) for k in range(listed.n_map())]
