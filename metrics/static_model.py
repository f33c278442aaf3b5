"""Metrics of a variant without running it: a static model of its kernels on a device.

Every metric is in [0, 1], where 1 is the device's peak or the ideal, so that they can replace a profiler's metrics.
They describe the text of the kernels, without effects of caches and compilers (except registers, see
`generator.facts.Access.transfers`). An unknown metric is absent, not 0.

    occupancy          threads that a compute unit holds, over the most it can hold
    load_efficiency    bytes that threads ask for over bytes of the memory sectors they touch, reads of global memory
    store_efficiency   the same of writes and atomic updates
    shared_efficiency  1 / passes that an access to shared memory takes: 1 without bank conflicts
    intensity          operations per byte of global traffic, x, as x / (x + the device's balance)
    block_balance      mean work of a thread over that of the busiest thread of its block
    tail               blocks over the blocks that would fit into the waves in which they run
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, isfinite
from typing import Protocol

from generator.facts import Access, KernelFacts
from metrics.device_model import DeviceModel, occupancy, resident_blocks
from metrics.outcome import MetricValues, Ratings
from metrics.resources import Resources
from metrics.transactions import passes, traffic

NAMES = ("occupancy", "load_efficiency", "store_efficiency", "shared_efficiency", "intensity", "block_balance",
         "tail")


@dataclass(frozen=True, slots=True)
class KernelMetrics:
    """Metrics of one kernel, in the order of `NAMES`. `work`: its estimated work over all launches, in operations.

    A byte of global traffic counts as many operations as the device executes while it moves one.
    """

    name: str
    statements: tuple[str, ...]
    work: float
    values: MetricValues


@dataclass(frozen=True, slots=True)
class Metrics:
    """Metrics of all kernels, and of the program: the means over the kernels that have them, weighted by work."""

    kernels: tuple[KernelMetrics, ...]
    values: MetricValues


def static_metrics(facts: Sequence[KernelFacts], device: DeviceModel,
                   resources: Sequence[Resources | None] | None = None) -> Metrics:
    """Return the metrics of a variant's kernels. `resources`: one per kernel, as the compiler reported (None: unknown).
    """
    reports = resources if resources is not None else [None] * len(facts)
    kernels = tuple(kernel_metrics(kernel, device, report) for kernel, report in zip(facts, reports, strict=True))
    return Metrics(kernels, _weighted(kernels))


def kernel_metrics(facts: KernelFacts, device: DeviceModel, resources: Resources | None = None) -> KernelMetrics:
    """Return the metrics of one kernel."""
    registers = resources.registers if resources else None
    found = (occupancy(facts, device, registers), load_efficiency(facts, device), store_efficiency(facts, device),
             shared_efficiency(facts, device), intensity(facts, device), block_balance(facts),
             tail(facts, device, registers))
    values = tuple((name, value) for name, value in zip(NAMES, found, strict=True) if value is not None)
    work = facts.launches * (_operations(facts) + device.balance * global_bytes(facts, device))
    return KernelMetrics(facts.name, facts.statements, work, values)


def metrics_by_statements(metrics: Metrics) -> Ratings:
    """Return the metrics per kernel for outcomes: by statements, in the order of the first kernel that has them.

    Kernels of the same statements (one that is launched from several places) count together, as their times do: the
    mean, weighted by work. Values that are not finite are left out.
    """
    together: dict[tuple[str, ...], list[KernelMetrics]] = {}
    for kernel in metrics.kernels:
        together.setdefault(kernel.statements, []).append(kernel)
    return tuple((statements, _finite(kernels[0].values if len(kernels) == 1 else _weighted(kernels)))
                 for statements, kernels in together.items())


def _finite(values: MetricValues) -> MetricValues:
    return tuple((name, value) for name, value in values if isfinite(value))


def _weighted(kernels: Iterable[KernelMetrics]) -> MetricValues:
    values = []
    for name in NAMES:
        having = [(k.work, value) for k in kernels for given, value in k.values if given == name]
        total = sum(work for work, _ in having)
        if total:
            values.append((name, sum(work * value for work, value in having) / total))
    return tuple(values)


def load_efficiency(facts: KernelFacts, device: DeviceModel) -> float | None:
    """Return how well reads of global memory are coalesced, in [0, 1]; None without reads.

    Bytes that the threads of a warp ask for, over bytes of the sectors that they touch, summed over all reads that
    reach memory. A row of neighbouring elements has 1; a column of floats, one sector of 32 bytes per thread, 4 / 32.
    An element that all threads read takes one sector, the least there is: at most 1 is counted per access.
    """
    return _efficiency([a for a in facts.accesses if a.space == "global" and a.mode == "read"], facts, device)


def store_efficiency(facts: KernelFacts, device: DeviceModel) -> float | None:
    """Return how well writes and atomic updates are coalesced, as `load_efficiency`; None without any."""
    return _efficiency([a for a in facts.accesses if a.space == "global" and a.mode != "read"], facts, device)


def _efficiency(accesses: Iterable[Access], facts: KernelFacts, device: DeviceModel) -> float | None:
    useful = touched = 0.0
    for access in accesses:
        cost = traffic(access, facts.block, device.warp, device.sector_bytes)
        useful += access.transfers * min(cost.asked, cost.touched)
        touched += access.transfers * cost.touched
    return useful / touched if touched else None


class Accessing(Protocol):
    """A kernel's accesses, and the threads of a block, x first."""

    @property
    def accesses(self) -> tuple[Access, ...]:
        """In text order."""

    @property
    def block(self) -> tuple[int, ...]:
        """Sizes."""


