"""The plan that a run begins with, chosen by what kind of device there is, without a measurement.

A loop of the host whose launches take longer than their work runs in one thread (`serial_schedule`). For the rest: on
GPUs it is PPCG's choice (`default.py`). On CPUs, where a block's threads run one after the other, it is the plan of
`starts.py` with one thread per block, which runs whole rows, or keeps vectors of results in registers where neighbours
are updated again and again; PPCG's choice is called `gpu-default` there.
"""

from __future__ import annotations

from generator.errors import IllegalPlan
from generator.lowering.core.assemble import lower
from generator.lowering.heuristics.default import default_plan
from generator.lowering.heuristics.starts import serial_schedule, vectors_plan
from generator.plan import Plan
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from generator.schedules.schedule import Schedule
from generator.target import Target

GPU_DEFAULT = "gpu-default"
"""What PPCG's choice is called on CPUs."""
_PLUTO = ScheduleChoice()


def usual_plan(program: Program, target: Target, choice: Schedule = _PLUTO) -> Plan:
    """The default plan: evaluation 0 of a run on `target`. PPCG's choice is also that of CPUs where the other one is
    illegal.

    Raises:
        IllegalPlan: isl gives up.
    """
    choice = serial_schedule(program, target, choice)
    if target.shares_host_cores:
        plan = vectors_plan(program, target, choice)
        if _is_legal(program, plan, target):
            return plan
    return default_plan(program, target, choice=choice)


def _is_legal(program: Program, plan: Plan, target: Target) -> bool:
    try:
        lower(program, plan, target)
    except IllegalPlan:
        return False
    return True
