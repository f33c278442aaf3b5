"""What a search needs to know of the stages of a program before it decides where they are computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

import islpy as isl

from generator.expr import Expr, Int, loads_of, names_of, parts
from generator.linear import simplify
from generator.polyhedral.kit.members import ends, ends_along
from generator.polyhedral.kit.parsed import map_of
from generator.polyhedral.pipelines.joining import sharable
from generator.polyhedral.pipelines.stages import (
    iterator_and_constant,
    possible_stages,
    read_subscripts,
    reads_by_element,
)
from generator.program import ELEMENT_BYTES, Program, Statement, Step

_SIDE = 8


@dataclass(frozen=True, slots=True)
class Reader:
    """What reads a stage to compute `array`: `elements` of it in the text, each `often` times (its reduction loops).

    `places` are these elements: per subscript a coordinate of the element of `array` that is computed (-1: none) and a
    constant; None where some subscript is something else. For a cube of `n` elements in each dimension, it reads a box
    of up to `slope * n + margin`.
    """

    array: str
    elements: int
    often: int
    slope: float
    margin: float
    places: tuple[tuple[tuple[int, int], ...], ...] | None


@dataclass(frozen=True, slots=True)
class StageFacts:
    """An array that can be a stage, as a search sees it.

    `statements` compute it, `element` is the size of an element in bytes, `size` that of what computes one:
    operators, numbers and names; `by_data`: data decide which of its elements
    somebody reads. `pointwise`: an element is made from one element at most of each array that it reads.
    """

    array: str
    statements: tuple[str, ...]
    extents: tuple[int, ...]
    element: int
    size: int
    by_data: bool
    pointwise: bool
    readers: tuple[Reader, ...]


@dataclass(frozen=True, slots=True)
class ComputedArray:
    """An array that `statements` of the program compute, and what they read: arrays computed before it, and `inputs`.

    `sharable`: it can share a kernel with others (`joining`).
    """

    array: str
    statements: tuple[str, ...]
    extents: tuple[int, ...]
    reads: tuple[str, ...]
    inputs: tuple[str, ...]
    sharable: bool


def computed_arrays(program: Program) -> tuple[ComputedArray, ...]:
    """All arrays that `program` computes, stages or not, in the order in which it begins them."""
    writers: dict[str, list[Statement]] = {}
    for statement in program.statements:
        writers.setdefault(statement.body.target.array, []).append(statement)
    found: list[ComputedArray] = []
    able = sharable(program)
    for array, statements in writers.items():
        read = {access.array for statement in statements for access in statement.accesses if access.kind == "read"}
        before = tuple(one.array for one in found if one.array in read)
        names = tuple(statement.name for statement in statements)
        inputs = tuple(sorted(name for name in read - writers.keys() if program.array(name).extents))
        found.append(ComputedArray(array, names, program.array(array).extents, before, inputs, array in able))
    return tuple(found)


@lru_cache(maxsize=16)
def stage_facts(program: Program) -> tuple[StageFacts, ...]:
    """The facts of all possible stages of `program`, in the order of the source."""
    possible = possible_stages(program)
    found = []
    for array, steps in possible.items():
        own = {step.statement.name for step in steps}
        readers = [s for s in program.statements if s.name not in own and any(a.array == array for a in s.accesses)]
        by_data = any(any(loads_of(i)) or not names_of(i) <= {*s.iterators}
                      for s in readers for index in read_subscripts(s, array) for i in index)
        stored = program.array(array)
        found.append(StageFacts(array, tuple(step.statement.name for step in steps), stored.extents,
                                ELEMENT_BYTES[stored.type], _size(steps), by_data, _is_pointwise(steps),
                                tuple(_reader(s, array, possible.get(s.body.target.array, ())) for s in readers)))
    return tuple(found)


def _is_pointwise(steps: Sequence[Step]) -> bool:
    if len(steps) > 1 or steps[0].loops:
        return False
    statement = steps[0].statement
    arrays = {access.array for access in statement.accesses if access.kind == "read"}
    return all(len(set(read_subscripts(statement, array))) <= 1 for array in arrays)


def _reader(statement: Statement, array: str, steps: Sequence[Step]) -> Reader:
    """How `statement` reads `array`; `steps` are those of the stage that it computes, if it is one."""
    step = next((step for step in steps if step.statement == statement), None)
    often = prod(1 + high - low for _, low, high in step.loops) if step else 1
    reads = [reads_by_element(step, n) if step else map_of(access.relation)
             for n, access in enumerate(statement.accesses) if access.array == array]
    small, large = (max(_extents(reads, side)) for side in (_SIDE, 2 * _SIDE))
    slope = (large - small) / _SIDE
    subscripts = tuple(dict.fromkeys(read_subscripts(statement, array)))
    places = [_places(index, statement) for index in subscripts]
    known = tuple(place for place in places if place is not None)
    return Reader(statement.body.target.array, len(subscripts), often, slope, small - slope * _SIDE,
                  known if len(known) == len(places) else None)


def _places(subscripts: Sequence[Expr], statement: Statement) -> tuple[tuple[int, int], ...] | None:
    """Subscripts in terms of the coordinates of the element that a statement computes, as in Reader.places."""
    own = {found[0]: (d, found[1]) for d, index in enumerate(statement.body.target.index)
           if (found := iterator_and_constant(index, statement.iterators)) is not None}
    places = []
    for index in map(simplify, subscripts):
        found = iterator_and_constant(index, statement.iterators)
        if isinstance(index, Int):
            places.append((-1, index.value))
        elif found is not None and found[0] in own:
            d, constant = own[found[0]]
            places.append((d, found[1] - constant))
        else:
            return None
    return tuple(places)


def _size(steps: Sequence[Step]) -> int:
    """The operators, numbers and names of what computes an element."""
    return sum(1 for step in steps for value in step.statement.body.computed for _ in parts(value))


def _extents(reads: Sequence[Any], side: int) -> list[int]:
    """The extents of the box that `reads` reach from a cube of this side in the middle of their domain; from all of it
    where nothing is read there.
    """
    ranges = []
    for read in reads:
        cube = read.domain()
        for d in range(cube.dim(isl.dim_type.set)):
            low, high = ends_along(cube, d)
            first = max(low, (low + high - side) // 2)
            cube = cube.lower_bound_val(isl.dim_type.set, d, isl.Val(first))
            cube = cube.upper_bound_val(isl.dim_type.set, d, isl.Val(first + side - 1))
        inside = read.intersect_domain(cube)
        ranges.append(ends((read if inside.is_empty() else inside).range()))
    return [1 + max(high for _, high in along) - min(low for low, _ in along) for along in zip(*ranges, strict=True)]
