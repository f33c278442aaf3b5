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
    """
    access = (isl.UnionAccessInfo.from_sink(sinks).set_must_source(must).set_may_source(may)
              .set_schedule(schedule))
    try:
        flow = access.compute_flow()
    except isl.Error as error:
        # isl cannot take the last of several sources when their subscripts hold divisions that it lost track of
        if "involves some of the domain dimensions" not in str(error):
            raise
        return relational_flow(sinks, must, may, schedule)
    return Flow(flow.get_may_dependence().coalesce(), flow.get_may_no_source())


def relational_flow(sinks: Any, must: Any, may: Any, schedule: Any) -> Flow:
    """As `value_flow`, by relational algebra alone: slower, and never in need of a maximum.

    With `x -> e` a sink access, sources are the earlier `w` of `may` on `e`, except those before an `m` of `must`
    on `e` that is itself earlier than `x`.
    """
    times = schedule.get_map().intersect_domain(schedule.get_domain())
    earlier = times.lex_gt_union_map(times)  # x -> what runs before x
    candidates = sinks.domain_map().apply_range(earlier)  # [x -> e] -> what runs before x
    sources = sinks.range_map().apply_range(may.reverse()).intersect(candidates)
    certain = sinks.range_map().apply_range(must.reverse()).intersect(candidates)
    reaching = sources.subtract(certain.apply_range(earlier))
    dependences = reaching.curry().range_factor_range().reverse()
    return Flow(dependences.coalesce(), sinks.wrap().subtract(certain.domain()).unwrap())