def shared_efficiency(facts: Accessing, device: DeviceModel) -> float | None:
    """Return 1 / the mean number of passes per access to shared memory: 1 = no bank conflicts, 1/32 = all in one bank.

    Passes beyond what the element size needs anyway (see `transactions.passes`), weighted by executions; accesses with
    unknown strides are left out. None if none is left or the device has no banks.
    """
    total = weight = 0.0
    for access in facts.accesses:
        if access.space != "shared" or not device.banks:
            continue
        count = passes(access, facts.block, device.warp, device.banks)
        if count is not None:
            total += access.executions * count
            weight += access.executions
    return weight / total if total else None


def global_bytes(facts: KernelFacts, device: DeviceModel) -> float:
    """Return the bytes of the sectors that one launch moves between compute units and their first cache."""
    per_thread = 0.0
    for access in facts.accesses:
        if access.space == "global":
            cost = traffic(access, facts.block, device.warp, device.sector_bytes)
            per_thread += access.transfers * cost.touched / facts.block_threads
    return per_thread * facts.threads


def _operations(facts: KernelFacts) -> float:
    return facts.operations.total * facts.threads


def intensity(facts: KernelFacts, device: DeviceModel) -> float | None:
    """Return the arithmetic intensity x (operations on data per byte of global traffic) as x / (x + balance), in [0,
    1).

    Traffic is that between a compute unit and its first cache, and so is the device's `balance`: the intensity at which
    computing and moving data take equally long. There the metric is 1/2; below it, memory is the limit. None without
    traffic.
    """
    moved = global_bytes(facts, device)
    if not moved:
        return None
    x = _operations(facts) / moved
    return x / (x + device.balance)


def block_balance(facts: KernelFacts) -> float:
    """Return how evenly the threads of a block share its work, in (0, 1]; 1 = no thread waits for another one.

    Below 1 because of partial tiles, whose idle threads wait, and loops that run longer in some threads than in others:
    the mean over all blocks of a thread's mean work, over the mean of the work of the busiest thread. With rectangular
    loops and one point per thread this is the share of launched threads that have a point. Work is memory accesses and
    operations.
    """
    return facts.balance


def tail(facts: KernelFacts, device: DeviceModel, registers: int | None = None) -> float | None:
    """Return how full the device is over all waves of blocks, in [0, 1]; None if a block does not fit.

    A wave is the number of blocks on all compute units at once. 1 = the last wave is as full as the others; a grid with
    fewer blocks than a wave leaves the rest of the device idle.
    """
    wave = device.units * resident_blocks(facts.block_threads, facts.local_bytes, registers, device)
    return facts.blocks / (ceil(facts.blocks / wave) * wave) if wave else None
