"""The base time of a goal, known before the search begins except for goals relative to the default plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import median
from typing import assert_never

from experiments.values.options import Budget
from generator.errors import InputError
from generator.problem import Subject, program_of
from generator.program import Program
from runners.base import DeviceInfo
from runners.registry import is_deterministic


def with_base(budget: Budget, subject: Subject, sequential_ms: Sequence[float], device: DeviceInfo) -> Budget:
    """Return `budget` with the base time of its goal. `sequential_ms` are the times of the C program in milliseconds.

    Raises:
        InputError: that time is unknown, for example because the device's ceilings were never measured.
    """
    goal = budget.stop_at
    if goal is None:
        return budget
    match goal.measure:
        case "default":
            return budget
        case "sequential":
            if not sequential_ms:
                raise InputError(
                    f"--stop-at {goal.option}: the sequential program was not timed; use {goal.value:g}x, which "
                    "compares with the default plan"
                )
            base_ms = median(sequential_ms)
        case "roofline":
            base_ms = _least_ms(program_of(subject), device, goal.option)
        case _:
            assert_never(goal.measure)
    return replace(budget, stop_at=replace(goal, base_ms=base_ms))


def _least_ms(program: Program, device: DeviceInfo, option: str) -> float:
    """Return the least time of `program` in milliseconds by the ceilings of `device`."""
    from experiments.ceilings.files import kept_ceilings
    from experiments.ceilings.placed import program_roof

    if is_deterministic(device.key):
        raise InputError(f"--stop-at {option}: {device.name} measures nothing and has no ceilings; use a goal like 8x")
    ceilings = kept_ceilings(device)
    if ceilings is None:
        raise InputError(
            f"--stop-at {option}: the ceilings of {device.name} are not known; `antune suite roofline --device "
            f"{device.key}` measures them in a minute or two"
        )
    roof = program_roof(program, ceilings)
    if roof is None:
        raise InputError(f"--stop-at {option}: no ceiling for the type of the program's numbers was measured on "
                         f"{device.name}; use a goal like 8x")
    return roof.ms
