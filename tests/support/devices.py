"""What tests of real devices share: limits that leave room on a busy machine, which OpenCL drivers are installed, and
runners of devices for which the drivers were asked once per process.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib.metadata import distributions
from pathlib import Path

from generator.lowering.heuristics.default import default_plan
from generator.plan import Plan
from generator.problem import Problem
from metrics.outcome import Outcome, Timed
from runners.base import DeviceInfo, Job, Limits
from runners.devices import find_device
from runners.pool_runner import DeviceRunner

LIMITS = Limits(compile_s=120, run_s=60, min_repeats=2, max_repeats=2, time_s=0.1)


def has_intel() -> bool:
    """Whether the extra `intel` is installed."""
    return any(d.name == "intel-opencl-rt" for d in distributions())


@lru_cache
def device_named(selector: str) -> DeviceInfo:
    """What `find_device` says, which starts a process for every driver."""
    return find_device(selector)


@contextmanager
def device_runner(found: Problem, selector: str, folder: Path, limits: Limits = LIMITS) -> Iterator[DeviceRunner]:
    """A runner that is closed at the end."""
    runner = DeviceRunner(found, device_named(selector), limits, folder)
    try:
        yield runner
    finally:
        runner.close()


def outcomes_on(selector: str, found: Problem, plans: Sequence[Plan], folder: Path) -> list[Outcome]:
    """What becomes of `plans` on a device, in their order."""
    with device_runner(found, selector, folder) as runner:
        outcomes = dict(runner.evaluate([Job(number, plan) for number, plan in enumerate(plans)]))
    return [outcomes[number] for number in range(len(plans))]


def check_default_plan(found: Problem, folder: Path, selector: str = "pocl") -> None:
    """The default plan computes on the device what the program computes."""
    plan = default_plan(found.program, device_named(selector).target)
    (outcome,) = outcomes_on(selector, found, [plan], folder)
    assert isinstance(outcome, Timed), outcome.message
