"""The dataflow of a program (`generator.dataflow`): how many elements of other arrays an element needs.

Every read is an isl relation from iterations to elements. If the relation is a function, it is evaluated away from
borders: in the middle of the domain, on the piece that holds there, so that clamped coordinates do not count. Otherwise
it depends on data, and any element may be needed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from typing import Any, TypeAlias

import islpy as isl

from generator.dataflow import Dataflow, Input, Node, Reach, Read
from generator.expr import Load
from generator.facts import Operations
from generator.operations import operations_of
from generator.polyhedral.kit.members import ends, ends_along
from generator.polyhedral.kit.parsed import map_of, set_of
from generator.polyhedral.pipelines.arithmetic import arithmetic_of, counted_loads, registers_of
from generator.polyhedral.pipelines.histogram import histogram
from generator.polyhedral.pipelines.joint import joint_steps, local_arrays
from generator.polyhedral.pipelines.nests import Group, groups_of, partly_written, steps_of
from generator.polyhedral.pipelines.quasi_affine import linear_part
from generator.polyhedral.pipelines.stages import possible_stages
from generator.polyhedral.pipelines.trimming import trimmed
from generator.program import ELEMENT_BYTES, Program, Statement, Step

Point: TypeAlias = tuple[int, ...]


@lru_cache(maxsize=16)
def dataflow(program: Program) -> Dataflow:
    """Return the dataflow of `program`, in source order. Of results, only the elements count that are written."""
    program = trimmed(program, ("temp", "out"))
    possible = possible_stages(program)
    nodes: dict[str, Node] = {}
    for group, steps in zip(groups_of(program), steps_of(program), strict=True):
        arrays = group.arrays
        if len(arrays) > 1 and len(arrays - (local := local_arrays(program, group))) == 1:
            steps = joint_steps(program, group)
            arrays = arrays - local if steps else arrays
        for array in sorted(arrays):
            node = _node(program, group, steps, array, array in possible)
            nodes[array] = node if array not in nodes else _rewritten(nodes[array], node)
    inputs = (Input(a.name, a.extents, ELEMENT_BYTES[a.type]) for a in program.arrays if a.name not in nodes)
    return Dataflow(tuple(nodes.values()), tuple(inputs))


def _node(program: Program, group: Group, steps: Sequence[Step], array: str, stage: bool) -> Node:
    stored = program.array(array)
    statements = [s for s in program.statements if s.name in group.statements and s.body.target.array == array]
    names, element = tuple(s.name for s in statements), ELEMENT_BYTES[stored.type]
    seen = stored.role != "temp"
    if not steps:
        reason = _why_unknown(program, group, array)
        reads = tuple(merged_reads(read for s in statements for read in _whole_reads(program, s)))
        return Node(array, names, stored.extents, element, 0.0, Operations(), 1, reads, False, seen, False, reason)
    bodies = [step.statement.body for step in steps]
    local = {step.statement.body.target.array for step in steps if step.local}
    single = [read for step in steps for read in reads_of(program, step) if read.array not in local]
    reads = tuple(merged_reads(single))
    registers = max(registers_of(value) for body in bodies for value in body.computed) + len(local)
    reduces = len(steps) > 1 + len(local) or any(step.loops for step in steps)
    arithmetic, operations = work_of(program, steps)
    return Node(array, names, stored.extents, element, arithmetic, operations, registers, reads, stage, seen, reduces,
                digest=_digest(program, stored.type, steps), histogram=histogram(program, array, steps, single))


def _why_unknown(program: Program, group: Group, array: str) -> str:
    """Return why it is not known what an element of `array` needs, and what to do about it if that is possible."""
    if len(group.arrays) > 1:
        return f"`{array}` is computed in loops with other arrays"
    found = partly_written(program, group)
    if found is None:
        return f"`{array}` is not computed element by element, each once and from other arrays"
    statement, ranges = found
    written, whole = (f"`{array}{''.join(f'[{low}..{high}]' for low, high in one)}`"
                      for one in (ranges or (), [(0, extent - 1) for extent in program.array(array).extents]))
    part = f"only {written} of {whole}" if ranges else f"only some elements of `{array}`"
    first, again = ("first ", ", even if others overwrite some of them") if len(group.nests) > 1 else ("", "")
    sizes = "".join(f"[{high - low + 1}]" for low, high in ranges or ())
    smaller = f", or declare it as `{array}{sizes}` with subscripts from 0 on" if ranges and not again else ""
    return (f"the {first}loops in {program.file}:{statement.line} write {part}; let them write all of them{again}"
            f"{smaller}")


def _digest(program: Program, kind: str, steps: Sequence[Step]) -> str:
    """Return a hash of the computation of an element, with the types of what it reads."""
    read = sorted({access.array for step in steps for access in step.statement.accesses})
    text = repr((kind, [(name, program.array(name).type) for name in read],
                 [(step.statement.iterators, step.statement.body, step.dims, step.loops, step.condition)
                  for step in steps]))  # fmt: skip
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def work_of(program: Program, steps: Sequence[Step]) -> tuple[float, Operations]:
    """Return arithmetic and operations per element: an update loads and changes what it stores."""
    types = {one.name: one.type for one in program.arrays}
    arithmetic, operations = 0.0, Operations()
    for step in steps:
        body, often = step.statement.body, prod(high - low + 1 for _, low, high in step.loops)
        stores = 0.0 if step.local else 1.0
        arithmetic += often * (stores + sum(map(arithmetic_of, body.computed)) + (2.0 if body.op else 0.0))
        for value in body.computed:
            operations = operations.plus(operations_of(value, types), often)
        operations = operations.plus(Operations(adds=1.0 if body.op else 0.0), often)
    return arithmetic, operations


def _rewritten(first: Node, second: Node) -> Node:
    """Return the node of an array that is written again later."""
    return replace(
        first,
        statements=(*first.statements, *second.statements),
        stage=False,
        reads=tuple(merged_reads((*first.reads, *second.reads))),
        refusal=f"`{first.array}` is written again after it was complete",
    )


def _whole_reads(program: Program, statement: Statement) -> Iterator[Read]:
    """Yield reads of arbitrary elements."""
    for access in statement.accesses:
        extents = program.array(access.array).extents
        if access.kind == "read" and extents and access.array != statement.body.target.array:
            still = (0.0,) * len(program.array(statement.body.target.array).extents)
            yield Read(access.array, tuple(Reach(still, 0.0, n - 1.0) for n in extents), 1, 1.0, 1.0, True)


def reads_of(program: Program, step: Step) -> Iterator[Read]:
    """Yield what a step reads to compute an element, load by load."""
    statement, target = step.statement, step.statement.body.target.array
    often = prod(high - low + 1 for _, low, high in step.loops)
    counts: dict[Load, float] = {}
    for value in statement.body.computed:
        for load, times in counted_loads(value, float(often)):
            if load.index and load.array != target:
                counts[load] = counts.get(load, 0.0) + times
    alike: dict[Load, Load] = {}
    for load, times in counts.items():
        places = _places(map_of(statement.accesses[load.access].relation), statement, program.array(load.array).extents)
        first = alike.setdefault(replace(load, access=-1), load)
        yield Read(
            load.array,
            tuple(_of_element(place, step) for place in places),
            int(first is load),
            float(often) if first is load else 0.0,
            times,
            any(place.by_data for place in places),
            times if any(place.clamped for place in places) else 0.0,
        )


def merged_reads(reads: Iterator[Read] | Sequence[Read]) -> list[Read]:
    """Merge reads of one array with equal slopes into one read of the hull."""
    found: dict[tuple[str, tuple[tuple[float, ...], ...], bool], Read] = {}
    for read in reads:
        key = (read.array, tuple(reach.slopes for reach in read.reach), read.by_data)
        other = found.get(key)
        if other is not None:
            read = replace(
                read,
                elements=read.elements + other.elements,
                different=read.different + other.different,
                loads=read.loads + other.loads,
                clamped=read.clamped + other.clamped,
                reach=tuple(
                    Reach(a.slopes, min(a.low, b.low), max(a.high, b.high))
                    for a, b in zip(read.reach, other.reach, strict=True)
                ),
            )
        found[key] = read
    return list(found.values())


@dataclass(frozen=True, slots=True)
class _Place:
    """The position of reads along one dimension: `reach` in terms of iterators. `clamped`: other forms hold at borders.
    """

    reach: Reach
    by_data: bool
    clamped: bool = False


def _of_element(place: _Place, step: Step) -> Reach:
    """Return the reach in terms of elements instead of iterators, over all values of the step's loops."""
    slopes, low, high = place.reach.slopes, place.reach.low, place.reach.high
    if not slopes:
        return Reach((0.0,) * len(step.dims), low, high)
    for position, first, last in step.loops:
        ends_of = (slopes[position] * first, slopes[position] * last)
        low, high = low + min(ends_of), high + max(ends_of)
    moved = sum(slopes[position] * constant for position, constant in step.dims)
    return Reach(tuple(slopes[position] for position, _ in step.dims), low - moved, high - moved)


