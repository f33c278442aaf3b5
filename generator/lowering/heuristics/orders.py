"""Storage orders chosen without measuring."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from generator.dataflow import Dataflow
from generator.polyhedral.pipelines.dataflow import dataflow
from generator.polyhedral.pipelines.stage_facts import computed_arrays
from generator.polyhedral.pipelines.storage import laid_out
from generator.program import Program
from generator.schedules.schedule import Schedule
from generator.schedules.stages import Stages
from generator.storage_orders import preferred_orders

_S = TypeVar("_S", bound=Schedule)


def in_order(program: Program, schedule: _S) -> _S:
    """Return a schedule by stages with storage orders in which few reads of `program` are out of order;
    others unchanged.
    """
    if not isinstance(schedule, Stages):
        return schedule
    inline = [array for array, place in schedule.computed if place == "inline"]
    return replace(schedule, contiguous=preferred_orders(computed_arrays(program), inline))


def dataflow_in_order(program: Program) -> Dataflow:
    """Return the dataflow between arrays that are stored so: that of all schedules by `in_order`."""
    return dataflow(laid_out(program, in_order(program, Stages()))[0])
