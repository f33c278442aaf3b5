"""The roofline model: a lower bound of a program's time from the device's peak rates of operations and data transfers.

S. Williams, A. Waterman, D. Patterson, Roofline: an insightful visual performance model for multicore architectures,
Communications of the ACM 52(4), 2009. Here the bandwidth depends on the size of the working set, because data in a
cache is moved faster. The ceilings are measured (`antune suite roofline`), so a program can exceed them if it uses
the device better than the measuring kernels.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from generator.facts import Demand


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """The largest measured rate in bytes per second of kernels that repeatedly read and write `working_set` bytes."""

    working_set: int
    bytes_per_s: float


@dataclass(frozen=True, slots=True)
class Ceilings:
    """The measured peak rates of a device.

    `operations_per_s`: additions and multiplications per second by C type. `bandwidths`: in ascending order of working
    sets; the last is that of the device's memory.
    """

    device_key: str
    driver: str
    measured_at: str
    operations_per_s: tuple[tuple[str, float], ...]
    bandwidths: tuple[Bandwidth, ...]


@dataclass(frozen=True, slots=True)
class Roof:
    """The lower bound of a program's time on a device in ms, and what limits it."""

    ms: float
    limit: Literal["compute", "memory"]

    def share(self, measured_ms: float) -> float:
        """Return the lower bound divided by a measured time; 1 means that the program reaches the roof."""
        return self.ms / measured_ms if measured_ms else 0.0


def bandwidth_for(working_set: float, bandwidths: Sequence[Bandwidth]) -> float:
    """Return the bandwidth for a working set in bytes per second, interpolated on logarithmic scales.

    Outside the range of measured working sets, it is the bandwidth of the nearest one.
    """
    size = max(working_set, 1.0)
    for below, above in itertools.pairwise(bandwidths):
        if below.working_set <= size < above.working_set:
            place = math.log(size / below.working_set) / math.log(above.working_set / below.working_set)
            return math.exp((1 - place) * math.log(below.bytes_per_s) + place * math.log(above.bytes_per_s))
    return bandwidths[0 if size < bandwidths[0].working_set else -1].bytes_per_s


def arithmetic(type_: str, ceilings: Ceilings) -> tuple[str, float] | None:
    """Return the fastest type in which results of `type_` can be computed, with its operations per second; None if
    unknown.

    Integers may result from floating-point numbers of any type: then it is the fastest one.
    """
    rates = dict(ceilings.operations_per_s)
    if type_ in rates:
        return type_, rates[type_]
    if type_ in ("float", "double") or not rates:
        return None
    return max(ceilings.operations_per_s, key=lambda rate: rate[1])


def roof(demand: Demand, ceilings: Ceilings) -> Roof | None:
    """Return the lower bound of the time of a program with this demand; None if its type has no measured ceiling.

    Data counts once: every element that is live at the entry and read, and every element that is written and live at
    the exit. To keep it a lower bound, divisions and functions count as one operation, integer operations as none.
    """
    fastest = arithmetic(demand.type, ceilings)
    if fastest is None or not ceilings.bandwidths:
        return None
    memory_s = demand.moved_bytes / bandwidth_for(demand.resident_bytes, ceilings.bandwidths)
    compute_s = demand.operations.floating / fastest[1]
    return Roof(1e3 * max(memory_s, compute_s), "memory" if memory_s >= compute_s else "compute")
