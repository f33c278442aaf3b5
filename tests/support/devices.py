"""Helpers for tests on real devices: the installed OpenCL drivers, and checks of plans on a device.

Drivers are queried once per test process.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import distributions

from generator.lowering.heuristics.default import default_plan
from generator.plan import Plan
from generator.problem import Problem
from metrics.outcome import Timed, TimedOut
from runners.base import DeviceInfo
from runners.devices import find_device
from tests.support.bench import outcomes_of


@lru_cache
def has_intel() -> bool:
    """Return whether the extra `intel` is installed."""
    return any(True for _ in distributions(name="intel-opencl-rt"))


@lru_cache
def device_named(selector: str) -> DeviceInfo:
    """Return the result of `find_device`, which starts a process for every driver."""
    return find_device(selector)


def check_plans(device: DeviceInfo, found: Problem, plans: Sequence[Plan]) -> None:
    """Check that each plan's results on the device are those of the program."""
    for plan, outcome in zip(plans, outcomes_of(device, found, plans), strict=True):
        assert isinstance(outcome, Timed), (plan.to_json(), outcome.message)


def check_results(device: DeviceInfo, found: Problem, plans: Sequence[Plan]) -> None:
    """The same, but a plan may be too slow to be timed: results are checked before that."""
    for plan, outcome in zip(plans, outcomes_of(device, found, plans), strict=True):
        late = isinstance(outcome, TimedOut) and outcome.phase == "time"
        assert late or isinstance(outcome, Timed), (plan.to_json(), outcome.message)


def check_default_plan(found: Problem, selector: str = "pocl") -> None:
    """Check the default plan."""
    device = device_named(selector)
    check_plans(device, found, [default_plan(found.program, device.target)])
