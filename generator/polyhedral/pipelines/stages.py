"""Which arrays of a program can be computed where they are read, and what must be true for that.

    blur_x[y][x] = in[y][x] + in[y][x + 1];     from other arrays alone: it may be computed anywhere, and twice

An array is a stage if one group of nests writes it (`nests`) and nothing else; if each element is computed from itself
and from arrays that are complete before the group and never written again, or else with others of a tuple or a line
(`joint`); if nobody sees it after the program; and if who reads it under a condition could do so without
(`unsafe_to_speculate`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from generator.expr import Expr, loads_of
from generator.polyhedral.kit.parsed import map_of
from generator.polyhedral.pipelines.joint import instances_by_element, joint_steps
from generator.polyhedral.pipelines.nests import Group, groups_of, steps_of
from generator.polyhedral.pipelines.speculation import unsafe_to_speculate
from generator.program import Program, Statement, Step, computed_by, lines_of


@lru_cache(maxsize=16)
def possible_stages(program: Program) -> Mapping[str, tuple[Step, ...]]:
    """The steps of every array that can be a stage, in the order of the source; all that the same steps compute follow
    one another.
    """
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
    """The arrays that `steps` leave for others: of elements by themselves those that somebody reads; of lines all."""
    computed = frozenset(computed_by(steps))
    if len(computed) <= 1 or lines_of(steps):
        return computed
    others = (s for s in program.statements if s.name not in group.statements)
    return computed & {access.array for statement in others for access in statement.accesses}


def read_subscripts(statement: Statement, array: str) -> Iterator[tuple[Expr, ...]]:
    """Those of all loads of `array` in a statement: in its value, in the subscripts of its target, in its guard."""
    body = statement.body
    for expr in (*body.computed, *body.target.index, *((body.guard,) if body.guard else ())):
        yield from (load.index for load in loads_of(expr) if load.array == array)


def reads_by_element(step: Step, number: int, array: str = "") -> Any:
    """`{ A[element] -> B[index] }` (isl Map): what access `number` of a step reads to compute an element of `array`
    (of its target, if none is named).
    """
    return instances_by_element(step, array).apply_range(map_of(step.statement.accesses[number].relation))


@lru_cache(maxsize=1024)
def reached(program: Program, statements: tuple[str, ...]) -> frozenset[str]:
    """The stages of a program that these statements read, also by way of others."""
    found: set[str] = set()
    read = {a.array for name in statements for a in program.statement(name).accesses}
    for stage in reversed(program.stages):
        if not read.isdisjoint(stage.arrays):
            found.add(stage.array)
            read |= {a.array for step in stage.steps for a in step.statement.accesses}
    return frozenset(found)
