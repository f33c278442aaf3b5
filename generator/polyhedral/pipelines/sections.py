"""A program in sections that are scheduled separately and run in sequence.

Most Plans schedule the whole program: one section. `Stages` makes a section of every group of nests whose arrays are
not computed where they are read, and of every set of groups that share a kernel. A section is a separate program, so
cached facts about it apply to every Plan with the same section, and a pipeline of a hundred stages costs a hundred
small schedules.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from generator.errors import IllegalPlan
from generator.polyhedral.dependences.reductions import reducible
from generator.polyhedral.kit.ast import to_schedule
from generator.polyhedral.kit.tree import Sequence
from generator.polyhedral.pipelines.joining import Unit, joint_nest, units_of
from generator.polyhedral.pipelines.nests import groups_of
from generator.polyhedral.pipelines.stages import possible_stages, reached
from generator.polyhedral.pipelines.storage import laid_out
from generator.polyhedral.schedules.kernels import KernelPart, schedule_kernels
from generator.polyhedral.schedules.launches import LaunchedNest, nests_of
from generator.program import Program, Stage
from generator.schedules.choice import ScheduleChoice
from generator.schedules.hyperplanes import Hyperplanes
from generator.schedules.schedule import Schedule
from generator.schedules.stages import Stages


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a program, and its schedule. `whole`: it is the whole program."""

    program: Program
    schedule: Schedule
    whole: bool

    def identity(self, statements: tuple[str, ...]) -> tuple[str, ...]:
        """Return the statements whose work a kernel with these `statements` does, including those of its stages;
        sorted.
        """
        computed = reached(self.program, statements)
        steps = (step for stage in self.program.stages if stage.array in computed for step in stage.steps)
        return tuple(sorted({*statements, *(step.statement.name for step in steps)}))


@lru_cache(maxsize=256)
def sections(program: Program, schedule: Schedule) -> tuple[Section, ...]:
    """Return the sections of `program` in order.

    Raises:
        IllegalPlan: an array cannot be computed where it is read, arrays cannot share a kernel, or a name is not a
            reduction, or an array cannot be stored so.
    """
    program, schedule = laid_out(program, schedule)
    if not isinstance(schedule, Stages):
        return (Section(program, schedule, True),)
    possible = possible_stages(program)
    if wrong := [array for array, _ in schedule.computed if array not in possible]:
        raise IllegalPlan(f"`{wrong[0]}` cannot be computed where it is read; arrays that can: "
                          f"{', '.join(possible) or 'none'}")
    if unknown := set(schedule.reductions) - set(reducible(program)):
        raise IllegalPlan(f"{min(unknown)} is not a reduction; reductions are "
                          f"{', '.join(reducible(program)) or 'none'}")
    found = tuple(Section(_part(program, unit), _scheduled(program, unit, schedule), False)
                  for unit in units_of(program, dict(schedule.computed), schedule.together))
    if gone := set(schedule.serial) - {statement.name for one in found for statement in one.program.statements}:
        raise IllegalPlan(f"{min(gone)} cannot be chosen to run in one thread: it has no kernel of its own")
    return found


def _scheduled(program: Program, unit: Unit, schedule: Stages) -> ScheduleChoice | Hyperplanes:
    """Return the schedule of a unit: by isl, or along the elements that its arrays share."""
    names = {name for number in unit.groups for name in groups_of(program)[number].statements}
    own, serial = (tuple(name for name in some if name in names) for some in (schedule.reductions, schedule.serial))
    if unit.joined:
        return Hyperplanes((joint_nest(program, unit),), own, serial)
    return ScheduleChoice(reductions=own, launches=schedule.launches, serial=serial)


@lru_cache(maxsize=1024)
def _part(program: Program, unit: Unit) -> Program:
    """Return the program of the groups of a unit, with its stages."""
    groups = [groups_of(program)[number] for number in unit.groups]
    possible = possible_stages(program)
    stages = tuple(Stage(array, where, possible[array]) for array, where in unit.stages)
    names = {name for group in groups for name in group.statements}
    statements = tuple(s for s in program.statements if s.name in names)
    steps = [step.statement for stage in stages for step in stage.steps]
    used = {access.array for statement in (*statements, *steps) for access in statement.accesses}
    nests = [nest for group in groups for nest in group.nests]
    domain = nests[0].domain
    for nest in nests[1:]:
        domain = domain.union(nest.domain)
    tree = nests[0].tree if len(nests) == 1 else Sequence(
        tuple(nest.domain for nest in nests), tuple(nest.tree for nest in nests))
    return Program(program.name, program.file, tuple(a for a in program.arrays if a.name in used), statements,
                   str(to_schedule(tree, domain)), program.parameters, (), stages)


@dataclass(frozen=True, slots=True, eq=False)
class SectionKernel:
    """Kernel `number` of a section; `statements` (sorted) are its identity in Plans."""

    section: Section
    number: int
    part: KernelPart
    statements: tuple[str, ...]


def launched_nests(program: Program, schedule: Schedule) -> tuple[LaunchedNest, ...]:
    """Return the host loops of all sections that launch kernels for little work (`launches`). Raises IllegalPlan as
    `kernels_of`.
    """
    return tuple(nest for section in sections(program, schedule)
                 for nest in nests_of(section.program, section.schedule))


def kernels_of(program: Program, schedule: Schedule) -> tuple[SectionKernel, ...]:
    """Return all kernels of a schedule, in launch order. Raises IllegalPlan as `sections` and `schedule_kernels`."""
    return tuple(SectionKernel(section, number, part, section.identity(part.statements))
                 for section in sections(program, schedule)
                 for number, part in enumerate(schedule_kernels(section.program, section.schedule).kernels))
