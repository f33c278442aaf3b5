"""What tests of real devices share: which OpenCL drivers are installed, and whether plans are right on a device.

Drivers are asked once per test process.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import distributions

from generator.lowering.heuristics.default import default_plan
from generator.plan import Plan
from generator.problem import Problem
from metrics.outcome import Timed
from runners.base import DeviceInfo
from runners.devices import find_device
from tests.support.bench import outcomes_of


@lru_cache
def has_intel() -> bool:
    """Whether the extra `intel` is installed."""
    return any(True for _ in distributions(name="intel-opencl-rt"))


@lru_cache
def device_named(selector: str) -> DeviceInfo:
    """What `find_device` says, which starts a process for every driver."""
    return find_device(selector)


def check_plans(device: DeviceInfo, found: Problem, plans: Sequence[Plan]) -> None:
    """Each plan computes on the device what the program computes."""
    for plan, outcome in zip(plans, outcomes_of(device, found, plans), strict=True):
        assert isinstance(outcome, Timed), (plan.to_json(), outcome.message)


def check_default_plan(found: Problem, selector: str = "pocl") -> None:
    """So does the default plan."""
    device = device_named(selector)
    check_plans(device, found, [default_plan(found.program, device.target)])
