"""Cost models that rate many tilings of a kernel at once, for searches over prefixes of plans."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from metrics.costs.base import possible
from metrics.costs.groups import Numbers
from metrics.costs.learned.layout import Layout
from metrics.costs.sioutas import Sioutas


class Scorer(Protocol):
    """Computes a cost per tiling of a kernel: lower is better, infinite means impossible."""

    @property
    def name(self) -> str:
        """The name of the model."""

    def score(self, made: Layout) -> Numbers:
        """Return the costs, all positive, shape (tilings,)."""


@dataclass(frozen=True, slots=True)
class SioutasScorer:
    """Sioutas' model. Its costs are infinite for tiles that are not shared by a whole block."""

    model: Sioutas
    name: str = "sioutas"

    def score(self, made: Layout) -> Numbers:
        """See Scorer."""
        if made.sizes.level != "block":
            return np.full(made.sizes.count, np.inf)
        kept = made.stored if made.sizes.step is not None else None
        found = self.model.evaluate(made.group, made.sizes.tile, made.device, made.threads, kept)
        fits = possible([wrong for wrong in found.wrongs if not wrong.runs], made.sizes.count)
        costs: Numbers = np.where(fits, np.maximum(found.cost, 1e-9), np.inf)
        return costs
