"""The original execution order as an isl schedule tree, and the roles of arrays that follow from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

import islpy as isl

from generator.polyhedral.dependences.flow import Flow, value_flow
from generator.polyhedral.kit.parsed import map_of, set_of
from generator.program import Access, Box, Role, Statement


@dataclass(frozen=True, slots=True)
class Once:
    """A statement."""

    statement: str


@dataclass(frozen=True, slots=True)
class Block:
    """Parts in text order."""

    parts: tuple[Order, ...]


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop over iterator number `depth` of the statements inside; `step` may be negative."""

    depth: int
    step: int
    body: Order


Order: TypeAlias = Once | Block | Loop


def original_schedule(order: Order, statements: Mapping[str, Statement]) -> str:
    """Return the schedule tree (isl text) that runs the statements in text order."""
    return str(_schedule(order, statements))


def _schedule(order: Order, statements: Mapping[str, Statement]) -> Any:
    match order:
        case Once(name):
            return isl.Schedule.from_domain(isl.UnionSet.from_set(set_of(statements[name].domain)))
        case Block(parts):
            result = _schedule(parts[0], statements)
            for part in parts[1:]:
                result = result.sequence(_schedule(part, statements))
            return result
        case Loop(depth, step, body):
            rows = [f"{name}[{', '.join(f'i{d}' for d in range(len(statements[name].iterators)))}] -> "
                    f"[{'-' if step < 0 else ''}i{depth}]" for name in _names(body)]
            band = isl.MultiUnionPwAff.from_union_map(isl.UnionMap("{ " + "; ".join(rows) + " }"))
            return _schedule(body, statements).insert_partial_schedule(band)


def _names(order: Order) -> Iterator[str]:
    match order:
        case Once(name):
            yield name
        case Block(parts):
            for part in parts:
                yield from _names(part)
        case Loop(body=body):
            yield from _names(body)


@dataclass(frozen=True, slots=True)
class Usage:
    """The SCoP's use of one array: its role, boxes that may be poisoned, and the box of all accessed elements."""

    role: Role
    poison: tuple[Box, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class OriginalFlow:
    """All accesses in the original order as isl UnionMaps (`may` includes `writes`), and what the reads see.

    `sinks`: the reads of arrays that are written, `inputs`: the others. `flow`: that of `sinks`.
    """

    sinks: Any
    inputs: tuple[Access, ...]
    writes: Any
    may: Any
    flow: Flow

    @cached_property
    def reads(self) -> Any:
        """All reads. Most questions about parts of pipelines do not need those of inputs, which are many."""
        return self.sinks.union(_union(self.inputs, "read"))

    @property
    def unsourced(self) -> Any:
        """The reads that may see data from before."""
        return self.flow.unsourced.union(_union(self.inputs, "read"))


def original_flow(statements: Sequence[Statement], schedule: str) -> OriginalFlow:
    """Return the exact dataflow; cached, because the roles of arrays and the dependences of a Program need the same."""
    return _flow(tuple(access for statement in statements for access in statement.accesses), schedule)


@lru_cache(maxsize=64)
def _flow(accesses: tuple[Access, ...], schedule: str) -> OriginalFlow:
    writes = _union(accesses, "write")
    may = _union(accesses, "may_write").union(writes)
    written = {access.array for access in accesses if access.kind != "read"}
    inputs = tuple(access for access in accesses if access.array not in written)
    sinks = _union((access for access in accesses if access.array in written), "read")
    flow = value_flow(sinks, writes, may, isl.Schedule(schedule)) if not sinks.is_empty() else Flow(sinks, sinks)
    return OriginalFlow(sinks, inputs, writes, may, flow)


def accessed(statements: Sequence[Statement]) -> dict[str, tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return the least and the greatest subscript per dimension of each accessed array."""
    touched = [access_maps(statements, kind).range() for kind in ("read", "write", "may_write")]
    return {str(one.get_tuple_name()): _range(one) for one in _sets(touched[0].union(touched[1]).union(touched[2]))}


def array_usage(statements: Sequence[Statement], schedule: str, locals_: frozenset[str]) -> dict[str, Usage]:
    """Return the roles of all accessed arrays by exact dataflow.

    An element is live in if a read of it has no source, or if it may be written but is never written with certainty:
    then it may keep its value through the SCoP.
    """
    found = original_flow(statements, schedule)
    reads, writes, may = found.reads, found.writes, found.may
    live = found.unsourced.range()
    live = live.union(may.range().subtract(writes.range()))
    written = {s.get_tuple_name(): s for s in _sets(may.range())}
    surely = {s.get_tuple_name(): s for s in _sets(writes.range())}
    live_in = {s.get_tuple_name(): s for s in _sets(live)}
    usage = {}
    for touched in _sets(reads.union(may).range()):
        name = touched.get_tuple_name()
        role: Role = ("temp" if name in locals_ else "in" if name not in written
                      else "inout" if name in live_in else "out")
        clean = surely.get(name)
        if clean is not None and name in live_in:
            clean = clean.subtract(live_in[name])
        boxes = tuple(_boxes(name, clean)) if clean is not None else ()
        usage[name] = Usage(role, boxes, *_range(touched))
    return usage


def access_maps(statements: Sequence[Statement], kind: str) -> Any:
    """Return the union of all accesses of one kind, as an isl UnionMap."""
    return _union((access for statement in statements for access in statement.accesses), kind)


def _union(accesses: Iterable[Access], kind: str) -> Any:
    result = isl.UnionMap("{ }")
    for access in accesses:
        if access.kind == kind:
            result = result.union(isl.UnionMap.from_map(map_of(access.relation)))
    return result.coalesce()


def access_range(access: Access) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Return the least and the greatest subscript per dimension; None for an access that never happens."""
    touched = map_of(access.relation).range()
    return None if touched.is_empty() else _range(touched)


def _sets(union: Any) -> list[Any]:
    listed = union.get_set_list()
    return sorted((listed.get_at(i) for i in range(listed.n_set())), key=lambda s: str(s.get_tuple_name()))


def _range(touched: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    dims = range(touched.dim(isl.dim_type.set))
    return (tuple(touched.dim_min_val(d).to_python() for d in dims),
            tuple(touched.dim_max_val(d).to_python() for d in dims))


def _boxes(array: str, elements: Any) -> Iterator[Box]:
    """Yield the parts of `elements` that are boxes; others stay unpoisoned, which is safe."""
    parts = elements.coalesce().get_basic_set_list()
    for index in range(parts.n_basic_set()):
        part = isl.Set.from_basic_set(parts.get_at(index))
        low, high = _range(part)
        names = [f"i{d}" for d in range(len(low))]
        bounds = " and ".join(f"{a} <= {n} <= {b}" for n, a, b in zip(names, low, high, strict=True)) or "true"
        if isl.Set(f"{{ {array}[{', '.join(names)}] : {bounds} }}").is_equal(part):
            yield Box(array, low, high)
