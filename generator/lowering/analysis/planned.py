"""The kernels of a plan for cost models: what each stores and computes, and how its output is tiled."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from generator.dataflow import Dataflow
from generator.decisions.walk import walked
from generator.lowering.analysis.time_flow import TimeFlow, time_flow
from generator.nest import Level
from generator.plan import KernelPlan, Plan
from generator.polyhedral.kit.members import iterator_of
from generator.polyhedral.pipelines.nests import iterator_and_constant
from generator.polyhedral.pipelines.sections import SectionKernel, kernels_of
from generator.polyhedral.pipelines.stages import reached
from generator.program import Program
from generator.schedules.schedule import Schedule
from generator.schedules.time_tiles import TimeTiles


@dataclass(frozen=True, slots=True)
class Stored:
    """A kernel of a schedule: it stores `output`, computes `members` in its blocks and `inlined` in its threads.

    `axes`: the dimension of `output` of each of its parallel dimensions (before a plan orders them). `hosted`: how many
    dimensions of `output`, outermost first, host loops run around its launches. `timed`: its launch, if it runs several
    time steps. `refusal`: why it is not such a kernel; then only `statements` is meaningful.
    """

    statements: tuple[str, ...]
    output: str = ""
    members: tuple[str, ...] = ()
    inlined: tuple[str, ...] = ()
    axes: tuple[int, ...] = ()
    refusal: str = ""
    timed: TimeFlow | None = None
    hosted: int = 0


@dataclass(frozen=True, slots=True)
class Cut:
    """A plan's tiles of the output of a kernel: points within the array and threads of a block per dimension of it.

    `points`: those of a thread per dimension, also beyond the array.
    `step`: the dimension along which blocks walk down their tiles, and the points of a step (None: no walk).
    `in_registers`: tenths of a warp's tile. `sums`: repeatedly updated elements are kept in registers. `whole`: the
    members that blocks compute for their whole tiles before they walk. `order`: all dimensions as blocks have them, the
    last one along x; empty if that is the order of the array.
    """

    stored: Stored
    tile: tuple[int, ...]
    block: tuple[int, ...]
    points: tuple[int, ...]
    level: Level
    step: tuple[int, int] | None = None
    in_registers: int = 0
    sums: bool = False
    whole: tuple[str, ...] = ()
    order: tuple[int, ...] = ()


def cut_kernels(program: Program, plan: Plan, flow: Dataflow) -> tuple[Cut, ...]:
    """Return the kernels of `plan` in launch order; `flow` as for `stored_kernels`. Raises IllegalPlan if the plan does
    not fit the program.
    """
    return tuple(
        _cut(stored, plan.kernel(stored.statements), flow) for stored in stored_kernels(program, plan.scheduled, flow)
    )


def stored_kernels(program: Program, schedule: Schedule, flow: Dataflow) -> tuple[Stored, ...]:
    """Return the kernels of `schedule` in launch order. `flow`: the dataflow of the program as the schedule stores its
    arrays (`laid_out`).

    Raises IllegalPlan if it does not fit the program.
    """
    if isinstance(schedule, TimeTiles):
        names = tuple(sorted(statement.name for statement in program.statements))
        timed = time_flow(program, schedule.steps)
        axes = tuple(range(len(timed.flow.array(timed.output).extents)))
        return (Stored(names, timed.output, timed.members, (), axes, timed=timed),)
    return tuple(_stored(kernel, flow) for kernel in kernels_of(program, schedule))


def _stored(kernel: SectionKernel, flow: Dataflow) -> Stored:
    program, names = kernel.section.program, kernel.part.statements
    written = sorted({program.statement(name).body.target.array for name in names})
    outputs = [node for array in written if (node := flow.node(array)) is not None]  # others are local to an iteration
    if len(outputs) != 1:
        return Stored(kernel.statements, refusal=f"it stores several arrays: {', '.join(written)}")
    [node] = outputs
    if node.refusal:
        return Stored(kernel.statements, refusal=node.refusal)
    if not set(node.statements) <= set(names):
        return Stored(kernel.statements, refusal=f"several kernels compute `{node.array}`")
    axes = _axes(kernel, node.array, [dimension.member for dimension in kernel.part.parallel])
    if isinstance(axes, str):
        return Stored(kernel.statements, refusal=axes)
    computed = reached(program, names)
    places = {stage.array: stage.where for stage in program.stages if stage.array in computed}
    inside = (flow.node(array) for array in places)
    if refusal := next((one.refusal for one in inside if one is not None and one.refusal), ""):
        return Stored(kernel.statements, refusal=refusal)
    return Stored(
        kernel.statements,
        node.array,
        tuple(a for a, where in places.items() if where == "block"),
        tuple(a for a, where in places.items() if where == "inline"),
        axes,
        hosted=_hosted(kernel, node.array, flow.array(node.array).extents),
    )


def _hosted(kernel: SectionKernel, output: str, extents: Sequence[int]) -> int:
    around = _axes(kernel, output, kernel.part.prefix)
    return 0 if isinstance(around, str) else hosted_dimensions(around, extents)


def hosted_dimensions(around: Collection[int], extents: Sequence[int]) -> int:
    """Return how many dimensions, outermost first, host loops `around` launches run; 0 if these are not the outermost
    loops. Dimensions of one element have no loops: they count up to the first loop of a launch.
    """
    inside = next((d for d, extent in enumerate(extents) if extent > 1 and d not in around), len(extents))
    return inside if around and max(around) < inside else 0


def _axes(kernel: SectionKernel, output: str, members: Iterable[Any]) -> tuple[int, ...] | str:
    """Return the dimension of the output along each of a kernel's loops; or why there is none."""
    program, part = kernel.section.program, kernel.part
    index = {name: program.statement(name).body.target.index for name in part.statements}
    found: list[int] = []
    for member in members:
        iterator = iterator_of(member, program)
        along = {
            d
            for name, subscripts in index.items()
            for d, one in enumerate(subscripts)
            if (place := iterator_and_constant(one, program.statement(name).iterators)) is not None
            and program.statement(name).iterators[place[0]] == iterator
        }
        if len(along) != 1:
            return f"its threads do not share out the dimensions of `{output}`"
        found += along
    return tuple(found) if len(set(found)) == len(found) else f"its threads run along one dimension of `{output}` twice"


