"""The nests of a program, its groups of nests, and the groups that compute an array element by element.

A program is a sequence of nests. Consecutive nests that write the same arrays are a *group*. The nests of a group that
writes one array are its *steps* if each runs one statement, in the order of its iterators, that computes elements from
themselves and from other arrays; all but the first may be conditional.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import islpy as isl

from generator.expr import Binary, Expr, Int, Name, loads_of
from generator.polyhedral.kit.ast import expression
from generator.polyhedral.kit.members import coordinate, ends
from generator.polyhedral.kit.parsed import set_of
from generator.polyhedral.kit.regions import box
from generator.polyhedral.kit.tree import Band, Leaf, Tree, from_isl, statements_of
from generator.polyhedral.kit.tree import Sequence as SequenceTree
from generator.program import Program, Statement, Step

Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""The least and the greatest index along each dimension."""


@dataclass(frozen=True, slots=True, eq=False)
class Nest:
    """Loops next to others in a program: the instances that they run (an isl UnionSet), and their tree."""

    domain: Any
    tree: Tree

    @property
    def statements(self) -> tuple[str, ...]:
        """Sorted names."""
        return statements_of(self.domain)


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Consecutive nests, each of which writes an array that the previous one writes; `arrays`: all written arrays."""

    nests: tuple[Nest, ...]
    arrays: frozenset[str]

    @property
    def statements(self) -> tuple[str, ...]:
        """Names, nest by nest."""
        return tuple(name for nest in self.nests for name in nest.statements)


@lru_cache(maxsize=16)
def groups_of(program: Program) -> tuple[Group, ...]:
    """Return the groups of `program` in order."""
    schedule = isl.Schedule(program.schedule)
    groups: list[Group] = []
    for nest in nests_of(from_isl(schedule), schedule.get_domain()):
        arrays = frozenset(program.statement(name).body.target.array for name in nest.statements)
        if groups and arrays & groups[-1].arrays:
            groups[-1] = Group((*groups[-1].nests, nest), groups[-1].arrays | arrays)
        else:
            groups.append(Group((nest,), arrays))
    return tuple(groups)


def nests_of(tree: Tree, domain: Any) -> Iterator[Nest]:
    """Yield the nests of a schedule's tree on an isl UnionSet, in order."""
    if isinstance(tree, SequenceTree):
        for part, child in zip(tree.filters, tree.children, strict=True):
            yield from nests_of(child, part.intersect(domain))
    else:
        yield Nest(domain, tree)


@lru_cache(maxsize=16)
def steps_of(program: Program) -> tuple[tuple[Step, ...], ...]:
    """Return the statements of each group as steps; () for a group that writes several arrays, or with other
    statements.
    """
    return tuple(_steps(program, group) for group in groups_of(program))


def _steps(program: Program, group: Group) -> tuple[Step, ...]:
    if len(group.arrays) > 1:
        return ()
    extents, steps = program.array(min(group.arrays)).extents, []
    for number, nest in enumerate(group.nests):
        statement = program.statement(nest.statements[0])
        step = step_of(statement, extents, number == 0) if _in_order(nest, statement) else None
        if step is None:
            return ()
        steps.append(step)
    return tuple(steps)


def partly_written(program: Program, group: Group) -> tuple[Statement, Ranges | None] | None:
    """Return the statement of the first nest of a group that writes one array, and the (low, high) of the elements that
    it writes in each dimension (None: they are no box), if the only reason why the nest is no step is that it does not
    write all elements; else None.
    """
    nest, statement = group.nests[0], program.statement(group.nests[0].statements[0])
    return partly_written_by(program, statement) if len(group.arrays) == 1 and _in_order(nest, statement) else None


def partly_written_by(program: Program, statement: Statement) -> tuple[Statement, Ranges | None] | None:
    """Return the same for a statement whose iterations run in order."""
    body = statement.body
    step = step_of(statement, program.array(body.target.array).extents, False)
    own = any(load.array == body.target.array for value in body.computed for load in loads_of(value))
    if step is None or step.condition is None or step.loops or own or body.op or body.guard is not None:
        return None
    ranges = ends(set_of(statement.domain))
    if where_in_box(statement, ranges) is not None:
        return statement, None
    return statement, tuple((ranges[d][0] + constant, ranges[d][1] + constant) for d, constant in step.dims)


