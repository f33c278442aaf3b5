"""Which statements sum up elements that are adjacent in memory, and which update neighbours again and again."""

from __future__ import annotations

from collections.abc import Iterable

from generator.expr import loads_of
from generator.lowering.core.vectors import moves_by_one
from generator.polyhedral.dependences.reductions import sums
from generator.program import Program, Statement


def row_sums(program: Program, reductions: Iterable[str]) -> tuple[str, ...]:
    """Return those of `reductions` whose terms are adjacent in memory, sorted."""
    return tuple(sorted(name for name in sums(program, reductions) if _along_rows(program.statement(name))))


def _along_rows(statement: Statement) -> bool:
    """Return whether the terms along some summation iterator are adjacent in memory."""
    return any(name not in _owned(statement) and _reads_neighbours(statement, name) for name in statement.iterators)


def updates_neighbours(statement: Statement) -> bool:
    """Return whether adjacent elements are updated repeatedly, from adjacent elements or from values common to all."""
    target, owned = statement.body.target, _owned(statement)
    return not owned.issuperset(statement.iterators) and any(
        moves_by_one(target, name) and _reads_neighbours(statement, name)
        for name in owned.intersection(statement.iterators)
    )


def _owned(statement: Statement) -> set[str]:
    """Return the iterators that distinguish the written elements."""
    return {name for index in statement.body.target.index for name in statement.body.variables(index)}


def _reads_neighbours(statement: Statement, name: str) -> bool:
    """Return whether the next value of `name` reads the next elements; common ones are ignored, but there must be
    others.
    """
    body = statement.body
    read = [load for value in body.computed for load in loads_of(value) if load.array != body.target.array]
    moving = [load for load in read if any(name in body.variables(index) for index in load.index)]
    return bool(moving) and all(moves_by_one(load, name) for load in moving)