def _cut(stored: Stored, kernel: KernelPlan, flow: Dataflow) -> Cut:
    if kernel.whole and not kernel.walk and not stored.refusal:
        named = ", ".join(kernel.whole)
        stored = replace(stored, refusal=f"it computes {named} for whole tiles, the rest for each inner tile")
    if kernel.levels and not stored.refusal:
        named = ", ".join(f"{name} by each {level}" for name, level in kernel.levels)
        stored = replace(stored, refusal=f"it computes {named}, the rest by each {kernel.level}")
    if stored.refusal:
        each = tuple(size // threads for size, threads in zip(kernel.tile, kernel.block, strict=True))
        return Cut(stored, kernel.tile, kernel.block, each, kernel.level)
    extents = (stored.timed.flow if stored.timed else flow).array(stored.output).extents
    axes = turned(stored.axes, kernel.order)
    tile, block, points = list(extents), [1] * len(extents), list(extents)
    for axis, size, threads in zip(axes, kernel.tile, kernel.block, strict=True):
        tile[axis], block[axis], points[axis] = min(size, extents[axis]), threads, size // threads
    step = (axes[walked(len(axes))], kernel.walk) if kernel.walk else None
    return Cut(stored, tuple(tile), tuple(block), tuple(points), kernel.level, step, kernel.in_registers,
               kernel.registers, kernel.whole, _order(axes, len(extents)))


def _order(axes: Sequence[int], count: int) -> tuple[int, ...]:
    """Return all dimensions, those without threads first; empty if the threads' `axes` are in order."""
    return () if list(axes) == sorted(axes) else (*(d for d in range(count) if d not in axes), *axes)


def turned(axes: Sequence[int], order: Sequence[int]) -> tuple[int, ...]:
    """Return `axes` in a plan's order of the parallel dimensions (empty: unchanged)."""
    return tuple(axes[d] for d in order) if order else tuple(axes)
