"""The recomputation of elements of a pipeline's stages by kernels, and the sizes of the boxes that they keep.

A stage in its own kernel is computed once per element. Blocks recompute the overlapping parts of their boxes: their
loops are simulated as in `kernel_facts`. An inline stage is counted where it is read: the number of different elements
for one value of the reader, times the number of values that the reader computes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from generator.lowered_kernel import LoweredKernel
from generator.lowering.analysis.counting import count
from generator.lowering.analysis.facts import Run, grounds, sampled_launches
from generator.lowering.analysis.index_values import with_index_values
from generator.lowering.core.assemble import lowered_program
from generator.lowering.memory.box import LocalBox
from generator.lowering.memory.inlined import inlined_elements
from generator.nest import Assign, For, If, Node
from generator.plan import Plan
from generator.polyhedral.kit.members import ends
from generator.polyhedral.kit.parsed import set_of
from generator.polyhedral.pipelines.sections import SectionKernel, kernels_of
from generator.polyhedral.pipelines.stages import reached
from generator.program import Program, Stage
from generator.schedules.time_tiles import TimeTiles
from generator.target import Language
from generator.variant import kernel_name


@dataclass(frozen=True, slots=True)
class StageWork:
    """A stage of a kernel: the `evaluations` of its elements in a run of the program, for `needed` elements.

    `box`: the elements that a block keeps in shared memory, innermost dimension last; () for other places.
    """

    array: str
    evaluations: float
    needed: int
    box: tuple[int, ...] = ()

    @property
    def times(self) -> float:
        """The average number of times that an element is computed."""
        return self.evaluations / self.needed


def stage_work(
    program: Program, plan: Plan, language: Language
) -> Mapping[tuple[str, ...], Mapping[str, StageWork]]:
    """Return what each kernel of `plan` computes in addition to what it stores, by the kernel's statements and by
    array.

    Raises:
        IllegalPlan: the plan does not fit the program or breaks a dependence.
    """
    if isinstance(plan.schedule, TimeTiles):
        return {}
    lowered = lowered_program(program, plan, language)
    runs = list(sampled_launches(lowered.host, {}, 1.0, 1))
    found = {}
    for number, (one, kernel) in enumerate(zip(kernels_of(program, plan.scheduled), lowered.kernels, strict=True)):
        own = [run for run in runs if run[0] == kernel_name(number)]
        found[one.statements] = {work.array: work for work in _works(one, kernel, own)}
    return found


def _works(one: SectionKernel, kernel: LoweredKernel, runs: Sequence[Run]) -> Iterator[StageWork]:
    program = one.section.program
    stages = {stage.array: stage for stage in program.stages if stage.array in reached(program, one.part.statements)}
    if not stages:
        return
    often: dict[str, float] = defaultdict(float)
    boxes = {box.array: box for box in kernel.shared if isinstance(box, LocalBox) and box.filled == "compute"}
    filled = _fills(kernel, boxes, runs)
    for array, assigned in filled.items():
        times = assigned / _assigned(program, stages[array])
        often[array] += times
        if array != next(one for one in stages[array].arrays if one in filled):
            continue  # the steps of a tuple run once
        line = prod(program.array(array).extents[d] for d in stages[array].lines)
        for step in stages[array].steps:
            loops = prod(high - low + 1 for _, low, high in step.loops) / line
            for inner, elements in inlined_elements(stages, step.statement.body.computed).items():
                often[inner] += times * loops * elements
    for name in one.part.statements:
        statement = program.statement(name)
        instances = prod(high - low + 1 for low, high in ends(set_of(statement.domain)))
        exprs = (*statement.body.computed, *statement.body.target.index)
        for array, elements in inlined_elements(stages, exprs).items():
            often[array] += elements * instances
    for array in stages:
        box = boxes[array].box if array in boxes else ()
        yield StageWork(array, often[array], prod(program.array(array).extents), box)


def _assigned(program: Program, stage: Stage) -> float:
    """Return how often a line of a stage is assigned, per element; 1 for elements, which are stored once."""
    if not stage.lines:
        return 1.0
    plain = [step for step in stage.steps if step.statement.body.target.array == stage.array
             and not step.statement.body.op]
    line = prod(program.array(stage.array).extents[d] for d in stage.lines)
    return sum(prod(high - low + 1 for _, low, high in step.loops) for step in plain) / line


def _fills(kernel: LoweredKernel, boxes: Mapping[str, LocalBox], runs: Sequence[Run]) -> dict[str, float]:
    """Return how many elements all blocks compute of each array in `boxes`."""
    if not boxes:
        return {}
    body = with_index_values(kernel.body)
    counts = count(body, grounds(kernel, runs), lambda _: 0.0)
    threads = prod(kernel.block) * prod(kernel.grid) * sum(weight for _, weight, _ in runs)
    names = {box.name: array for array, box in boxes.items()}
    found: dict[str, float] = dict.fromkeys(boxes, 0.0)
    for place, node in _assigns(body, ()):
        if node.target.array in names and not node.op:
            found[names[node.target.array]] += threads * counts.executions.get(place, 0.0)
    return found


def _assigns(nodes: Sequence[Node], path: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], Assign]]:
    for number, node in enumerate(nodes):
        here = (*path, number)
        match node:
            case Assign():
                yield here, node
            case For(body=body):
                yield from _assigns(body, here)
            case If(_, then, otherwise):
                yield from _assigns((*then, *otherwise), here)
            case _:
                pass
