"""Properties of the stages of a program that a search needs before it decides where they are computed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

import islpy as isl

from generator.expr import Binary, Expr, Int, Name, evaluate, loads_of, names_of, parts
from generator.linear import is_plain, is_sum, simplify, terms
from generator.polyhedral.kit.members import ends, ends_along
from generator.polyhedral.kit.parsed import map_of, set_of
from generator.polyhedral.pipelines.joining import lined, sharable
from generator.polyhedral.pipelines.moves import moves_of, terms_of, turnable_dimensions
from generator.polyhedral.pipelines.nests import iterator_and_constant
from generator.polyhedral.pipelines.stages import (
    possible_stages,
    read_subscripts,
    reads_by_element,
)
from generator.program import ELEMENT_BYTES, Program, Statement, Step, lines_of
from generator.storage_orders import Move

_SIDE = 8


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader of a stage, for the computation of `array`: `elements` in the text, each `often` times (its reduction
    loops).

    `places`: these elements; per subscript a coordinate of the computed element of `array` (-1: none) and a constant;
    None if some subscript is different. For a cube of `n` elements in each dimension, it reads a box of up to `slope *
    n + margin`; if it computes whole lines, with the slope and the margin `in_block`. `along` has both for each
    dimension of the box (of whole lines, if it computes these).
    """

    array: str
    elements: int
    often: int
    slope: float
    margin: float
    places: tuple[tuple[tuple[int, int], ...], ...] | None
    in_block: tuple[float, float] | None = None
    along: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class StageFacts:
    """An array that can be a stage, for a search.

    `statements` compute it. `element`: the bytes of an element. `size`: operators, numbers and names in the computation
    of one. `by_data`: the elements that are read depend on data. `pointwise`: an element is computed from at most one
    element of each array. `companions`: arrays that are computed together with it (the other values of a tuple), as
    elements of the same place; `element` and `size` then include all of them. `lines`: the dimensions along which all
    elements must be computed together, by one thread, in `rounds` iterations of all nests together. `operations`: like
    `size`, but all iterations of reduction loops count.
    """

    array: str
    statements: tuple[str, ...]
    extents: tuple[int, ...]
    element: int
    size: int
    by_data: bool
    pointwise: bool
    readers: tuple[Reader, ...]
    companions: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()
    rounds: int = 0
    operations: int = 0


@dataclass(frozen=True, slots=True)
class ComputedArray:
    """An array that `statements` of the program compute; `reads`: arrays computed before it; `inputs`: input arrays.

    `sharable`: it can share a kernel with others; `lined`: all of its definitions can share one (`joining`). `terms`:
    the most iterations of a statement that compute an element; 1 if data choose the elements. `turnable`, `moves`:
    as in `generator.storage_orders`.
    """

    array: str
    statements: tuple[str, ...]
    extents: tuple[int, ...]
    reads: tuple[str, ...]
    inputs: tuple[str, ...]
    sharable: bool
    lined: bool
    terms: int = 1
    turnable: tuple[int, ...] = ()
    moves: tuple[Move, ...] = ()


def computed_arrays(program: Program) -> tuple[ComputedArray, ...]:
    """Return all arrays that `program` computes, stages or not, in the order of their first statements."""
    writers: dict[str, list[Statement]] = {}
    for statement in program.statements:
        writers.setdefault(statement.body.target.array, []).append(statement)
    found: list[ComputedArray] = []
    able, whole = sharable(program), lined(program)
    for array, statements in writers.items():
        read = {access.array for statement in statements for access in statement.accesses if access.kind == "read"}
        before = tuple(one.array for one in found if one.array in read)
        names, stored = tuple(statement.name for statement in statements), program.array(array)
        inputs = tuple(sorted(name for name in read - writers.keys() if program.array(name).extents))
        found.append(ComputedArray(array, names, stored.extents, before, inputs, array in able, array in whole,
                                   max(map(terms_of, statements)), turnable_dimensions(stored, statements),
                                   moves_of(program, statements)))
    return tuple(found)


@lru_cache(maxsize=16)
def stage_facts(program: Program) -> tuple[StageFacts, ...]:
    """Return the facts of all possible stages of `program`, in source order; once for those computed together."""
    together: dict[tuple[Step, ...], list[str]] = {}
    for array, steps in possible_stages(program).items():
        together.setdefault(steps, []).append(array)
    owners = {step.statement.name: (arrays[0], step) for steps, arrays in together.items() for step in steps}
    return tuple(_facts(program, tuple(arrays), steps, owners) for steps, arrays in together.items())


