"""What runners of tests share: limits that leave room on a busy machine, and which OpenCL drivers are installed."""

from __future__ import annotations

from importlib.metadata import distributions

from runners.base import Limits

LIMITS = Limits(compile_s=120, run_s=60, min_repeats=2, max_repeats=2, time_s=0.1)


def has_intel() -> bool:
    """Whether the extra `intel` is installed."""
    return any(d.name == "intel-opencl-rt" for d in distributions())
