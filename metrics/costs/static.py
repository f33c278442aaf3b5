"""The static model of generated text (`metrics.static_model`) as a cost: work divided by the utilization of the device.

    cost = launches * LAUNCH + work / (occupancy * block balance * tail)

Work is the number of operations plus the bytes of global traffic, where a byte counts as many operations as the device
executes while it moves one. A launch costs LAUNCH operations, about 5 microseconds on a GPU.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from metrics.costs.base import Cost, Judgement, PlannedKernel, Refused, Term
from metrics.costs.device import CostDevice
from metrics.outcome import MetricValues
from metrics.static_model import KernelMetrics, global_bytes, kernel_metrics

LAUNCH = 2e7
"""The number of operations that a GPU executes in the time of a launch."""
FACTORS = ("occupancy", "block_balance", "tail")
_LEAST = 1e-3
"""Lower bound of a factor, so that a kernel that does not fit on the device gets a high, finite cost."""


@dataclass(frozen=True, slots=True)
class Static:
    """The static cost model."""

    name: str = "static"

    def judge(self, kernel: PlannedKernel, device: CostDevice) -> Judgement:
        """See CostModel. Refuses kernels without generated text."""
        facts = kernel.facts
        if facts is None:
            return Refused("its text was not generated")
        found = kernel_metrics(facts, device.model)
        terms = (
            Term("launches", facts.launches),
            Term("operations", facts.operations.total * facts.threads),
            Term("global traffic", global_bytes(facts, device.model), "bytes"),
            Term("work", found.work),
            *(Term(name.replace("_", " "), 100.0 * value, "%") for name, value in found.values),
        )
        return Cost(facts.launches * LAUNCH + slowed(found), terms)


def slowed(kernel: KernelMetrics) -> float:
    """Return the work of a kernel divided by its utilization of the device, in operations."""
    return kernel.work / used(kernel.values)


def used(values: MetricValues) -> float:
    """Return the utilization of the device: the product of the metrics in FACTORS; in (0, 1]."""
    found = dict(values)
    return float(prod(max(found.get(name, 1.0), _LEAST) for name in FACTORS))
