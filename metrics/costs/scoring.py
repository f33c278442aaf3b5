"""Cost models that judge many ways to cut a kernel at once: what a search over prefixes of plans asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from metrics.costs.base import possible
from metrics.costs.groups import Numbers
from metrics.costs.learned.layout import Layout
from metrics.costs.sioutas import Sioutas


class Scorer(Protocol):
    """A cost per way to cut a kernel, lower being better; infinite where it is impossible."""

    @property
    def name(self) -> str:
        """Of the model."""

    def score(self, made: Layout) -> Numbers:
        """The costs, all of them positive."""


@dataclass(frozen=True, slots=True)
class SioutasScorer:
    """Sioutas' model, which says nothing of tiles of single threads."""

    model: Sioutas
    name: str = "sioutas"

    def score(self, made: Layout) -> Numbers:
        """See Scorer."""
        if made.sizes.level != "block":
            return np.full(made.sizes.count, np.inf)
        kept = made.kept if made.sizes.step is not None else None
        found = self.model.evaluate(made.group, made.sizes.tile, made.device, made.threads, kept)
        fits = possible([wrong for wrong in found.wrongs if not wrong.runs], made.sizes.count)
        costs: Numbers = np.where(fits, np.maximum(found.cost, 1e-9), np.inf)
        return costs
