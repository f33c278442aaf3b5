"""Sums over the elements of a matrix that another statement passes over, too: one kernel can read them once for both.

bicg sums up the rows and the columns of a matrix; mvt does so with two products, the second of which reads columns;
gemver sums up the columns of a matrix that it has just updated. A kernel for each statement reads the matrix each time.
Likewise, a kernel that sums up products can set the sums to their first values in registers; a kernel for that writes
them to memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from generator.errors import IllegalPlan
from generator.expr import loads_of
from generator.lowering.analysis.shapes import kernel_shapes
from generator.program import Program, Statement
from generator.schedules.partition import Group, Partition
from generator.target import Target


def common_passes(program: Program, summed: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return pairs of statements, in the order of the program: both access an element of one array per iteration, and
    at least one of them is a sum of `summed`.
    """
    some = set(summed)
    return tuple((one.name, other.name) for one, other in combinations(program.statements, 2)
                 if not some.isdisjoint((one.name, other.name)) and len(one.iterators) == len(other.iterators)
                 and _passed_over(one) & _passed_over(other))


def joined(partition: Partition, first: str, second: str) -> Partition:
    """Return `partition` with the groups of both statements as one, at the place of the earlier one."""
    both = [group for group in partition.groups if {first, second} & set(group.statements)]
    whole = Group(tuple(sorted({name for group in both for name in group.statements})))
    places = (whole if group is both[0] else group for group in partition.groups if group not in both[1:])
    return Partition(tuple(places), partition.reductions, partition.serial)


def first_values(program: Program) -> tuple[tuple[str, str], ...]:
    """Return pairs of statements: one that sets or scales elements of an array, and one that sums up values in them, in
    a loop more.
    """
    return tuple((one.name, other.name) for one, other in combinations(program.statements, 2)
                 if one.body.target.array == other.body.target.array and other.body.op in ("+", "-")
                 and one.body.op != other.body.op and len(one.iterators) + 1 == len(other.iterators))


def sums_in_registers(program: Program, partition: Partition, statements: Sequence[str], target: Target) -> bool:
    """Return whether one kernel runs `statements`, and its threads can keep sums in registers that depend on at least
    two of its parallel dimensions.
    """
    try:
        shapes = kernel_shapes(program, partition, target.language)
    except IllegalPlan:
        return False
    kept = (shape for shape in shapes if shape.sequential and any(len(dims) > 1 for dims in shape.kept))
    return any(set(statements) <= set(shape.statements) for shape in kept)


def has_all_loops(program: Program, partition: Partition, statements: Sequence[str], target: Target) -> bool:
    """Return whether one kernel runs `statements`, all of whose loops are its parallel dimensions."""
    try:
        shapes = kernel_shapes(program, partition, target.language)
    except IllegalPlan:
        return False
    depth = max(len(program.statement(name).iterators) for name in statements)
    return any(set(statements) <= set(shape.statements) and len(shape.extents) == depth and not shape.sequential
               for shape in shapes)


def _passed_over(statement: Statement) -> frozenset[str]:
    """Return the arrays of which `statement` accesses another element in each iteration."""
    body, every = statement.body, set(statement.iterators)
    loads = (body.target, *(load for value in body.computed for load in loads_of(value)))
    return frozenset(load.array for load in loads
                     if every <= {name for index in load.index for name in body.variables(index)})
