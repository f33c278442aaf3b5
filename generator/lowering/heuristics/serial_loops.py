"""Loops that one thread runs instead of the host, because their launches would take longer than their work."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from generator.errors import IllegalPlan
from generator.polyhedral.pipelines.sections import launched_nests
from generator.program import Program
from generator.schedules.schedule import Schedule, serial_of, with_serial
from generator.schedules.stages import Stages
from generator.schedules.time_tiles import TimeTiles
from generator.target import Target

_ALONE_ON_CPUS, _ALONE_ON_GPUS = 1024, 64
"""Instances of statements that one thread runs in the time of a launch, about 20 and 5 us; conservative."""


def serial_stages(program: Program, target: Target, choice: Stages) -> Stages:
    """Return `serial_schedule` of a schedule by stages; `choice` if it is illegal."""
    with suppress(IllegalPlan):
        return replace(choice, serial=serial_of(serial_schedule(program, target, choice)))
    return choice


def serial_schedule(program: Program, target: Target, choice: Schedule) -> Schedule:
    """Return `choice` with loops in one thread instead of the host if their launches would take longer than their work.
    """
    if isinstance(choice, TimeTiles):
        return choice
    most = _ALONE_ON_CPUS if target.shares_host_cores else _ALONE_ON_GPUS
    nests = (nest for nest in launched_nests(program, choice) if nest.per_launch <= most)
    return with_serial(choice, tuple(sorted(name for nest in nests for name in nest.statements)))
