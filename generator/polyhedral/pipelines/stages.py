"""The arrays of a program that can be computed where they are read, and the conditions for that.

    blur_x[y][x] = in[y][x] + in[y][x + 1];   from other arrays only: it may be computed anywhere, and repeatedly

An array is a stage if only one group of nests writes it (`nests`); if each element is computed from itself and from
arrays that are complete before the group and never written again, or else together with others of a tuple or a line
(`joint`); if it is not live after the program; and if its conditional reads are safe without their conditions
(`unsafe_to_speculate`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from math import prod
from types import MappingProxyType
from typing import Any

from generator.expr import Expr, Load, loads_of
from generator.polyhedral.kit.parsed import map_of
from generator.polyhedral.pipelines.joint import instances_by_element, joint_steps
from generator.polyhedral.pipelines.nests import Group, groups_of, steps_of
from generator.polyhedral.pipelines.speculation import unsafe_to_speculate
from generator.program import Program, Statement, Step, computed_by, lines_of


@lru_cache(maxsize=16)
def possible_stages(program: Program) -> Mapping[str, tuple[Step, ...]]:
    """Return the steps of every array that can be a stage, in source order; arrays with the same steps are adjacent."""
    groups = groups_of(program)
    last = {array: number for number, group in enumerate(groups) for array in group.arrays}
    often = [array for group in groups for array in group.arrays]
    temporary = {array.name for array in program.arrays if array.role == "temp" and array.extents}
    safe = set(temporary)
    for statement in program.statements:
        own = groups[last[statement.body.target.array]].arrays
        safe -= unsafe_to_speculate(program, statement, safe - own)
    found: dict[str, tuple[Step, ...]] = {}
    for number, group in enumerate(groups):
        if any(often.count(array) > 1 for array in group.arrays):
            continue
        read = {a.array for s in group.statements for a in program.statement(s).accesses} - group.arrays
        if any(last.get(other, -1) >= number for other in read):
            continue
        steps = steps_of(program)[number] or joint_steps(program, group)
        arrays = _read_there(program, group, steps)
        if arrays and arrays <= safe and set(computed_by(steps)) <= temporary:
            found |= dict.fromkeys(sorted(arrays), steps)
    return MappingProxyType(found)


def _read_there(program: Program, group: Group, steps: tuple[Step, ...]) -> frozenset[str]:
    """Return the arrays of `steps` that others read; for lines, all of them."""
    computed = frozenset(computed_by(steps))
    if len(computed) <= 1 or lines_of(steps):
        return computed
    others = (s for s in program.statements if s.name not in group.statements)
    return computed & {access.array for statement in others for access in statement.accesses}


def read_subscripts(statement: Statement, array: str) -> Iterator[tuple[Expr, ...]]:
    """Yield the subscripts of all loads of `array` in a statement."""
    yield from (load.index for load in loads_in(statement) if load.array == array)


def loads_in(statement: Statement) -> Iterator[Load]:
    """Yield all loads in a statement: in its value, its target's subscripts, its guard."""
    body = statement.body
    for expr in (*body.computed, *body.target.index, *((body.guard,) if body.guard else ())):
        yield from loads_of(expr)


def reads_by_element(step: Step, number: int, array: str = "") -> Any:
    """Return `{ A[element] -> B[index] }` (isl Map): what access `number` of a step reads to compute an element of
    `array`.

    `array`: the step's target by default.
    """
    return instances_by_element(step, array).apply_range(map_of(step.statement.accesses[number].relation))


@lru_cache(maxsize=1024)
def reached(program: Program, statements: tuple[str, ...], but: frozenset[str] = frozenset()) -> frozenset[str]:
    """Return the stages of a program that these statements read, directly or through others (except those in `but`)."""
    found: set[str] = set()
    read = {a.array for name in statements for a in program.statement(name).accesses}
    for stage in reversed(program.stages):
        if not read.isdisjoint(stage.arrays):
            found.add(stage.array)
            if stage.array in but:
                continue
            read |= {a.array for step in stage.steps for a in step.statement.accesses}
    return frozenset(found)


def most_terms(program: Program, statements: tuple[str, ...]) -> int:
    """Return the most iterations in which a thread that runs `statements` computes an element of an inline stage."""
    shared = frozenset(stage.array for stage in program.stages if stage.where == "block")
    found = reached(program, statements, shared) - shared
    return max((prod(high - low + 1 for _, low, high in step.loops)
                for stage in program.stages if stage.array in found for step in stage.steps), default=1)
