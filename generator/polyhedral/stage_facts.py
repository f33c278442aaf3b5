"""What a search needs to know of the stages of a program before it decides where they are computed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

import islpy as isl

from generator.expr import Expr, Load, children
from generator.polyhedral.stages import possible_stages, reads_by_element, subscripts
from generator.program import ELEMENT_BYTES, Program, Statement, Step

_SIDE = 8


@dataclass(frozen=True, slots=True)
class Reader:
    """What reads a stage to compute `array`: `elements` of it in the text, each `often` times (its reduction loops).

    For a cube of `n` elements in each dimension, it reads a box of up to `slope * n + margin`.
    """

    array: str
    elements: int
    often: int
    slope: float
    margin: float


@dataclass(frozen=True, slots=True)
class StageFacts:
    """An array that can be a stage, as a search sees it.

    `statements` compute it, `element` is the size of an element in bytes; `by_data`: data decide which of its elements somebody
    reads.
    """

    array: str
    statements: tuple[str, ...]
    extents: tuple[int, ...]
    element: int
    by_data: bool
    readers: tuple[Reader, ...]


@lru_cache(maxsize=16)
def stage_facts(program: Program) -> tuple[StageFacts, ...]:
    """The facts of all possible stages of `program`, in the order of the source."""
    possible = possible_stages(program)
    found = []
    for array, steps in possible.items():
        own = {step.statement.name for step in steps}
        readers = [s for s in program.statements if s.name not in own and any(a.array == array for a in s.accesses)]
        read = [index for s in readers for index in _all_subscripts(s, array)]
        by_data = any(isinstance(part, Load) for index in read for i in index for part in _parts(i))
        facts = program.array(array)
        found.append(StageFacts(array, tuple(step.statement.name for step in steps), facts.extents, ELEMENT_BYTES[facts.type], by_data,
                                tuple(_reader(s, array, possible.get(s.body.target.array, ())) for s in readers)))
    return tuple(found)


def _reader(statement: Statement, array: str, steps: Sequence[Step]) -> Reader:
    """How `statement` reads `array`; `steps` are those of the stage that it computes, if it is one."""
    step = next((step for step in steps if step.statement == statement), None)
    often = prod(1 + high - low for _, low, high in step.loops) if step else 1
    reads = [reads_by_element(step, n) if step else isl.Map(access.relation)
             for n, access in enumerate(statement.accesses) if access.array == array]
    small, large = (max(_extents(reads, side)) for side in (_SIDE, 2 * _SIDE))
    slope = (large - small) / _SIDE
    return Reader(statement.body.target.array, len(set(_all_subscripts(statement, array))), often, slope, small - slope * _SIDE)


def _extents(reads: Sequence[Any], side: int) -> list[int]:
    """The extents of the box that `reads` reach from a cube of this side in the middle of their domain."""
    ranges = []
    for read in reads:
        cube = read.domain()
        for d in range(cube.dim(isl.dim_type.set)):
            low, high = (int(end.to_python()) for end in (cube.dim_min_val(d), cube.dim_max_val(d)))
            first = max(low, (low + high - side) // 2)
            cube = cube.lower_bound_val(isl.dim_type.set, d, isl.Val(first)).upper_bound_val(isl.dim_type.set, d, isl.Val(first + side - 1))
        reached = read.intersect_domain(cube).range()
        ranges.append([(int(reached.dim_min_val(d).to_python()), int(reached.dim_max_val(d).to_python()))
                       for d in range(reached.dim(isl.dim_type.set))])
    return [1 + max(high for _, high in along) - min(low for low, _ in along) for along in zip(*ranges, strict=True)]


def _all_subscripts(statement: Statement, array: str) -> Iterator[tuple[Expr, ...]]:
    body = statement.body
    for expr in (body.value, *body.target.index, *((body.guard,) if body.guard else ())):
        yield from subscripts(expr, array)


def _parts(expr: Expr) -> Iterator[Expr]:
    yield expr
    for child in children(expr):
        yield from _parts(child)
