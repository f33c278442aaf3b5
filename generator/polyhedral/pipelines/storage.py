"""Intermediate arrays in another storage order than that of their declaration.

    for (x) for (y) t[x][y] = a[y][x] + a[y][x + 1];      both loops pass over columns of some array
    for (y) for (x) b[y][x] = t[x][y] * t[x][y + 1];

    for (y) for (x) t[y][x] = a[y][x] + a[y][x + 1];      if dimension 0 of t is contiguous, both pass over rows
    for (y) for (x) b[y][x] = t[y][x] * t[y + 1][x];

Nobody outside of the program sees such an array, so its order changes neither results nor dependences between
iterations. Loops that compute elements independently are interchanged with the dimensions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeAlias, TypeVar

import islpy as isl

from generator.errors import IllegalPlan
from generator.expr import Load
from generator.polyhedral.kit.ast import to_schedule
from generator.polyhedral.kit.members import coordinate
from generator.polyhedral.kit.parsed import map_of, set_of
from generator.polyhedral.kit.readdressed import readdressed
from generator.polyhedral.kit.tree import Band, Leaf, Tree, from_isl, statements_of
from generator.polyhedral.kit.tree import Sequence as SequenceTree
from generator.polyhedral.pipelines.nests import groups_of, steps_of
from generator.program import Access, Array, Box, Program, Statement
from generator.schedules.schedule import Schedule
from generator.schedules.stages import Stages

Order: TypeAlias = tuple[int, ...]
"""The old number of each dimension or iterator."""
_T = TypeVar("_T")


def laid_out(program: Program, schedule: Schedule) -> tuple[Program, Schedule]:
    """Return the program with its arrays as `schedule` stores them, and the schedule of that program.

    Raises:
        IllegalPlan: an array cannot be stored so.
    """
    if not isinstance(schedule, Stages) or not schedule.contiguous:
        return program, schedule
    return _stored(program, schedule.contiguous), replace(schedule, contiguous=())


def has_orders(array: Array) -> bool:
    """Return whether the order of an array is free: it is an intermediate result with several dimensions."""
    return array.role == "temp" and len(array.extents) > 1 and not array.expanded


@lru_cache(maxsize=64)
def _stored(program: Program, contiguous: tuple[tuple[str, int], ...]) -> Program:
    """Return the program with the given dimension of each of these arrays in the last place."""
    counts = {array.name: len(array.extents) for array in program.arrays if has_orders(array)}
    if wrong := [(name, dim) for name, dim in contiguous if dim not in range(counts.get(name, 1) - 1)]:
        known = ", ".join(f"{name} (0 to {count - 2})" for name, count in sorted(counts.items()))
        raise IllegalPlan(f"dimension {wrong[0][1]} of `{wrong[0][0]}` cannot be contiguous instead of the last one; "
                          f"those that can: {known or 'none'}")
    orders = {name: (*(d for d in range(counts[name]) if d != dim), dim) for name, dim in contiguous}
    loops = _interchanged(program, orders)
    boxes = (Box(one.array, _turned(one.low, order), _turned(one.high, order))
             if (order := orders.get(one.array)) else one for one in program.poison)
    return replace(
        program,
        arrays=tuple(replace(one, extents=_turned(one.extents, orders[one.name]), declared=())
                     if one.name in orders else one for one in program.arrays),
        statements=tuple(_statement(one, orders, loops.get(one.name)) for one in program.statements),
        schedule=_schedule(program, loops),
        poison=tuple(boxes),
    )


def _turned(items: tuple[_T, ...], order: Order) -> tuple[_T, ...]:
    return tuple(items[old] for old in order)


def _interchanged(program: Program, orders: Mapping[str, Order]) -> Mapping[str, Order]:
    """Return the order of iterators of each statement that computes elements of such an array independently."""
    found = dict[str, Order]()
    for group, steps in zip(groups_of(program), steps_of(program), strict=True):
        order = orders.get(min(group.arrays))
        for step in steps if order else ():
            positions = [position for position, _ in step.dims]
            turned = list(range(len(step.statement.iterators)))
            for slot, old in zip(sorted(positions), _turned(tuple(positions), order or ()), strict=True):
                turned[slot] = old
            found[step.statement.name] = tuple(turned)
    return found


def _statement(statement: Statement, orders: Mapping[str, Order], loops: Order | None) -> Statement:
    """Return a statement with the new subscripts, and its iterators in the order `loops` if there is one."""
    def load(one: Load) -> Load:
        return replace(one, index=_turned(one.index, orders[one.array])) if one.array in orders else one

    def access(_: int, one: Access) -> Access:
        relation = map_of(one.relation)
        if one.array in orders:
            relation = relation.apply_range(_renaming(one.array, orders[one.array]))
        if loops is not None:
            relation = _named(relation.apply_domain(_renaming(statement.name, loops)), isl.dim_type.in_, names)
        return replace(one, relation=str(relation)) if one.array in orders or loops is not None else one

    domain = set_of(statement.domain)
    names = [domain.get_dim_name(isl.dim_type.set, d) for d in loops or ()]
    made = readdressed(statement, load, access)
    if loops is None:
        return made
    turned = _named(domain.apply(_renaming(statement.name, loops)), isl.dim_type.set, names)
    return replace(made, domain=str(turned), iterators=_turned(statement.iterators, loops))


def _renaming(tuple_name: str, order: Order) -> Any:
    """Return the isl Map `{ name[..] -> name[..] }` that brings coordinates into this order."""
    old = ", ".join(f"v{k}" for k in range(len(order)))
    new = ", ".join(f"v{k}" for k in order)
    return isl.Map(f"{{ {tuple_name}[{old}] -> {tuple_name}[{new}] }}")


def _named(one: Any, kind: Any, names: list[str]) -> Any:
    for d, name in enumerate(names):
        one = one.set_dim_name(kind, d, name)
    return one


def _schedule(program: Program, loops: Mapping[str, Order]) -> str:
    """Return the schedule of the program with interchanged loops."""
    if not loops:
        return program.schedule
    schedule = isl.Schedule(program.schedule)
    renaming = isl.UnionMap("{ }")
    for one in program.statements:
        order = loops.get(one.name, tuple(range(len(one.iterators))))
        renaming = renaming.union(isl.UnionMap.from_map(_renaming(one.name, order)))
    turning = _Loops(loops, renaming)
    domain = schedule.get_domain()
    return str(to_schedule(turning.tree(from_isl(schedule), domain), domain.apply(renaming)))


@dataclass(frozen=True, slots=True, eq=False)
class _Loops:
    """Interchanges the loops of statements. `renaming`: the isl UnionMap from all instances to those with iterators in
    the new order.
    """

    orders: Mapping[str, Order]
    renaming: Any

    def tree(self, tree: Tree, domain: Any) -> Tree:
        """Return the new form of a tree that ran `domain`."""
        if isinstance(tree, SequenceTree):
            filters = tuple(part.intersect(domain) for part in tree.filters)
            return SequenceTree(tuple(part.apply(self.renaming) for part in filters),
                                tuple(map(self.tree, tree.children, filters)))
        statement = statements_of(domain)[0]
        return self._nest(tree, statement, 0) if statement in self.orders else tree

    def _nest(self, tree: Tree, statement: str, depth: int) -> Tree:
        """Return loops over the iterators of a statement in order, from `depth` on."""
        if isinstance(tree, Leaf):
            return tree
        assert isinstance(tree, Band), "the loops of an independent statement have no other statement"
        count, end = len(self.orders[statement]), depth + len(tree.members)
        members = tuple(coordinate(statement, count, d) for d in range(depth, end))
        return replace(tree, members=members, child=self._nest(tree.child, statement, end))
