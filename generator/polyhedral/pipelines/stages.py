"""Which arrays of a program can be computed where they are read, and what must be true for that.

    blur_x[y][x] = in[y][x] + in[y][x + 1];     from other arrays alone: it may be computed anywhere, and twice

A program is a sequence of nests. Nests that write the same arrays, one right after the other, are a *group*. An array
is a stage if one group writes it and nothing else, statement by statement and element by element; if each element is
computed from itself and from arrays that are complete before the group and never written again (by all statements but
the first only if a condition holds, maybe); if nobody sees it after the program; and if who reads it under a condition
could do so without (`unsafe_to_speculate`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import islpy as isl

from generator.expr import Binary, Expr, Int, Name, loads_of
from generator.polyhedral.kit.ast import expression
from generator.polyhedral.kit.members import coordinate, ends
from generator.polyhedral.kit.parsed import map_of, set_of
from generator.polyhedral.kit.regions import box
from generator.polyhedral.kit.tree import Band, Leaf, Tree, from_isl, statements_of
from generator.polyhedral.kit.tree import Sequence as SequenceTree
from generator.polyhedral.pipelines.speculation import unsafe_to_speculate
from generator.program import Program, Statement, Step


@dataclass(frozen=True, slots=True, eq=False)
class Nest:
    """Loops that stand beside others in a program: the instances that they run (an isl UnionSet), and how."""

    domain: Any
    tree: Tree

    @property
    def statements(self) -> tuple[str, ...]:
        """Sorted names."""
        return statements_of(self.domain)


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Nests in a row of which each writes an array that the one before it writes; `arrays` are all that they write."""

    nests: tuple[Nest, ...]
    arrays: frozenset[str]

    @property
    def statements(self) -> tuple[str, ...]:
        """Names, nest by nest."""
        return tuple(name for nest in self.nests for name in nest.statements)


@lru_cache(maxsize=16)
def groups_of(program: Program) -> tuple[Group, ...]:
    """The groups of `program` in order."""
    schedule = isl.Schedule(program.schedule)
    groups: list[Group] = []
    for nest in _nests(from_isl(schedule), schedule.get_domain()):
        arrays = frozenset(program.statement(name).body.target.array for name in nest.statements)
        if groups and arrays & groups[-1].arrays:
            groups[-1] = Group((*groups[-1].nests, nest), groups[-1].arrays | arrays)
        else:
            groups.append(Group((nest,), arrays))
    return tuple(groups)


def _nests(tree: Tree, domain: Any) -> Iterator[Nest]:
    if isinstance(tree, SequenceTree):
        for part, child in zip(tree.filters, tree.children, strict=True):
            yield from _nests(child, part.intersect(domain))
    else:
        yield Nest(domain, tree)


@lru_cache(maxsize=16)
def possible_stages(program: Program) -> Mapping[str, tuple[Step, ...]]:
    """The steps of every array that can be a stage, in the order of the source."""
    groups = groups_of(program)
    last = {array: number for number, group in enumerate(groups) for array in group.arrays}
    often = [array for group in groups for array in group.arrays]
    temporary = {array.name for array in program.arrays if array.role == "temp" and array.extents}
    for statement in program.statements:
        temporary -= unsafe_to_speculate(program, statement, temporary)
    found = {}
    for number, group in enumerate(groups):
        name = min(group.arrays)
        if len(group.arrays) > 1 or often.count(name) > 1 or name not in temporary:
            continue
        read = {a.array for s in group.statements for a in program.statement(s).accesses} - group.arrays
        if all(last.get(other, -1) < number for other in read) and (steps := steps_of(program)[number]):
            found[name] = steps
    return MappingProxyType(found)


@lru_cache(maxsize=16)
def steps_of(program: Program) -> tuple[tuple[Step, ...], ...]:
    """The statements of each group as steps; () for a group that writes several arrays, or where one is none."""
    return tuple(_steps(program, group) for group in groups_of(program))


def _steps(program: Program, group: Group) -> tuple[Step, ...]:
    if len(group.arrays) > 1:
        return ()
    extents, steps = program.array(min(group.arrays)).extents, []
    for number, nest in enumerate(group.nests):
        statement = program.statement(nest.statements[0])
        step = _step(statement, extents, number == 0) if _in_order(nest, statement) else None
        if step is None:
            return ()
        steps.append(step)
    return tuple(steps)


def _in_order(nest: Nest, statement: Statement) -> bool:
    """Whether the nest runs one statement, in the order of its iterators."""
    members: list[Any] = []
    tree = nest.tree
    while isinstance(tree, Band):
        members += tree.members
        tree = tree.child
    if not isinstance(tree, Leaf) or len(nest.statements) > 1 or len(members) != len(statement.iterators):
        return False
    plain = [coordinate(statement.name, len(members), d) for d in range(len(members))]
    return all(isl.UnionMap.from_union_pw_aff(a.intersect_domain(nest.domain)).is_equal(
        isl.UnionMap.from_union_pw_aff(b.intersect_domain(nest.domain))) for a, b in zip(members, plain, strict=True))


def _step(statement: Statement, extents: tuple[int, ...], first: bool) -> Step | None:
    """The statement as a step of an array of these extents, the `first` or a later one; None when it is none."""
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
    whole = box(statement.iterators, ranges).domain.set_tuple_name(statement.name)
    condition = None if domain.is_equal(whole) else _condition(domain.gist(whole), statement.iterators)
    plain = not (body.op or own or loops or condition or body.guard)
    return Step(statement, known, loops, condition) if plain or not first else None


def _condition(domain: Any, iterators: Sequence[str]) -> Expr:
    """Whether a point is in an isl Set."""
    points = domain.reset_tuple_id().move_dims(isl.dim_type.param, 0, isl.dim_type.set, 0, len(iterators))
    for d, name in enumerate(iterators):
        points = points.set_dim_name(isl.dim_type.param, d, name)
    return expression(isl.AstBuild.from_context(isl.Set("{ : }")).expr_from_set(points.params()))


def read_subscripts(statement: Statement, array: str) -> Iterator[tuple[Expr, ...]]:
    """Those of all loads of `array` in a statement: in its value, in the subscripts of its target, in its guard."""
    body = statement.body
    for expr in (*body.computed, *body.target.index, *((body.guard,) if body.guard else ())):
        yield from (load.index for load in loads_of(expr) if load.array == array)


def iterator_and_constant(index: Expr, iterators: Sequence[str]) -> tuple[int, int] | None:
    """(position, constant) of a subscript `iterator + constant`; None for others."""
    match index:
        case Name(name) if name in iterators:
            return iterators.index(name), 0
        case Binary("+", Name(name), Int(constant)) if name in iterators:
            return iterators.index(name), constant
        case Binary("-", Name(name), Int(constant)) if name in iterators:
            return iterators.index(name), -constant
        case _:
            return None


def reads_by_element(step: Step, number: int) -> Any:
    """`{ A[element] -> B[index] }` (isl Map): what access `number` of a step reads to compute an element."""
    statement = step.statement
    write = statement.accesses[statement.body.target.access]
    return map_of(write.relation).reverse().apply_range(map_of(statement.accesses[number].relation))


@lru_cache(maxsize=1024)
def reached(program: Program, statements: tuple[str, ...]) -> frozenset[str]:
    """The stages of a program that these statements read, also by way of others."""
    found: set[str] = set()
    read = {a.array for name in statements for a in program.statement(name).accesses}
    for stage in reversed(program.stages):
        if stage.array in read:
            found.add(stage.array)
            read |= {a.array for step in stage.steps for a in step.statement.accesses}
    return frozenset(found)
