"""The work and traffic of a program on any device: the numerators of the roofline model."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache, reduce
from typing import Any

import islpy as isl

from generator.facts import Demand, Operations
from generator.operations import binary_operation, is_floating, operations_of
from generator.polyhedral.dependences.flow import value_flow
from generator.polyhedral.dependences.model import sets
from generator.polyhedral.dependences.original import access_maps
from generator.polyhedral.kit.points import points
from generator.program import ELEMENT_BYTES, Program


@lru_cache(maxsize=16)
def program_demand(program: Program) -> Demand:
    """Return operations of all instances, and the elements that are live at the entry and read, or written and live at
    the exit.

    A read sees the value at the entry unless a write of the program comes before it (exact value-based flow).
    """
    schedule = isl.Schedule(program.schedule)
    reads, must = access_maps(program.statements, "read"), access_maps(program.statements, "write")
    written = must.union(access_maps(program.statements, "may_write"))
    inherited = value_flow(reads, must, written, schedule).unsourced
    entering, leaving = (
        _of_roles(program, inherited.range(), ("in", "inout")),
        _of_roles(program, written.range(), ("out", "inout")),
    )
    operations, types = _operations(program, schedule.get_domain())
    return Demand(
        operations,
        _bytes(program, entering),
        _bytes(program, leaving),
        _bytes(program, entering.union(leaving)),
        types.most_common(1)[0][0] if types else "float",
    )


def _operations(program: Program, domain: Any) -> tuple[Operations, Counter[str]]:
    """Return the sum over all instances, and how many of them write which element type."""
    instances = {part.get_tuple_name(): points(part) for part in sets(domain)}
    types = {array.name: array.type for array in program.arrays}
    total, written = Operations(), Counter[str]()
    for statement in program.statements:
        body, count = statement.body, instances.get(statement.name, 0.0)
        floating = is_floating(body.target, types) or is_floating(body.value, types)
        once = reduce(Operations.plus, (operations_of(value, types) for value in body.computed))
        once = once.plus(binary_operation(body.op, floating))
        total = total.plus(once, count)
        written[types[body.target.array]] += int(once.total * count)
    return total, +written


def _of_roles(program: Program, elements: Any, roles: tuple[str, ...]) -> Any:
    """Return the elements of arrays that have one of the roles."""
    kept = isl.UnionSet("{ }")
    for part in sets(elements):
        if program.array(part.get_tuple_name()).role in roles:
            kept = kept.union(part)
    return kept


def _bytes(program: Program, elements: Any) -> float:
    return sum(points(part) * ELEMENT_BYTES[program.array(part.get_tuple_name()).type] for part in sets(elements))
