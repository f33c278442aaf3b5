"""The required precision of an exported function's results: the same as in the run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.exports.chosen import Chosen
from generator.chains import longest_chain
from generator.contract import Array, Tolerance
from generator.problem import Reference
from runners.check import usual_tolerance


@dataclass(frozen=True, slots=True)
class Judged:
    """The tolerances of a run's results: a relative one, and further ones by element.

    If a kernel template names a `tolerance`, it is the only one, and its relative part is counted by element.
    `products`: the error that products of a lower precision explain (`Plan.rounded_products`).
    """

    reference: Reference
    chain: int
    tolerance: Tolerance | None
    products: float = 0.0

    @classmethod
    def of(cls, chosen: Chosen) -> Judged:
        """Return the tolerances of the chosen run, whose data are known."""
        assert chosen.problem is not None, "results to compare with are data"
        subject = chosen.info.subject
        return cls(chosen.problem.reference, longest_chain(subject), subject.contract.tolerance,
                   chosen.result.evaluation.plan.rounded_products)

    def relative(self, array: Array) -> float:
        """Return the relative tolerance of all elements."""
        return usual_tolerance(array, self.chain, self.products) if self.tolerance is None else 0.0

    def allowed(self, array: Array) -> NDArray[Any] | None:
        """Return the additional absolute tolerance of each element; None for none."""
        if self.tolerance is None:
            return self.reference.rounding.get(array.name)
        expected = np.abs(np.asarray(self.reference.outputs[array.name], np.float64))
        finite = np.isfinite(expected)  # an infinite tolerance would allow any value
        allowed = self.tolerance.absolute + self.tolerance.relative * np.where(finite, expected, 0.0)
        return np.where(finite, allowed, 0.0)
