"""The fill points of a kernel, and what its blocks keep there in shared memory: copies and stages, checked exactly."""

from __future__ import annotations

from dataclasses import dataclass

from generator.errors import IllegalPlan
from generator.lowering.memory.computed import ComputedBox, computed_boxes
from generator.lowering.memory.outer import OuterBoxes, Teams
from generator.lowering.memory.staging import CopiedBox, copied_boxes
from generator.plan import KernelPlan
from generator.polyhedral.memory.copied import check_copied
from generator.polyhedral.memory.entries import corner_values
from generator.polyhedral.memory.footprint import FillPoint, plan_points
from generator.polyhedral.memory.loops_around import deepest
from generator.polyhedral.memory.mapping import MappedKernel
from generator.polyhedral.schedules.kernels import KernelPart
from generator.program import Program


@dataclass(frozen=True, slots=True, eq=False)
class Staged:
    """A kernel during generation: its program and part (padded or not), its shared memory, its final tree."""

    program: Program
    part: KernelPart
    points: tuple[FillPoint, ...]
    mapped: MappedKernel
    arrays: tuple[CopiedBox, ...]
    computed: tuple[ComputedBox, ...]
    around: OuterBoxes


def staged_kernel(program: Program, part: KernelPart, teams: Teams, taken: set[str], mapped: MappedKernel,
                  prefix: tuple[str, ...]) -> Staged:
    """Return a kernel in blocks and threads with its shared copies and boxes, which are checked exactly.

    `prefix`: names of the host loops. New names are added to `taken`. Raises IllegalPlan.
    """
    plan = teams.plan
    points = points_of_plan(program, part, plan)
    arrays = copied_boxes(program, part, plan, points, taken, prefix)
    for local in arrays:
        point = points[local.point]
        check_copied(program, part, point, local.copied, corner_values(part, plan, point, mapped, prefix))
    computed = computed_boxes(program, part, plan, points, taken, prefix, teams.around)
    around = OuterBoxes(teams, tuple(box for box in computed if box.around), len(points))
    return Staged(program, part, points, mapped, arrays, tuple(box for box in computed if not box.around), around)


def points_of_plan(program: Program, part: KernelPart, plan: KernelPlan) -> tuple[FillPoint, ...]:
    """Return the fill points of a plan. Raises IllegalPlan if there can be no copies inside as many loops as it wants.
    """
    points = plan_points(program, part, plan.whole, plan.stages_around, plan.depth)
    if plan.depth:
        what, most = f"{plan.depth} loops around copies of {', '.join(plan.statements)}", deepest(part.tree)
        if not plan.shared:
            raise IllegalPlan(f"{what}: without shared memory nothing is copied; leave it out")
        if any(stage.where == "block" for stage in program.stages):
            raise IllegalPlan(f"{what}: its blocks compute stages there; leave it out")
        if plan.depth > most:
            raise IllegalPlan(f"{what}: of its sequential loops in one another, at most {most} can be around them")
        if not any(point.needed(True, plan.uncopied) for point in points):
            raise IllegalPlan(f"{what}: no array is worth a copy there; leave it out")
    return points
