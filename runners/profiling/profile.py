"""Profiles a variant on the device that this process has open, kernel by kernel."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from generator.problem import Problem
from generator.target import Target
from generator.variant import Variant
from metrics.measured import from_perf
from metrics.outcome import MetricValues, Profile, Ratings
from runners.backends import backend_of
from runners.driver import Device, Executable
from runners.host_program import BoundLaunch, launches
from runners.profiling.ncu import Work, profile_by_ncu
from runners.profiling.perf_events import CountersUnavailable, PerfCounters, Tally

MOST_LAUNCHES = 200
"""The maximum number of counted launches per kernel, evenly distributed: each costs system calls per thread."""


def profile_variant(device: Device, problem: Problem, key: str, target: Target, variant: Variant,
                    codes: tuple[bytes, ...], limit_s: float) -> Profile:
    """Return the counters of `variant`: by perf events on the host's cores, else by Nsight Compute.

    Raises:
        CountersUnavailable: there are no counters for this device; the message says why.
        BuildError, LaunchError: see `runners.driver`.
    """
    if target.shares_host_cores:
        executable = device.load(variant, codes)
        device.memory.upload()
        executable.run(tuple(launches(variant)))  # warm-up; now the driver has started all its threads
        device.memory.restore()
        return Profile("perf", _by_statements(variant, profile_by_perf(variant, executable, target.compute_units)))
    if not backend_of(key).nsight:
        raise CountersUnavailable("counters are read on CPU devices and on NVIDIA devices with --device cuda only")
    with tempfile.TemporaryDirectory(prefix="profile-") as folder:
        found = profile_by_ncu(Work(key, problem, variant, codes), Path(folder), limit_s)
    return Profile("ncu", _by_statements(variant, found))


def profile_by_perf(variant: Variant, executable: Executable, cores: int) -> dict[str, MetricValues]:
    """Return the metrics by kernel of one run, launch by launch.

    Raises:
        CountersUnavailable: see `PerfCounters`.
        LaunchError: see `runners.driver`.
    """
    program = tuple(launches(variant))
    counted = _counted(program)
    tallies = [Tally() for _ in variant.kernels]
    counters = PerfCounters()
    try:
        for number, launch in enumerate(program):
            if number in counted:
                with counters.counting(tallies[launch.kernel]):
                    executable.run([launch])
            else:
                executable.run([launch])
    finally:
        counters.close()
    return {kernel.name: from_perf(tally.counts, tally.seconds, cores)
            for kernel, tally in zip(variant.kernels, tallies, strict=True)}


def _counted(program: Sequence[BoundLaunch]) -> set[int]:
    """Return the positions of the launches to count."""
    by_kernel: dict[int, list[int]] = {}
    for number, launch in enumerate(program):
        by_kernel.setdefault(launch.kernel, []).append(number)
    return {numbers[k * len(numbers) // count] for numbers in by_kernel.values()
            for count in [min(len(numbers), MOST_LAUNCHES)] for k in range(count)}


def _by_statements(variant: Variant, found: dict[str, MetricValues]) -> Ratings:
    """Return metrics by the statements of the kernels; of several kernels with the same statements, the first one's."""
    by_statements: dict[tuple[str, ...], MetricValues] = {}
    for kernel in variant.kernels:
        by_statements.setdefault(kernel.statements, found.get(kernel.name, ()))
    return tuple(by_statements.items())
