"""Groups of nests that compute several elements together: the values of a tuple, or the elements of a line.

    best[y][x] = .. < least[y][x] ? r : best[y][x];  least[y][x] = ..      two arrays, each element with its companion
    sum[y][x] = sum[y][x - 1] + in[y][x]                                   a line: all of a row, in order
    bins[y][in[y][r]] += 1                                                 a line, too: the element depends on data

A dimension is *free* if all subscripts along it, in the group's writes and in its reads of written arrays, are the same
iterator with the same constant. Then different indices there are independent: the instances of one index form a
separate program, which computes all elements of that index. The other dimensions are lines. Run in source order, such a
program may be run anywhere, and repeatedly, like the computation of a single element.

Arrays that only pass a value from statement to statement of one iteration (`w = ..; a[i] = w;`) are `local`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import islpy as isl

from generator.expr import Load, loads_of, names_of
from generator.polyhedral.kit.members import ends
from generator.polyhedral.kit.parsed import map_of, set_of
from generator.polyhedral.pipelines.nests import (
    Group,
    Nest,
    Ranges,
    iterator_and_constant,
    partly_written_by,
    runs_in_order,
    statements_in_order,
    step_of,
    where_in_box,
)
from generator.program import Program, Statement, Step, lines_of


@dataclass(frozen=True, slots=True)
class _Joint:
    """The statements of each nest of a group, in order; the `local` arrays, and the others."""

    nests: tuple[tuple[Statement, ...], ...]
    local: frozenset[str]
    kept: frozenset[str]

    def targets(self, nest: Sequence[Statement]) -> list[Load]:
        """Return the elements that a nest writes, without those of local arrays."""
        return [s.body.target for s in nest if s.body.target.array in self.kept]

    def touched(self, nest: Sequence[Statement]) -> list[Load]:
        """Return the same, and those of written arrays that it reads."""
        return [*self.targets(nest), *(load for s in nest for load in _loads(s) if load.array in self.kept)]


def local_arrays(program: Program, group: Group) -> frozenset[str]:
    """Return the arrays of a group that only pass a value from statement to statement of one iteration."""
    nests = tuple(_statements(program, nest) for nest in group.nests)
    return frozenset(array for array in group.arrays if all(nests) and _is_local(program, array, nests))


def partly_written_jointly(program: Program, group: Group) -> Ranges | None:
    """Return the box of elements that a nest writes of its only array that is not local, if it is not the whole array,
    and if only that keeps the group from being steps.
    """
    kept = group.arrays - local_arrays(program, group)
    writing = [s for s in map(program.statement, group.statements) if s.body.target.array in kept]
    if len(group.nests) > 1 or len(kept) != 1 or len(writing) != 1:
        return None
    found = partly_written_by(program, writing[0])
    return found[1] if found else None


def joint_steps(program: Program, group: Group) -> tuple[Step, ...]:
    """Return the statements of a group as steps that compute tuples or lines; () if they are not."""
    nests, local = tuple(_statements(program, nest) for nest in group.nests), local_arrays(program, group)
    if not all(nests):
        return ()
    joint = _Joint(nests, local, group.arrays - local)
    extents = {program.array(array).extents for array in joint.kept}
    if len(extents) != 1 or () in extents or not all(map(joint.targets, nests)):
        return ()
    [sizes] = extents
    if not all(_begins(joint, array, sizes) for array in joint.kept):
        return ()
    dims = _dims(joint, len(sizes))
    return tuple(step for number, (nest, along) in enumerate(zip(nests, dims, strict=True))
                 for step in _steps(joint, number, nest, along, sizes))


def _statements(program: Program, nest: Nest) -> tuple[Statement, ...]:
    """Return the statements of a nest, if each of its iterations runs all of them in sequence; else ()."""
    statements = tuple(program.statement(name) for name in statements_in_order(nest))
    if not statements or not all(runs_in_order(nest, statement) for statement in statements):
        return ()
    first = statements[0]
    domain = set_of(first.domain).reset_tuple_id()
    alike = all(s.iterators == first.iterators and set_of(s.domain).reset_tuple_id().is_equal(domain)
                for s in statements[1:])
    return statements if alike and not domain.is_empty() else ()


def _loads(statement: Statement) -> Iterator[Load]:
    """Yield all loads of a statement."""
    body = statement.body
    for expr in (*body.computed, *body.target.index, *((body.guard,) if body.guard is not None else ())):
        yield from loads_of(expr)


def _is_local(program: Program, array: str, nests: Sequence[Sequence[Statement]]) -> bool:
    """Return whether an earlier statement of the same iteration always writes every element of an array that is read.

    Equal subscripts are the same element, because they contain only iterators and constants.
    """
    users = [s for s in program.statements if any(access.array == array for access in s.accesses)]
    first = users[0].body
    if program.array(array).role != "temp" or not any(all(s in nest for s in users) for nest in nests):
        return False
    loads = [load for s in users for load in (*_loads(s), s.body.target) if load.array == array]
    plain = first.target.array == array and not first.op and first.guard is None
    return plain and array not in {load.array for load in _loads(users[0])} and all(
        load.index == first.target.index for load in loads) and not any(
        any(loads_of(i)) or not names_of(i) <= {*users[0].iterators} for i in first.target.index)


def _begins(joint: _Joint, array: str, extents: tuple[int, ...]) -> bool:
    """Return whether the first statement that accesses an array assigns all of its elements, each independently."""
    for nest in joint.nests:
        for statement in nest:
            if statement.body.target.array == array:
                step = step_of(statement, extents, True)
                return step is not None and all(load.array not in joint.kept for load in _loads(statement))
            if any(load.array == array for load in _loads(statement)):
                return False
    return False


def _dims(joint: _Joint, count: int) -> list[tuple[tuple[int, int], ...]]:
    """Return, for each nest, the iterator and the constant along each dimension; (-1, 0) along lines."""
    found = [[_along(joint, nest, d) for d in range(count)] for nest in joint.nests]
    free = [all(along[d] is not None for along in found) for d in range(count)]
    for along in found:
        seen: set[int] = set()
        for d, place in enumerate(along):
            if place is not None and free[d]:
                free[d] = place[0] not in seen
                seen.add(place[0])
    return [tuple(place if place is not None and free[d] else (-1, 0) for d, place in enumerate(along))
            for along in found]


def _along(joint: _Joint, nest: Sequence[Statement], dim: int) -> tuple[int, int] | None:
    """Return the iterator and the constant of all subscripts of a nest along a dimension; None if they differ."""
    places = {iterator_and_constant(load.index[dim], nest[0].iterators) for load in joint.touched(nest)}
    return next(iter(places)) if len(places) == 1 else None


def _steps(joint: _Joint, number: int, nest: Sequence[Statement], dims: tuple[tuple[int, int], ...],
           extents: tuple[int, ...]) -> Iterator[Step]:
    domain = set_of(nest[0].domain)
    positions = {position for position, _ in dims}
    ranges = list(ends(domain))
    loops = tuple((d, low, high) for d, (low, high) in enumerate(ranges) if d not in positions)
    for (position, constant), extent in zip(dims, extents, strict=True):
        if position >= 0:
            ranges[position] = (-constant, extent - 1 - constant)
    condition = where_in_box(nest[0], ranges)
    for statement in nest:
        yield Step(statement, dims, loops, condition, number, statement.body.target.array in joint.local)


def instances_by_element(step: Step, array: str = "") -> Any:
    """Return `{ A[element] -> S[instance] }` (isl Map): the instances of a step that compute an element of `array`.

    `array` is its target or comes with it. For a line, elements are not distinguished.
    """
    body, array = step.statement.body, array or step.statement.body.target.array
    if body.target.array == array and not lines_of((step,)):
        return map_of(step.statement.accesses[body.target.access].relation).reverse()
    iterators = [f"i{k}" for k in range(len(step.statement.iterators))]
    element = [f"e{d}" if position < 0 else f"i{position} + {constant}" for d, (position, constant) in
               enumerate(step.dims)]
    outside = f"{step.statement.name}[{', '.join(iterators)}]"
    relation = isl.Map(f"{{ {array}[{', '.join(f'e{d}' for d in range(len(step.dims)))}] -> {outside} : "
                       f"{' and '.join(f'e{d} = {one}' for d, one in enumerate(element))} }}")
    return relation.intersect_range(set_of(step.statement.domain))