def _facts(program: Program, arrays: tuple[str, ...], steps: tuple[Step, ...],
           owners: Mapping[str, tuple[str, Step]]) -> StageFacts:
    """Return the facts of stages. `owners`: the stage and the step of each statement."""
    own = {step.statement.name for step in steps}
    reads = [(s, array) for s in program.statements if s.name not in own
             for array in arrays if any(a.array == array for a in s.accesses)]
    by_data = any(any(loads_of(i)) or not names_of(i) <= {*s.iterators}
                  for s, array in reads for index in read_subscripts(s, array) for i in index)
    extents, lines = program.array(arrays[0]).extents, lines_of(steps)
    nests = {step.nest: _often(step) for step in steps}  # the steps of a nest share its iterations
    rounds = sum(nests.values()) if lines else 0
    readers = tuple(_reader(program, s, array, owners.get(s.name)) for s, array in reads)
    return StageFacts(arrays[0], tuple(step.statement.name for step in steps), extents,
                      sum(ELEMENT_BYTES[program.array(array).type] for array in arrays), _size(steps), by_data,
                      _is_pointwise(steps), readers, arrays[1:], lines, rounds, _operations(steps, extents, lines))


def _often(step: Step) -> int:
    """Return the number of iterations that compute an element, or all of its line."""
    return prod(1 + high - low for _, low, high in step.loops)


def _is_pointwise(steps: Sequence[Step]) -> bool:
    if any(step.loops or step.nest != steps[0].nest for step in steps) or (len(steps) > 1 and steps[0].nest is None):
        return False
    statements = [step.statement for step in steps]
    arrays = {access.array for s in statements for access in s.accesses if access.kind == "read"}
    return all(len({index for s in statements for index in read_subscripts(s, array)}) <= 1 for array in arrays)


