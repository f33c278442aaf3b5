"""The lines of an array that the points of a kernel own: data choose an element of the line, and the point the line.

A sum over a cell of an image updates `h[bin][y][x]`, and data choose `bin`. No other point of the parallel loops
accesses the bins of this cell, so the thread that runs the point can keep all of them while the kernel runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

import islpy as isl

from generator.expr import Expr
from generator.polyhedral.dependences.model import model
from generator.polyhedral.kit.ast import box_context, expression
from generator.polyhedral.kit.members import ends, value_range
from generator.polyhedral.kit.parsed import map_of, set_of
from generator.polyhedral.memory.accumulate import keepable
from generator.polyhedral.memory.coverage import values_at
from generator.polyhedral.memory.mapping import tile_member
from generator.polyhedral.memory.tile_boxes import Ranges, corner_of, tile_box
from generator.polyhedral.schedules.kernels import KernelPart
from generator.program import Program

POINT, ITERATOR = "antune_point", "antune_iterator"
"""Before the number of a parallel dimension, or of a statement's iterator, in the expressions of an OwnLine."""


@dataclass(frozen=True, slots=True, eq=False)
class OwnLine:
    """The line of `array` that a point of the parallel loops owns: `sizes[d]` elements from `corner[d]` on, per
    dimension.

    `corner` contains host iterators and the numbers of the point (POINT), which count from 0; `numbers`, by accessing
    statement, its iterators (ITERATOR): they are the numbers of the point that runs an instance. `points`: the isl Set
    of host iterators and numbers of points that access the array. `loaded`: the kernel may read elements that it has
    not written before.
    """

    array: str
    corner: tuple[Expr, ...]
    sizes: tuple[int, ...]
    numbers: Mapping[str, tuple[Expr, ...]]
    points: Any
    loaded: bool


@lru_cache(maxsize=1024)
def own_lines(program: Program, part: KernelPart, prefix: tuple[str, ...]) -> tuple[OwnLine, ...]:
    """Return the lines that single points of a kernel own, by array. `prefix`: names of the host iterators.

    Arrays whose elements a thread can keep in registers are excluded, and those that stages read.
    """
    if not part.parallel or part.coarse or any(stage.where == "block" for stage in program.stages):
        return ()
    written = {program.statement(name).body.target.array for name in part.statements if _by_data(program, name)}
    if not written:
        return ()
    inlined = {access.array for stage in program.stages for step in stage.steps for access in step.statement.accesses}
    excluded = inlined | {one.array for one in keepable(program, part)}
    found = (_line(program, part, array, prefix) for array in sorted(written - excluded))
    return tuple(line for line in found if line is not None)


def _by_data(program: Program, name: str) -> bool:
    """Return whether data choose the element that a statement writes."""
    statement = program.statement(name)
    return not map_of(statement.accesses[statement.body.target.access].relation).is_single_valued()


def _line(program: Program, part: KernelPart, array: str, prefix: tuple[str, ...]) -> OwnLine | None:
    """Return the line of `array`; None if points share elements, or have a single one."""
    accesses = {name: found for name in part.statements if (found := _accesses(program, part, name, array))}
    every = isl.UnionMap("{ }")
    for found in accesses.values():
        every = every.union(found)
    touched = _by_point(part, every)
    ranges = _ranges(part, prefix)
    box, elements = tile_box(array, touched, ranges, program.array(array).extents, always=False)
    if prod(box.sizes) == 1 or not _apart(elements, len(prefix)):
        return None
    first = any(_covers(program, part, name, array, accesses, elements) for name in accesses)
    numbers = {name: _numbers(program, part, name) for name in accesses}
    return OwnLine(array, box.corner, box.sizes, numbers, touched.domain(), not first)


def _accesses(program: Program, part: KernelPart, name: str, array: str) -> Any:
    """Return the isl UnionMap from instances of a statement to the elements that they access; None without any."""
    found = isl.UnionMap("{ }")
    for access in program.statement(name).accesses:
        if access.array == array:
            found = found.union(isl.UnionMap.from_map(map_of(access.relation)))
    found = found.intersect_domain(part.domain)
    return None if found.is_empty() else found


def _by_point(part: KernelPart, accesses: Any) -> Any:
    """Return the isl Map from host iterators and the numbers of points to the elements that are accessed there."""
    domain = accesses.domain()
    members = (*part.prefix, *(tile_member(dim, 1) for dim in part.parallel))
    numbers = values_at([member.intersect_domain(domain) for member in members], domain)
    return isl.Map.from_union_map(numbers.reverse().apply_range(accesses))


def _ranges(part: KernelPart, prefix: tuple[str, ...]) -> Ranges:
    hosts = [(host, *value_range(member.intersect_domain(part.domain)))
             for host, member in zip(prefix, part.prefix, strict=True)]
    return [*hosts, *((f"{POINT}{d}", 0, dim.extent - 1) for d, dim in enumerate(part.parallel))]


def _apart(elements: Any, prefix: int) -> bool:
    """Return whether different points of a launch have different elements."""
    pairs = elements.apply_range(elements.reverse())
    for position in range(prefix):
        pairs = pairs.equate(isl.dim_type.in_, position, isl.dim_type.out, position)
    return bool(pairs.is_subset(isl.Map.identity(pairs.get_space())))


def _covers(program: Program, part: KernelPart, name: str, array: str, accesses: Mapping[str, Any],
            elements: Any) -> bool:
    """Return whether a statement always writes all `elements` of lines, and does so before all other `accesses`.

    The program's order is enough: the kernel's order respects all dependences.
    """
    statement = program.statement(name)
    kinds = [access.kind for access in statement.accesses if access.array == array]
    if kinds != ["write"] or statement.body.guard is not None:
        return False
    written = accesses[name]
    if not elements.is_subset(_by_point(part, written)):
        return False
    times = isl.Schedule(program.schedule).get_map().intersect_domain(model(program).domain)
    earlier = times.lex_lt_union_map(times)
    others = (found for other, found in accesses.items() if other != name)
    return all(written.apply_range(found.reverse()).is_subset(earlier) for found in others)


def _numbers(program: Program, part: KernelPart, name: str) -> tuple[Expr, ...]:
    """Return the numbers of the point that runs an instance of a statement, in terms of its iterators."""
    instances = part.domain.extract_set(set_of(program.statement(name).domain).get_space())
    ranges = [(f"{ITERATOR}{k}", low, high) for k, (low, high) in enumerate(ends(instances))]
    values = []
    for dim in part.parallel:
        found = tile_member(dim, 1).intersect_domain(isl.UnionSet.from_set(instances)).get_pw_aff_list()
        values.append(found.get_at(0).gist(instances).reset_tuple_id(isl.dim_type.in_))
    return corner_of(values, ranges)


def points_exist(line: OwnLine, part: KernelPart, prefix: tuple[str, ...], tile: tuple[int, ...]) -> Expr:
    """Return the condition that a point of the tiles exists and accesses the array, in terms of its numbers."""
    names = [*prefix, *(f"{POINT}{d}" for d in range(len(tile)))]
    hosts = _ranges(part, prefix)[:len(prefix)]
    context = box_context([*hosts, *((f"{POINT}{d}", 0, -(-dim.extent // size) * size - 1)
                                     for d, (dim, size) in enumerate(zip(part.parallel, tile, strict=True)))])
    where = line.points
    for position, name in enumerate(names):
        where = where.set_dim_name(isl.dim_type.set, position, name)
    known = where.move_dims(isl.dim_type.param, 0, isl.dim_type.set, 0, len(names)).params()
    return expression(isl.AstBuild.from_context(context).expr_from_set(known.gist_params(context)))
