"""The static model of generated text (`metrics.static_model`) as a cost: work over how well a kernel uses a device.

    cost = launches * LAUNCH + work / (occupancy * block balance * tail)

Work is operations and bytes of global traffic, a byte counting as many operations as the device does while it moves
one; a launch costs as much as LAUNCH operations, some 5 microseconds of a GPU.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from metrics.costs.base import Cost, Judgement, PlannedKernel, Refused, Term
from metrics.costs.device import CostDevice
from metrics.outcome import MetricValues
from metrics.static_model import KernelMetrics, global_bytes, kernel_metrics

LAUNCH = 2e7
"""Operations that a GPU does while it launches a kernel."""
FACTORS = ("occupancy", "block_balance", "tail")
_LEAST = 1e-3
"""Of a factor: a kernel that does not fit at all is very slow."""


@dataclass(frozen=True, slots=True)
class Static:
    """The model."""

    name: str = "static"

    def judge(self, kernel: PlannedKernel, device: CostDevice) -> Judgement:
        """See CostModel: every kernel that has a text can be judged."""
        facts = kernel.facts
        if facts is None:
            return Refused("nobody generated its text")
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
    """The work of a kernel over how well it uses the device, in operations."""
    return kernel.work / used(kernel.values)


def used(values: MetricValues) -> float:
    """The share of the device that a kernel uses, by the metrics of FACTORS; in (0, 1]."""
    found = dict(values)
    return float(prod(max(found.get(name, 1.0), _LEAST) for name in FACTORS))