def _reader(program: Program, statement: Statement, array: str, owner: tuple[str, Step] | None) -> Reader:
    """Return how `statement` reads `array`. `owner`: the stage that it computes, if any, and its step."""
    name, step = owner or (statement.body.target.array, None)
    lines = [d for d, (position, _) in enumerate(step.dims) if position < 0] if step else []
    extents = program.array(name).extents
    often = -(-_often(step) // prod(extents[d] for d in lines)) if step else 1
    numbers = [n for n, access in enumerate(statement.accesses) if access.array == array]
    by_instance = [map_of(statement.accesses[n].relation) for n in numbers]
    by_element = [reads_by_element(step, n, name) for n in numbers] if step else by_instance
    subscripts = tuple(dict.fromkeys(read_subscripts(statement, array)))
    everywhere = not (_move_alike(subscripts) and _move_evenly(subscripts, statement))
    along = _boxes(by_element, everywhere, lines)
    slope, margin = _line(*map(max, _boxes(by_instance, everywhere) if lines else along))
    places = [_element(index, statement, step) for index in subscripts]
    known = tuple(place for place in places if place is not None)
    return Reader(name, len(subscripts), often, slope, margin, known if len(known) == len(places) else None,
                  _line(*map(max, along)) if lines else None, tuple(map(_line, *along)))


def _move_alike(subscripts: Sequence[tuple[Expr, ...]]) -> bool:
    """Return whether all elements that a statement reads of an array keep their distances from place to place.

    Those of `t[x, y] + t[y, x]`, `t[x] + t[2 * x]` and `t[x] + t[0]` do not.
    """
    moving = ({frozenset(item for item in terms(simplify(index)).items() if item[0] is not None) for index in along}
              for along in zip(*subscripts, strict=True))
    return all(len(different) <= 1 for different in moving)


def _move_evenly(subscripts: Sequence[tuple[Expr, ...]], statement: Statement) -> bool:
    """Return whether no part of an image reads much farther elements than the middle does.

    That with `t[min(x, 500)]` does, for images of 1000 elements.
    """
    return all(_is_even(term, factor, statement) for along in subscripts for index in along
               for term, factor in terms(simplify(index)).items())


def _is_even(term: Expr | None, factor: int, statement: Statement) -> bool:
    """Return whether no part of an image reads much farther elements by a term of a subscript than the middle does:
    divisions differ by one, and remainders of small numbers not at all.

    Where data choose elements, all may be read anywhere.
    """
    match term:
        case None | Name():
            return True
        case Binary("/", inner, Int()):
            return abs(factor) == 1 and is_sum(inner)
        case Binary("%", inner, Int(divisor)):
            return divisor <= _SIDE and is_sum(inner)
    if not is_plain(term):
        return True
    limits = dict(zip(statement.iterators, ends(set_of(statement.domain)), strict=True))
    used = names_of(term)
    within = all(high - low < _SIDE for name, (low, high) in limits.items() if name in used)  # any cube has all
    return within or _is_border(term, {name: (low + high) // 2 for name, (low, high) in limits.items()})


def _is_border(term: Expr, middle: Mapping[str, int]) -> bool:
    """Return whether a term keeps subscripts between 0 and a number, and is not limited in the middle."""
    match term:
        case Binary("max", Binary("min", inner, end), Int(0)) if is_sum(inner) and not names_of(end):
            around = _SIDE * sum(abs(slope) for name, slope in terms(inner).items() if name is not None)
            return around <= evaluate(inner, middle) <= evaluate(end, {}) - around
        case _:
            return False


def _boxes(reads: Sequence[Any], everywhere: bool, lines: Collection[int] = ()) -> list[list[int]]:
    """Return the extents of the boxes that `reads` access from a small cube and from a large one: of the largest boxes
    if they are not equally large `everywhere`.
    """
    return [_largest(reads, side, lines, everywhere) for side in (_SIDE, 2 * _SIDE)]


def _largest(reads: Sequence[Any], side: int, lines: Collection[int], everywhere: bool) -> list[int]:
    """Return the extents of the box in the middle, with `everywhere` at least those in corners.

    For any two dimensions, some corner lies at the start of one and at the end of the other: there, elements are far
    apart that move along different dimensions.
    """
    found = _extents(reads, side, lines)
    if everywhere:
        dims = max(read.dim(isl.dim_type.in_) for read in reads)
        for bit in range(max(1, (dims - 1).bit_length())):
            for end in (0, 1):
                corner = tuple((d >> bit) & 1 == end for d in range(dims))
                found = list(map(max, found, _extents(reads, side, lines, corner)))
    return found


def _line(small: int, large: int) -> tuple[float, float]:
    """Return slope and margin, as in Reader, of the extents of both boxes."""
    slope = (large - small) / _SIDE
    return slope, small - slope * _SIDE


def _element(subscripts: Sequence[Expr], statement: Statement, step: Step | None) -> tuple[tuple[int, int], ...] | None:
    """Return subscripts in terms of the coordinates of the element that a statement computes, as in Reader.places."""
    dims = step.dims if step else [iterator_and_constant(index, statement.iterators) or (-1, 0)
                                   for index in statement.body.target.index]
    own = {position: (d, constant) for d, (position, constant) in enumerate(dims) if position >= 0}
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
    """Return the operators, numbers and names in the computation of an element."""
    return sum(1 for step in steps for value in step.statement.body.computed for _ in parts(value))


def _operations(steps: Sequence[Step], extents: Sequence[int], lines: Collection[int]) -> int:
    """Return the operators, numbers and names that the computation of an element executes."""
    line = prod(extents[d] for d in lines)
    return sum(-(-_often(step) // (line if lines else 1)) * sum(1 for value in step.statement.body.computed
                                                               for _ in parts(value)) for step in steps)


def _extents(reads: Sequence[Any], side: int, lines: Collection[int],
             corner: tuple[bool, ...] | None = None) -> list[int]:
    """Return the extents of the box that `reads` access from a cube of this side in the middle of their domain, or in a
    `corner`: per dimension, whether at its end.

    With whole `lines`; from the whole domain if nothing is read there.
    """
    ranges, cubes = [], list[tuple[Any, Any]]()
    for read in reads:
        domain = read.domain()
        cube = next((cube for other, cube in cubes if other.plain_is_equal(domain)), None)
        if cube is None:
            cube = _cube(domain, side, lines, corner)
            cubes.append((domain, cube))
        inside = read.intersect_domain(cube)
        ranges.append(ends((read if inside.is_empty() else inside).range()))
    return [1 + max(high for _, high in along) - min(low for low, _ in along) for along in zip(*ranges, strict=True)]


def _cube(domain: Any, side: int, lines: Collection[int], corner: tuple[bool, ...] | None) -> Any:
    """Return the cube of this side in the middle of an isl Set, or in a corner, with whole `lines`."""
    cube = domain
    for d in (d for d in range(cube.dim(isl.dim_type.set)) if d not in lines):
        low, high = ends_along(cube, d)
        middle = (low + high - side) // 2
        first = max(low, middle if corner is None else high + 1 - side if corner[d] else low)
        cube = cube.lower_bound_val(isl.dim_type.set, d, isl.Val(first))
        cube = cube.upper_bound_val(isl.dim_type.set, d, isl.Val(first + side - 1))
    return cube
