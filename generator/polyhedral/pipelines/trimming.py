"""Local arrays only as large as what is written of them.

    float t[N][M];                               stages are complete arrays (`stages`), but loops over images often
    for (y = 1; y < N - 1; y++)                  leave out the borders: nobody may read elements that are not written,
      for (x = 1; x < M - 1; x++) t[y][x] = ..   so `t` might as well be declared `t[N - 2][M - 2]`
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import islpy as isl

from generator.expr import Binary, Expr, Int, Load
from generator.polyhedral.kit.members import ends
from generator.polyhedral.kit.parsed import map_of, set_of
from generator.polyhedral.kit.readdressed import readdressed
from generator.polyhedral.pipelines.joint import partly_written_jointly
from generator.polyhedral.pipelines.nests import Ranges, groups_of, partly_written, steps_of
from generator.program import Access, Program, Role, Statement

LOCAL: tuple[Role, ...] = ("temp",)


def trimmed(program: Program, roles: Collection[Role] = LOCAL) -> Program:
    """Return `program` with smaller arrays of these roles whose first loops write one box of their elements, if nothing
    of the program accesses any other element.
    """
    found = {array.name: _written(program, array.name) for array in program.arrays
             if array.role in roles and array.extents and not array.expanded}
    boxes = {name: box for name, box in found.items() if box and box == _accessed(program, name)}
    if not boxes:
        return program
    arrays = tuple(replace(one, extents=tuple(high - low + 1 for low, high in boxes[one.name]), declared=())
                   if one.name in boxes else one for one in program.arrays)
    starts = {name: tuple(low for low, _ in box) for name, box in boxes.items()}
    return replace(program, arrays=arrays, statements=tuple(_moved(s, starts) for s in program.statements),
                   poison=tuple(box for box in program.poison if box.array not in boxes))


def _written(program: Program, array: str) -> Ranges | None:
    """Return the box that the first loops that write `array` write, if only what they leave out keeps them from being
    steps.
    """
    for group, steps in zip(groups_of(program), steps_of(program), strict=True):
        if array in group.arrays and not steps:
            found = partly_written(program, group)
            return found[1] if found else partly_written_jointly(program, group)
    return None


def _accessed(program: Program, array: str) -> Ranges:
    """Return the box of all elements that may be accessed."""
    found: Any = None
    for statement in program.statements:
        for access in statement.accesses:
            if access.array == array:
                elements = map_of(access.relation).intersect_domain(set_of(statement.domain)).range()
                found = elements if found is None else found.union(elements)
    return ends(found)


def _moved(statement: Statement, starts: Mapping[str, Sequence[int]]) -> Statement:
    """Return a statement whose subscripts count from `starts` of each array."""
    def load(one: Load) -> Load:
        start = starts.get(one.array)
        return one if start is None else replace(one, index=tuple(map(_minus, one.index, start)))

    def access(_: int, one: Access) -> Access:
        start = starts.get(one.array)
        return one if start is None else replace(one, relation=str(_shifted(one, start)))

    return readdressed(statement, load, access)


def _minus(index: Expr, start: int) -> Expr:
    """Return `index - start`, with one constant where `index` already has one."""
    match index:
        case Binary("+", one, Int(constant)):
            number = constant - start
        case Binary("-", one, Int(constant)):
            number = -constant - start
        case _:
            one, number = index, -start
    return one if number == 0 else Binary("+" if number > 0 else "-", one, Int(abs(number)))


def _shifted(access: Access, start: Sequence[int]) -> Any:
    """Return the access's relation (isl Map) to elements that count from `start`."""
    names = [f"e{d}" for d in range(len(start))]
    moved = ", ".join(f"{name} - {low}" for name, low in zip(names, start, strict=True))
    move = isl.Map(f"{{ {access.array}[{', '.join(names)}] -> {access.array}[{moved}] }}")
    return map_of(access.relation).apply_range(move)
