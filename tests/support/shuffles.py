"""Plans whose threads combine by shuffles."""

from __future__ import annotations

from generator.lowering.analysis.shapes import kernel_shapes
from generator.plan import KernelPlan, Plan
from generator.problem import Problem
from generator.schedules.choice import ScheduleChoice
from generator.schedules.partition import Partition


def by_shuffles(found: Problem, schedule: ScheduleChoice | Partition) -> Plan:
    """Return a plan with blocks of 2 x 64 threads (or 64) for every kernel; those of x combine by shuffles."""
    plans = []
    for shape in kernel_shapes(found.program, schedule):
        count = len(shape.extents)
        plans.append(KernelPlan(shape.statements, (4, 4, 128)[3 - count:], (1, 2, 64)[3 - count:], combine="shuffle"))
    return Plan(schedule, tuple(plans))
