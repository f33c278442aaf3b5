"""Opens a runner by the name that a user gives."""

from __future__ import annotations

from pathlib import Path

from generator.errors import InputError
from generator.problem import Problem
from runners.base import Limits, Runner

DETERMINISTIC = "deterministic"


def open_runner(problem: Problem, device: str | None, limits: Limits, workdir: Path) -> Runner:
    """The runner for `device`: "deterministic", "deterministic:SECONDS" (a pause per evaluation), or an OpenCL
    device as `find_device` takes it (None: the default device).

    Raises:
        InputError: there is no such device, or SECONDS is no number.
    """
    if device is not None and device.split(":")[0] == DETERMINISTIC:
        from runners.deterministic import DeterministicRunner

        return DeterministicRunner(problem, limits, _delay(device))
    from runners.opencl import OpenCLRunner
    from runners.opencl_platforms import find_device

    return OpenCLRunner(problem, find_device(device), limits, workdir)


def _delay(device: str) -> float:
    _, colon, text = device.partition(":")
    if not colon:
        return 0.0
    try:
        delay = float(text)
    except ValueError:
        delay = -1.0
    if not 0 <= delay < 3600:
        raise InputError(f"the pause in {device!r} is not a number of seconds; write {DETERMINISTIC}:0.1")
    return delay
