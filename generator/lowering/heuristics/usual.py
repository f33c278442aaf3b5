"""The plan that a run begins with, chosen by the kind of device, without a measurement.

Intermediate arrays that are read across their rows have another storage order (`orders.py`). Host loops whose launches
take longer than their work run in one thread (`serial_schedule`). Apart from that, the plan on GPUs is PPCG's choice
(`default.py`). On CPUs, where a block's threads run in sequence, it is the plan of `starts.py` with one thread per
block, which runs whole rows, or keeps vectors of results in registers if neighbours are updated repeatedly; points that
are far from each other run one by one (`far_points.py`). PPCG's choice is called `gpu-default` there.
"""

from __future__ import annotations

from generator.errors import IllegalPlan
from generator.lowering.core.assemble import lower
from generator.lowering.heuristics.default import default_plan
from generator.lowering.heuristics.far_points import one_by_one
from generator.lowering.heuristics.orders import in_order
from generator.lowering.heuristics.serial_loops import serial_schedule
from generator.lowering.heuristics.starts import vectors_plan
from generator.plan import Plan
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from generator.schedules.schedule import Schedule
from generator.target import Target

_PLUTO = ScheduleChoice()


def usual_plan(program: Program, target: Target, choice: Schedule = _PLUTO) -> Plan:
    """Return the default plan: evaluation 0 of a run on `target`. On CPUs, PPCG's choice replaces an illegal plan.

    Raises:
        IllegalPlan: isl gives up.
    """
    choice = serial_schedule(program, target, in_order(program, choice))
    if target.shares_host_cores:
        plan = one_by_one(program, vectors_plan(program, target, choice))
        if _is_legal(program, plan, target):
            return plan
    return default_plan(program, target, choice=choice)


def _is_legal(program: Program, plan: Plan, target: Target) -> bool:
    try:
        lower(program, plan, target)
    except IllegalPlan:
        return False
    return True
