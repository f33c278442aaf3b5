"""Arrays whose values are written and read by one point of a kernel's parallel loops only: variables of a thread.

    for (i ...) for (j ...) { w[i] = x[j] - x[i]; y[i] += w[i] * w[i]; }   ->   w is a variable of the thread of i

There are two conditions, both exact. Nothing reads the array's content before or after the kernel. And one variable per
point is enough: with all elements of a point in one place, in the kernel's order, every read sees the same write as in
the original program.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import islpy as isl

from generator.polyhedral.dependences.flow import value_flow
from generator.polyhedral.dependences.original import access_maps
from generator.polyhedral.kit.ast import to_schedule
from generator.polyhedral.kit.parsed import map_of
from generator.polyhedral.memory.coverage import values_at
from generator.polyhedral.schedules.kernels import KernelPart
from generator.program import Program, Statement


@lru_cache(maxsize=1024)
def thread_values(program: Program, part: KernelPart) -> tuple[str, ...]:
    """Return the arrays of `part` that can be one variable per point of its parallel loops, by name.

    `program` must be the whole program. The order within a point must be that of `part.tree`.
    """
    used = _read_by_stages(program)
    return tuple(
        a.name for a in program.arrays if a.role == "temp" and a.name not in used and _is_own(program, part, a.name)
    )


def _read_by_stages(program: Program) -> set[str]:
    steps = (step.statement for stage in program.stages for step in stage.steps)
    return {access.array for statement in steps for access in statement.accesses}


def _is_own(program: Program, part: KernelPart, array: str) -> bool:
    statements = [_only(s, array) for s in program.statements if any(a.array == array for a in s.accesses)]
    kinds = {a.kind for s in statements for a in s.accesses}
    if not {s.name for s in statements} <= set(part.statements) or not {"read", "write"} <= kinds:
        return False
    relations = [map_of(a.relation) for s in statements for a in s.accesses]
    if not all(r.is_single_valued() for r in relations):
        return False
    reads, must, may = (access_maps(statements, kind) for kind in ("read", "write", "may_write"))
    may = may.union(must)
    if not reads.union(may).domain().is_subset(part.domain):
        return False
    before = value_flow(reads, must, may, isl.Schedule(program.schedule))
    if not before.unsourced.is_empty():
        return False
    point = _points(part, reads.union(may).domain())
    read, written, touched = (
        point.intersect_domain(accesses.domain()) for accesses in (reads, must, may)
    )  # its elements as one
    after = value_flow(read, written, touched, to_schedule(part.tree, part.domain).intersect_domain(point.domain()))
    return bool(after.unsourced.is_empty() and after.dependences.is_equal(before.dependences))


def _only(statement: Statement, array: str) -> Statement:
    """Return `statement` without the accesses to other arrays."""
    return replace(statement, accesses=tuple(a for a in statement.accesses if a.array == array))


def _points(part: KernelPart, domain: Any) -> Any:
    """Return the isl UnionMap from instances to their point (of the launches and their parallel loops)."""
    members = [m.intersect_domain(domain) for m in (*part.prefix, *(d.member for d in part.parallel))]
    return values_at(members, domain)
