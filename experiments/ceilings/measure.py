"""Measure the ceilings of a device: each probe runs in several shapes, and the fastest shape counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

from experiments.ceilings.probes import LINKS, Probe, Shape, lower_probe, probe_plan, probe_problem
from experiments.store import utc_now
from generator.errors import InputError
from generator.plan import Plan
from generator.program import ElementType, Program
from generator.target import Target
from metrics.outcome import Ratings, Timed
from metrics.roofline import Bandwidth, Ceilings
from runners.base import DeviceInfo, Job, Limits
from runners.pool_runner import DeviceRunner

WORKING_SETS = (1 << 16, 1 << 19, 1 << 22, 1 << 25, 1 << 27)
"""From 64 KiB, which fit into a core's caches, to 128 MiB, which fit into few caches."""
CACHES_OVER = 8
"""On a GPU, the largest working set is at least this many times as large as its L2 cache (60 MB on an H200)."""
LIMITS = Limits(compile_s=30.0, run_s=30.0, half_width=0.05, time_s=0.4, give_up=2.0)
Note = Callable[[str], None]


def measure_ceilings(device: DeviceInfo, workdir: Path, note: Note) -> Ceilings:
    """Return the ceilings of `device`, measured in a minute or two. `note` receives a message for each result.

    Raises:
        InputError: a probe works in none of its shapes on the device.
    """
    types: tuple[ElementType, ...] = ("float", "double") if device.target.fp64 else ("float",)
    rates = []
    for type_ in types:
        rate = _best(Probe("fma", type_), device, workdir)
        note(f"{type_}: {rate * 1e-9:.4g} billion operations per second")
        rates.append((type_, rate))
    bandwidths = []
    for size in working_sets(device.target):
        fastest = max(_best(probe, device, workdir) for probe in moving(size) if any(shapes(probe, device.target)))
        note(f"{size >> 10} KiB: {fastest * 1e-9:.4g} GB/s")
        bandwidths.append(Bandwidth(size, fastest))
    return Ceilings(device.key, device.driver, utc_now(), tuple(rates), tuple(bandwidths))


def moving(size: int) -> tuple[Probe, Probe]:
    """Return the probes that move `size` bytes per round."""
    return Probe("sum", "float", size), Probe("triad", "float", size)


def working_sets(target: Target) -> tuple[int, ...]:
    """Return the working sets to measure, in bytes: those of `WORKING_SETS` that keep the whole device busy, and a
    larger one for a GPU with a large cache.
    """
    busy = tuple(size for size in WORKING_SETS if any(any(shapes(probe, target)) for probe in moving(size)))
    largest = 1 << max(CACHES_OVER * target.cache_bytes - 1, 0).bit_length()
    return (*busy, largest) if largest > WORKING_SETS[-1] and not target.shares_host_cores else busy


def shapes(probe: Probe, target: Target) -> Iterator[Shape]:
    """Yield the shapes to try. On CPUs these are one thread per block with vectors, and many threads for the compiler
    to vectorise.
    """
    units, compute = target.compute_units, probe.name == "fma"
    if target.shares_host_cores:
        tried = [*product((1,), (units, 64 * units), (8, 16) if compute else (2, 4), (8, 16)),
                 *product((64, 256), (units, 8 * units), (8, 16) if compute else (4, 16), (1,))]
    else:
        tried = [*product((128, 256, 512), (4 * units, 16 * units), (8, 16) if compute else (2, 4, 8), (1,))]
    for threads, blocks, chains, lanes in tried:
        shape = Shape(threads, blocks, chains, lanes)
        if threads <= target.max_threads and (compute or shape.steps(probe)):
            yield shape


def no_metrics(program: Program, plan: Plan, target: Target) -> Ratings:
    """Return no metrics: probes are measured, not modelled."""
    del program, plan, target
    return ()


def _best(probe: Probe, device: DeviceInfo, workdir: Path) -> float:
    """Return the work per second of the fastest shape."""
    tried = tuple(shapes(probe, device.target))
    jobs = [Job(number, probe_plan(probe, shape)) for number, shape in enumerate(tried)]
    runner = DeviceRunner(
        probe_problem(probe), device, LIMITS, workdir, lower=lower_probe, length=LINKS, rate=no_metrics
    )
    try:
        outcomes = dict(runner.evaluate(jobs))
    finally:
        runner.close()
    rates = [shape.work(probe) / (outcome.median_ms * 1e-3) for number, shape in enumerate(tried)
             if isinstance(outcome := outcomes[number], Timed)]
    if not rates:
        failed = [outcome.message for outcome in outcomes.values() if not isinstance(outcome, Timed)]
        raise InputError(f"the probe {probe.name} ({probe.type}) does not run on {device.name}: {' '.join(failed[:1])}")
    return max(rates)
