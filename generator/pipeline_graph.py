"""The kernels of a schedule, the arrays that each computes, and their readers, as plain data for a picture of a
pipeline.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from generator.polyhedral.pipelines.sections import SectionKernel, kernels_of
from generator.polyhedral.pipelines.stages import reached
from generator.program import Program, Statement, Where
from generator.schedules.schedule import Schedule
from generator.schedules.time_tiles import TimeTiles

StagePlace: TypeAlias = Where | Literal["root"]


@dataclass(frozen=True, slots=True)
class Computed:
    """An array that a kernel computes.

    `place`: `root` stores the array in global memory; otherwise how the needed elements are computed
    (`generator.program.Stage`). `reads`: the arrays that it reads, sorted; itself only if an earlier kernel wrote it.
    `output`: the user sees it. `definitions`: the statements as the user wrote them.
    """

    array: str
    place: StagePlace
    output: bool
    reads: tuple[str, ...]
    extents: tuple[int, ...]
    definitions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PipelineKernel:
    """A kernel: `statements` (sorted) are its identity in Plans; `arrays` are in order of computation."""

    statements: tuple[str, ...]
    arrays: tuple[Computed, ...]

    @property
    def stored(self) -> tuple[str, ...]:
        """The arrays that it stores in global memory."""
        return tuple(one.array for one in self.arrays if one.place == "root")

    @property
    def fetched(self) -> tuple[str, ...]:
        """The arrays that it reads from global memory, without repetitions, in order of first use."""
        made: set[str] = set()
        found: dict[str, None] = {}
        for one in self.arrays:
            found |= dict.fromkeys(array for array in one.reads if array not in made)
            made.add(one.array)
        return tuple(found)


@dataclass(frozen=True, slots=True)
class PipelineGraph:
    """The kernels of a schedule in launch order. `inputs`: the arrays that are read before they are written."""

    inputs: tuple[str, ...]
    kernels: tuple[PipelineKernel, ...]


def pipeline_graph(program: Program, schedule: Schedule) -> PipelineGraph:
    """Return what the kernels of `schedule` compute.

    Raises:
        IllegalPlan: the schedule does not fit the program.
    """
    kernels: list[PipelineKernel] = []
    inputs: dict[str, None] = {}
    written: set[str] = set()
    if isinstance(schedule, TimeTiles):
        return _one_kernel(program)
    for kernel in kernels_of(program, schedule):
        kernels.append(_kernel(kernel, frozenset(written)))
        inputs |= dict.fromkeys(array for array in kernels[-1].fetched if array not in written)
        written.update(kernels[-1].stored)
    return PipelineGraph(tuple(inputs), tuple(kernels))


def _one_kernel(program: Program) -> PipelineGraph:
    """Return the graph of a schedule with one kernel for the whole program."""
    names = tuple(sorted(statement.name for statement in program.statements))
    begun = frozenset(statement.body.target.array for statement in program.statements)
    inputs = tuple(array.name for array in program.arrays if array.role in ("in", "inout") and array.extents)
    return PipelineGraph(inputs, (PipelineKernel(names, _stored(program, names, begun)),))


def _kernel(kernel: SectionKernel, begun: frozenset[str]) -> PipelineKernel:
    """`begun`: the arrays that earlier kernels wrote."""
    program = kernel.section.program
    needed = reached(program, kernel.part.statements)
    found = [_computed(program, stage.array, stage.where, [step.statement for step in stage.steps], begun,
                       {step.statement.body.target.array for step in stage.steps})
             for stage in program.stages if stage.array in needed]
    return PipelineKernel(kernel.statements, (*found, *_stored(program, kernel.part.statements, begun)))


def _stored(program: Program, names: Collection[str], begun: frozenset[str]) -> tuple[Computed, ...]:
    """Return the arrays that the statements called `names` store, in source order."""
    own: dict[str, list[Statement]] = {}
    for statement in program.statements:
        if statement.name in names:
            own.setdefault(statement.body.target.array, []).append(statement)
    return tuple(_computed(program, array, "root", statements, begun) for array, statements in own.items())


def _computed(program: Program, name: str, place: StagePlace, statements: Sequence[Statement],
              begun: frozenset[str], with_it: Collection[str] = ()) -> Computed:
    """Return an array that `statements` compute, together with the arrays in `with_it`."""
    array = program.array(name)
    reads = {access.array for statement in statements for access in statement.accesses if access.kind == "read"}
    reads -= {name, *with_it} - begun
    return Computed(name, place, array.role in ("out", "inout"), tuple(sorted(reads)), array.extents,
                    tuple(statement.text for statement in statements if statement.body.target.array == name))
