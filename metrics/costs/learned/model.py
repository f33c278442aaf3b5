"""The learned model as a cost model: of one kernel under a plan, and of many ways to cut one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from metrics.costs.base import Cost, Judgement, PlannedKernel, Refused, Term
from metrics.costs.device import CostDevice
from metrics.costs.groups import Numbers
from metrics.costs.learned.ensemble import cautious
from metrics.costs.learned.features import kernel_columns, stages_of
from metrics.costs.learned.file import Trained, read_model
from metrics.costs.learned.formula import terms
from metrics.costs.learned.layout import Layout, layout_of
from metrics.costs.learned.network import Array, forward_logarithms
from metrics.costs.learned.training import LEAST_PREDICTED_MS

SHIPPED = Path(__file__).parent / "shipped" / "intel_cpu.json"
"""Trained on a CPU with Intel's runtime (docs/learned_model.md)."""


def counts_of(made: Layout) -> Array:
    """Return rows of counts, one per stage of a kernel."""
    return np.array([_counts(made.node(stage).histogram) for stage in stages_of(made.group)])


@lru_cache(maxsize=256)
def _counts(histogram: tuple[float, ...]) -> Array:
    return np.array(histogram, dtype=float)


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """The model; costs are milliseconds on the device of its training."""

    trained: Trained
    name: str = "learned"

    def judge(self, kernel: PlannedKernel, device: CostDevice) -> Judgement:
        """See metrics.costs.base.CostModel."""
        made = layout_of(kernel, device)
        if isinstance(made, Refused):
            return made
        each = self.stages(made)[0]
        if not np.isfinite(each).all():
            return Refused("the learned model gives no finite time")
        found = tuple(Term(f"of {stage}", float(ms), "ms") for stage, ms in
                      zip(stages_of(made.group), each, strict=True))  # fmt: skip
        return Cost(float(each.sum()), found)

    def stages(self, made: Layout) -> Array:
        """Return milliseconds of each stage: ways x stages. A stage has the mean of its shares by the members."""
        columns, counts = kernel_columns(made), np.log1p(counts_of(made))
        features, logarithms = (columns.table(one) for one in (columns.values, np.log1p(columns.values)))
        ways, stages, width = features.shape
        with np.errstate(over="ignore", invalid="ignore"):  # callers refuse infinite times
            factors, kind = terms(features.reshape(-1, width), made.device.units), np.tile(np.arange(stages), ways)
            rows = logarithms.reshape(-1, width)
            each = np.array([(forward_logarithms(weights, counts, kind, rows).coefficients * factors).sum(axis=1)
                             for weights in self.trained.members]).reshape(-1, ways, stages)
            kernels = np.maximum(each.sum(axis=2), LEAST_PREDICTED_MS)
            whole = cautious(kernels, self.trained.caution)
            found: Array = whole[:, None] * (each / kernels[:, :, None]).mean(axis=0)
        return found

    def score(self, made: Layout) -> Numbers:
        """See metrics.costs.scoring.Scorer."""
        found = self.stages(made).sum(axis=1)
        costs: Numbers = np.where(np.isfinite(found), np.maximum(found, 1e-9), np.inf)
        return costs


@lru_cache(maxsize=1)
def shipped_model() -> Learned:
    """Return antune's own model."""
    return Learned(read_model(SHIPPED))
