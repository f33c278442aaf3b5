"""Which kernel of a schedule computes which arrays, and who reads whom, as plain data: what a picture of a pipeline needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from generator.plan import Schedule
from generator.polyhedral.sections import SectionKernel, kernels_of
from generator.polyhedral.stages import reached
from generator.program import Program, Statement, Where

Place: TypeAlias = Where | Literal["root"]


@dataclass(frozen=True, slots=True)
class Computed:
    """An array that a kernel computes.

    `root`: it stores the array in global memory; else how it computes the elements that it needs (`generator.program.Stage`).
    `reads` are the arrays that this takes, sorted; itself only where an earlier kernel began it. `output`: the program's user
    sees it. `definitions` are the statements as the user wrote them.
    """

    array: str
    place: Place
    output: bool
    reads: tuple[str, ...]
    extents: tuple[int, ...]
    definitions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PipelineKernel:
    """A kernel: `statements` (sorted) are its identity in Plans, `arrays` stand in the order in which they are computed."""

    statements: tuple[str, ...]
    arrays: tuple[Computed, ...]

    @property
    def stored(self) -> tuple[str, ...]:
        """The arrays that it leaves in global memory."""
        return tuple(one.array for one in self.arrays if one.place == "root")

    @property
    def fetched(self) -> tuple[str, ...]:
        """The arrays that it reads from global memory, each once, in the order of their first use."""
        made: set[str] = set()
        found: dict[str, None] = {}
        for one in self.arrays:
            found |= dict.fromkeys(array for array in one.reads if array not in made)
            made.add(one.array)
        return tuple(found)


@dataclass(frozen=True, slots=True)
class PipelineGraph:
    """The kernels of a schedule in launch order; `inputs` are the arrays that a kernel reads before any has written them."""

    inputs: tuple[str, ...]
    kernels: tuple[PipelineKernel, ...]


def pipeline_graph(program: Program, schedule: Schedule) -> PipelineGraph:
    """What the kernels of `schedule` compute.

    Raises:
        IllegalPlan: the schedule does not fit the program.
    """
    kernels: list[PipelineKernel] = []
    inputs: dict[str, None] = {}
    written: set[str] = set()
    for kernel in kernels_of(program, schedule):
        kernels.append(_kernel(kernel, frozenset(written)))
        inputs |= dict.fromkeys(array for array in kernels[-1].fetched if array not in written)
        written.update(kernels[-1].stored)
    return PipelineGraph(tuple(inputs), tuple(kernels))


def _kernel(kernel: SectionKernel, begun: frozenset[str]) -> PipelineKernel:
    """`begun`: the arrays that earlier kernels wrote."""
    program = kernel.section.program
    needed = reached(program, kernel.part.statements)
    found = [_computed(program, stage.array, stage.where, [step.statement for step in stage.steps], begun)
             for stage in program.stages if stage.array in needed]
    own: dict[str, list[Statement]] = {}
    for name in sorted(kernel.part.statements, key=_in_source(program).__getitem__):
        statement = program.statement(name)
        own.setdefault(statement.body.target.array, []).append(statement)
    return PipelineKernel(kernel.statements, (*found, *(_computed(program, array, "root", statements, begun)
                                                        for array, statements in own.items())))


def _in_source(program: Program) -> Mapping[str, int]:
    return {statement.name: number for number, statement in enumerate(program.statements)}


def _computed(program: Program, name: str, place: Place, statements: Sequence[Statement], begun: frozenset[str]) -> Computed:
    array = program.array(name)
    reads = {access.array for statement in statements for access in statement.accesses if access.kind == "read"}
    if name not in begun:
        reads.discard(name)
    return Computed(name, place, array.role in ("out", "inout"), tuple(sorted(reads)), array.extents,
                    tuple(statement.text for statement in statements))
