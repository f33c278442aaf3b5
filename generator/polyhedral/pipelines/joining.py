"""Arrays that share a kernel: each thread computes the same elements of all of them.

    ix[y][x] = gray[y][x + 1] - gray[y][x];   one kernel for both reads gray once, and computes gray once
    iy[y][x] = gray[y + 1][x] - gray[y][x];   if it computes it itself

They have the same extents, and all their statements compute elements one by one (`stages.steps_of`). The kernel's loops
are those over the elements; inside, the statements run in source order. The exact check of the schedule ensures that
this breaks no dependence between them; the other conditions are checked here.

A single array may have such a kernel, too, if data choose the elements of its lines:

    for x: { for z: bins[z][x] = 0;  for r: bins[in[x][r]][x] += 1; }
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from generator.errors import IllegalPlan
from generator.polyhedral.kit.parsed import map_of
from generator.polyhedral.pipelines.joint import joint_steps
from generator.polyhedral.pipelines.nests import Group, groups_of, steps_of
from generator.polyhedral.pipelines.stages import possible_stages
from generator.program import Program, Step, Where, lines_of
from generator.schedules.hyperplanes import LoopNest, Row


@dataclass(frozen=True, slots=True)
class Unit:
    """Groups, by number, that are scheduled together, and the stages that they compute (in source order).

    `joined`: one kernel runs all of their statements.
    """

    groups: tuple[int, ...]
    stages: tuple[tuple[str, Where], ...]
    joined: bool = False


def units_of(program: Program, computed: Mapping[str, Where], together: Sequence[tuple[str, ...]]) -> tuple[Unit, ...]:
    """Return the units that are scheduled separately, in order of execution.

    Raises:
        IllegalPlan: arrays that cannot share a kernel.
    """
    _check(program, computed, together)
    sets = {array: number for number, arrays in enumerate(together) for array in arrays}
    joined: dict[tuple[str, int], list[int]] = {}
    for number, group in enumerate(groups_of(program)):
        if not _is_inside(program, group, computed):
            array = min(group.arrays)
            joined.setdefault(("set", sets[array]) if array in sets else ("group", number), []).append(number)
    units = [Unit(tuple(unit), _needed(program, unit, computed), kind == "set") for (kind, _), unit in joined.items()]
    for unit in units:
        _check_stages(program, unit)
    return tuple(_ordered(program, units, computed)) if together else tuple(units)


def _is_inside(program: Program, group: Group, computed: Mapping[str, Where]) -> bool:
    """Return whether a group is computed where it is read.

    Raises IllegalPlan if this holds for some of its arrays only, or in different ways, or if a thread would compute
    lines.
    """
    possible = possible_stages(program)
    arrays = sorted(group.arrays & set(possible))
    places = {computed.get(array) for array in arrays}
    if len(places) > 1:
        raise IllegalPlan(f"{', '.join(f'`{array}`' for array in arrays)} are computed together, so that they have one "
                          f"place")
    if "inline" in places and (lines := lines_of(possible[arrays[0]])):
        raise IllegalPlan(f"`{arrays[0]}` cannot be inline: an element needs others of its line along dimension "
                          f"{', '.join(map(str, lines))}; compute it in blocks or by kernels of its own")
    return bool(arrays) and None not in places


def joint_nest(program: Program, unit: Unit) -> LoopNest:
    """Return the loops that the statements of a unit share: those over the elements, then the inner loops of each step.
    """
    steps = sorted(_steps(program, unit), key=lambda step: step.statement.name)
    names = tuple(step.statement.name for step in steps)
    shared = tuple(tuple(_vector(step, *step.dims[d]) for step in steps)
                   for d, (position, _) in enumerate(steps[0].dims) if position >= 0)
    parts = () if not any(step.loops for step in steps) else tuple(
        LoopNest((step.statement.name,), tuple(_row(step, position) for position, _, _ in step.loops))
        for step in _steps(program, unit))
    return LoopNest(names, shared, parts)


def _steps(program: Program, unit: Unit) -> list[Step]:
    """Return the steps of a unit in source order."""
    if len(unit.groups) == 1:
        return list(joint_steps(program, groups_of(program)[unit.groups[0]]))
    return [step for number in unit.groups for step in steps_of(program)[number]]


def _row(step: Step, position: int) -> Row:
    return (_vector(step, position, 0),)


def _vector(step: Step, position: int, constant: int) -> tuple[int, ...]:
    return (*(int(d == position) for d in range(len(step.statement.iterators))), constant)


def _check(program: Program, computed: Mapping[str, Where], together: Sequence[tuple[str, ...]]) -> None:
    """Raise IllegalPlan for arrays that cannot share a kernel, whatever the other arrays do."""
    able = {array: program.array(array).extents for array in sharable(program)}
    for arrays in together:
        if len(arrays) == 1:
            _check_lined(program, computed, arrays[0])
            continue
        for array in arrays:
            if array in computed:
                raise IllegalPlan(f"`{array}` is computed where it is read, so that it shares no kernel with "
                                  f"{', '.join(other for other in arrays if other != array)}")
            if array not in able:
                raise IllegalPlan(f"`{array}` cannot share a kernel; arrays that can: {', '.join(able) or 'none'}")
            if able[array] != able[arrays[0]]:
                raise IllegalPlan(f"`{arrays[0]}` and `{array}` cannot share a kernel: their extents are "
                                  f"{_extents(able[arrays[0]])} and {_extents(able[array])}")


def _check_lined(program: Program, computed: Mapping[str, Where], array: str) -> None:
    """Raise IllegalPlan if an array cannot have one kernel for all of its definitions."""
    if array in computed:
        raise IllegalPlan(f"`{array}` is computed where it is read, so that it has no kernel of its own")
    if array not in lined(program):
        raise IllegalPlan(f"`{array}` cannot have one kernel for all of its definitions; arrays that can: "
                          f"{', '.join(lined(program)) or 'none'}")


@lru_cache(maxsize=16)
def lined(program: Program) -> tuple[str, ...]:
    """Return the arrays that can have one kernel for all of their definitions, in source order: a single group writes
    each, in several nests of one statement each, and data choose elements of its lines.
    """
    often = [array for group in groups_of(program) for array in group.arrays]
    found = []
    for group in groups_of(program):
        array = min(group.arrays)
        alone = len(group.arrays) == 1 and often.count(array) == 1 and len(group.nests) > 1
        chosen = any(_by_data(program, name) for name in group.statements)
        steps = joint_steps(program, group) if alone and chosen else ()
        if len(steps) == len(group.nests) and 0 < len(lines_of(steps)) < len(steps[0].dims):
            found.append(array)
    return tuple(found)


def _by_data(program: Program, name: str) -> bool:
    """Return whether data choose the element that a statement writes."""
    statement = program.statement(name)
    return not map_of(statement.accesses[statement.body.target.access].relation).is_single_valued()


@lru_cache(maxsize=16)
def sharable(program: Program) -> tuple[str, ...]:
    """Return the arrays that can share a kernel, in source order: a single group writes each, element by element."""
    often = [array for group in groups_of(program) for array in group.arrays]
    return tuple(min(group.arrays) for group, steps in zip(groups_of(program), steps_of(program), strict=True)
                 if steps and often.count(min(group.arrays)) == 1)


def _extents(extents: tuple[int, ...]) -> str:
    return "x".join(map(str, extents))


def _check_stages(program: Program, unit: Unit) -> None:
    """Raise IllegalPlan if a stage of a unit reads what the unit stores: threads do not wait for it."""
    stored = {array for number in unit.groups for array in groups_of(program)[number].arrays}
    for stage, _ in unit.stages:
        read = {access.array for step in possible_stages(program)[stage] for access in step.statement.accesses}
        if wrong := sorted(read & stored):
            others = ", ".join(f"`{array}`" for array in sorted(stored - set(wrong)))
            raise IllegalPlan(f"`{wrong[0]}` cannot share a kernel with {others}, which needs `{stage}`, which is "
                              f"computed there and needs all of `{wrong[0]}`")


def _needed(program: Program, unit: Sequence[int], computed: Mapping[str, Where]) -> tuple[tuple[str, Where], ...]:
    """Return the stages among `computed` that the kernels of a unit compute, in source order."""
    possible = possible_stages(program)
    read = {a.array for number in unit for name in groups_of(program)[number].statements
            for a in program.statement(name).accesses}
    for array in reversed(list(possible)):
        if array in read and array in computed:
            read |= {a.array for step in possible[array] for a in step.statement.accesses}
    return tuple((array, computed[array]) for array in possible if array in read and array in computed)


def _ordered(program: Program, units: Sequence[Unit], computed: Mapping[str, Where]) -> list[Unit]:
    """Return an order in which each unit finds what it reads, as close as possible to source order.

    Raises:
        IllegalPlan: there is none.
    """
    touched = {number: _touched(program, number, computed) for unit in units for number in unit.groups}
    before = {unit: {other for other in units if other != unit and _precedes(program, other, unit, touched)}
              for unit in units}
    ordered: list[Unit] = []
    while before:
        ready = next((unit for unit, others in before.items() if others.issubset(ordered)), None)
        if ready is None:
            shared = next(unit for unit in before if len(unit.groups) > 1)
            names = ", ".join(f"`{min(groups_of(program)[number].arrays)}`" for number in shared.groups)
            raise IllegalPlan(f"{names} cannot share a kernel: other kernels must run between them")
        del before[ready]
        ordered.append(ready)
    return ordered


def _precedes(program: Program, first: Unit, second: Unit, touched: Mapping[int, frozenset[str]]) -> bool:
    """Return whether a group of `first` precedes a group of `second`, and both access an array that one of them writes.
    """
    written = {number: groups_of(program)[number].arrays for number in (*first.groups, *second.groups)}
    return any(a < b and (written[a] & touched[b] or touched[a] & written[b])
               for a in first.groups for b in second.groups)


def _touched(program: Program, group: int, computed: Mapping[str, Where]) -> frozenset[str]:
    """Return the arrays that a group accesses, including those of the stages that it computes."""
    stages = _needed(program, (group,), computed)
    names = [*groups_of(program)[group].statements,
             *(step.statement.name for stage, _ in stages for step in possible_stages(program)[stage])]
    return frozenset(access.array for name in names for access in program.statement(name).accesses)
