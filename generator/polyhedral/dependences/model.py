"""A Program as isl objects, with exact value-based dependences (isl flow analysis)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import islpy as isl

from generator.polyhedral.dependences.flow import value_flow
from generator.polyhedral.dependences.original import OriginalFlow, original_flow
from generator.program import Program


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """isl views of a Program: `flow` and `false` (anti and output) relate source to sink instances."""

    program: Program
    domain: Any
    writes: Any
    flow: Any
    false: Any
    _original: OriginalFlow

    @property
    def reads(self) -> Any:
        """All reads, as an isl UnionMap."""
        return self._original.reads

    @property
    def dependences(self) -> Any:
        """Everything that a schedule must respect."""
        return self.flow.union(self.false)


@lru_cache(maxsize=256)
def model(program: Program) -> Model:
    """Return the Model of `program`; cached, because every Plan of a Program needs it."""
    found = original_flow(program.statements, program.schedule)
    schedule = isl.Schedule(program.schedule)
    false = value_flow(found.may, found.writes, found.sinks.union(found.may), schedule).dependences
    return Model(program, schedule.get_domain(), found.may, found.flow.dependences, false, found)


def sets(union: Any) -> Iterator[Any]:
    """Yield the isl Sets of an isl UnionSet, by tuple name."""
    listed = union.get_set_list()
    yield from sorted((listed.get_at(i) for i in range(listed.n_set())), key=lambda s: s.get_tuple_name() or "")


def maps(union: Any) -> Iterator[Any]:
    """Yield the isl Maps of an isl UnionMap, by tuple names."""
    listed = union.get_map_list()
    yield from sorted((listed.get_at(i) for i in range(listed.n_map())),
                      key=lambda m: (m.get_tuple_name(isl.dim_type.in_) or "",
                                     m.get_tuple_name(isl.dim_type.out) or ""))
