"""A plan as a row of named decisions. All rows have the same columns, and different plans have different rows.

`S0_S1_tile: 4x32` is the tile of the kernel with the statements S0 and S1. If a plan lacks a decision, its value is
`-`. All values are numbers or texts without commas, because Kernel Tuner joins them by commas.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import assert_never

from generator.plan import KernelPlan, Plan, Value
from generator.schedules.choice import ScheduleChoice
from generator.schedules.hyperplanes import Hyperplanes, LoopNest
from generator.schedules.partition import Group, Partition
from generator.schedules.schedule import Schedule
from generator.schedules.stages import Stages
from generator.schedules.time_tiles import TimeTiles

ABSENT = "-"


def rows_of(plans: Sequence[Plan]) -> list[dict[str, Value]]:
    """Return the decisions of each plan by column. All rows have the columns of all plans, in order of first use."""
    rows = [_decisions(plan) for plan in plans]
    columns = dict.fromkeys(name for row in rows for name in row)
    return [{name: row.get(name, ABSENT) for name in columns} for row in rows]


def _decisions(plan: Plan) -> dict[str, Value]:
    found = {} if plan.schedule is None else _schedule(plan.schedule)
    for kernel in plan.kernels:
        prefix = "_".join(kernel.statements)
        found |= {f"{prefix}_{field.name}": _value(getattr(kernel, field.name)) for field in fields(KernelPlan)
                  if field.name != "statements"}
    found |= {f"memory_{array}": memory for array, memory in plan.placement}
    return found | {name: _value(value) for name, value in plan.parameters}


def _schedule(schedule: Schedule) -> dict[str, Value]:
    match schedule:
        case ScheduleChoice():
            return {f"schedule_{field.name}": _value(getattr(schedule, field.name)) for field in fields(ScheduleChoice)}
        case Partition(groups, reductions, serial):
            listed = "".join(_group(group) for group in groups)
            return {"schedule_groups": listed, "schedule_reductions": _value(reductions),
                    "schedule_serial": _value(serial)}
        case Hyperplanes(nests, reductions, serial):
            listed = "".join(_nest(nest) for nest in nests)
            return {"schedule_nests": listed, "schedule_reductions": _value(reductions),
                    "schedule_serial": _value(serial)}
        case TimeTiles(steps):
            return {"schedule_steps": steps}
        case Stages(computed, reductions, together, launches, serial, contiguous):
            return {**{f"stage_{array}": where for array, where in computed},
                    **{f"contiguous_{array}": dim for array, dim in contiguous},
                    "schedule_together": "".join(f"[{' '.join(arrays)}]" for arrays in together) or "none",
                    "schedule_reductions": _value(reductions), "schedule_launches": _value(launches),
                    "schedule_serial": _value(serial)}
        case _:
            assert_never(schedule)


def _nest(nest: LoopNest) -> str:
    """Return a loop nest as text: rows, tile sizes along wavefronts, parts: `[S0 S1 <1 0 0|1 0 1> ~8x32 [S0][S1]]`."""
    rows = "".join(f" <{'|'.join(' '.join(map(str, vector)) for vector in row)}>" for row in nest.rows)
    tiles = f" ~{_value(nest.wavefront)}" if nest.wavefront else ""
    return f"[{' '.join(nest.statements)}{rows}{tiles}{''.join(_nest(part) for part in nest.parts)}]"


def _group(group: Group) -> str:
    return f"[{' '.join(group.statements)}{''.join(_group(part) for part in group.parts)}]"


def _value(value: object) -> Value:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, tuple):
        pairs = any(isinstance(part, tuple) for part in value)  # of a loop and its factor
        return (" " if pairs else "x").join(str(_value(part)) for part in value) or "none"
    if isinstance(value, int | float):
        return value
    return str(value).replace(",", ";")