def _in_order(nest: Nest, statement: Statement) -> bool:
    """Return whether the nest runs one statement, in the order of its iterators."""
    return statements_in_order(nest) == (statement.name,) and runs_in_order(nest, statement)


def statements_in_order(nest: Nest) -> tuple[str, ...]:
    """Return the statements of each iteration of the innermost loop, in order; () if some have their own loops."""
    tree = _inside(nest.tree)[1]
    if isinstance(tree, SequenceTree):
        parts = [statements_of(nest.domain.intersect(part)) for part in tree.filters]
        alone = all(len(part) == 1 for part in parts) and all(isinstance(child, Leaf) for child in tree.children)
        return tuple(part[0] for part in parts) if alone else ()
    return nest.statements if isinstance(tree, Leaf) and len(nest.statements) == 1 else ()


def _inside(tree: Tree) -> tuple[list[Any], Tree]:
    """Return the members of the loops around a tree, and its inner part."""
    members: list[Any] = []
    while isinstance(tree, Band):
        members += tree.members
        tree = tree.child
    return members, tree


def runs_in_order(nest: Nest, statement: Statement) -> bool:
    """Return whether the loops of the nest are those of the statement's iterators."""
    members, domain = _inside(nest.tree)[0], isl.UnionSet.from_set(set_of(statement.domain))
    if len(members) != len(statement.iterators):
        return False
    plain = [coordinate(statement.name, len(members), d) for d in range(len(members))]
    return all(isl.UnionMap.from_union_pw_aff(a.intersect_domain(domain)).is_equal(
        isl.UnionMap.from_union_pw_aff(b.intersect_domain(domain))) for a, b in zip(members, plain, strict=True))


def step_of(statement: Statement, extents: tuple[int, ...], first: bool) -> Step | None:
    """Return the statement as a step of an array of these extents, the `first` or a later one; None if it is not a
    step.
    """
    body = statement.body
    exprs = (*body.computed, body.guard) if body.guard is not None else body.computed
    own = [load for value in exprs for load in loads_of(value) if load.array == body.target.array]
    if any(load.index != body.target.index for load in own):
        return None
    dims = [iterator_and_constant(index, statement.iterators) for index in body.target.index]
    known = tuple(d for d in dims if d is not None)
    domain = set_of(statement.domain)
    if len({position for position, _ in known}) < len(dims) or domain.is_empty():
        return None
    ranges = list(ends(domain))
    positions = {position for position, _ in known}
    loops = tuple((d, low, high) for d, (low, high) in enumerate(ranges) if d not in positions)
    for (position, constant), extent in zip(known, extents, strict=True):
        ranges[position] = (-constant, extent - 1 - constant)
    condition = where_in_box(statement, ranges)
    plain = not (body.op or own or loops or condition or body.guard)
    return Step(statement, known, loops, condition) if plain or not first else None


def where_in_box(statement: Statement, ranges: Sequence[tuple[int, int]]) -> Expr | None:
    """Return the condition for the domain of a statement within the box of its iterators' ranges; None if it is the
    whole box.
    """
    whole = box(statement.iterators, ranges).domain.set_tuple_name(statement.name)
    domain = set_of(statement.domain)
    return None if domain.is_equal(whole) else _condition(domain.gist(whole), statement.iterators)


def _condition(domain: Any, iterators: Sequence[str]) -> Expr:
    """Return the condition for a point to be in an isl Set."""
    points = domain.reset_tuple_id().move_dims(isl.dim_type.param, 0, isl.dim_type.set, 0, len(iterators))
    for d, name in enumerate(iterators):
        points = points.set_dim_name(isl.dim_type.param, d, name)
    return expression(isl.AstBuild.from_context(isl.Set("{ : }")).expr_from_set(points.params()))


def iterator_and_constant(index: Expr, iterators: Sequence[str]) -> tuple[int, int] | None:
    """Return (position, constant) of a subscript `iterator + constant`; None for others."""
    match index:
        case Name(name) if name in iterators:
            return iterators.index(name), 0
        case Binary("+", Name(name), Int(constant)) if name in iterators:
            return iterators.index(name), constant
        case Binary("-", Name(name), Int(constant)) if name in iterators:
            return iterators.index(name), -constant
        case _:
            return None
