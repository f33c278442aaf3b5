"""Which statements sum up elements that are adjacent in memory, which update neighbours again and again, and which sum
up products.
"""

from __future__ import annotations

from collections.abc import Iterable

from generator.expr import Binary, Expr, loads_of
from generator.lowering.core.vectors import moves_by_one
from generator.polyhedral.dependences.reductions import sums, update_of
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


def sums_products(program: Program, statement: Statement) -> bool:
    """Return whether a statement adds products of two factors to elements, as a product of matrices does: along some
    dimension of the elements one factor is the same for all of them, along another one the other.

    Then threads that keep the sums of a rectangle of elements load each factor once for a whole line of them.
    """
    update, owned = update_of(program, statement), _owned(statement)
    if update is None or update.operator != "+" or owned.issuperset(statement.iterators):
        return False
    match update.contribution:
        case Binary("*", left, right):
            common = [owned - read for read in (_iterators_read(statement, left), _iterators_read(statement, right))
                      if read]
            return len(common) == 2 and all(common) and common[0] != common[1]
        case _:
            return False


def _iterators_read(statement: Statement, value: Expr) -> set[str]:
    """Return the iterators that choose the elements of arrays in a value."""
    return {name for load in loads_of(value) for index in load.index for name in statement.body.variables(index)}


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