def _places(relation: Any, statement: Statement, extents: tuple[int, ...]) -> list[_Place]:
    """Return where `relation` (iterations to elements) reads, dimension by dimension."""
    middle = tuple((low + high) // 2 for low, high in ends(set_of(statement.domain)))
    found = []
    for d in range(len(extents)):
        along = relation.project_out(isl.dim_type.out, d + 1, len(extents) - d - 1)
        along = along.project_out(isl.dim_type.out, 0, d)
        if along.is_single_valued():
            function = along.as_pw_multi_aff().get_at(0)
            found.append(_Place(_reach(function, middle), False, len(function.get_pieces()) > 1))
        else:
            low, high = ends_along(along.range(), 0)
            found.append(_Place(Reach((), float(max(low, 0)), float(min(high, extents[d] - 1))), True))
    return found


def _reach(function: Any, middle: Point) -> Reach:
    """Return the linear form of `function` (iterations to one index) around `middle`."""
    return Reach(*linear_part(_piece(function, middle)))


def _piece(function: Any, middle: Point) -> Any:
    """Return the affine function of the piece that contains `middle`; of the first one if none does."""
    pieces = function.get_pieces()
    for piece, values in pieces:
        for q, x in enumerate(middle):
            piece = piece.fix_val(isl.dim_type.set, q, isl.Val(x))
        if not piece.is_empty():
            return values
    return pieces[0][1]
