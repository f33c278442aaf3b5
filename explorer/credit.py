"""Credit assignment: for operators by how often they improved recently, for explorers by when they found a new best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(slots=True)
class ProbabilityMatching:
    """Probabilities of operators, in proportion to how often each improved recently, with a lower bound.

    Goldberg (1990), as in Thierens, "An adaptive pursuit strategy for allocating operator probabilities" (2005):

        quality_k += rate * (reward - quality_k) after each use of operator k
        p_k = floor / K + (1 - floor) * quality_k / sum of all K qualities

    Every operator starts with quality `initial`, so that its first few uses do not decide.
    """

    count: int
    rate: float = 0.1
    floor: float = 0.3
    initial: float = 0.5
    quality: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        """Give all operators the same quality."""
        self.quality = np.full(self.count, self.initial)

    def reward(self, operator: int, amount: float) -> None:
        """Update the quality of `operator` after a use that earned `amount`, from 0 to 1."""
        self.quality[operator] += self.rate * (amount - self.quality[operator])

    def chances(self, usable: Sequence[bool] | None = None) -> NDArray[np.float64]:
        """Return the probability of each operator, 0 for those that are not `usable` (at least one must be)."""
        used = np.ones(self.count) if usable is None else np.array(usable, dtype=np.float64)
        quality = self.quality * used
        total = float(quality.sum())
        equal = used / used.sum()
        share = quality / total if total > 0.0 else equal
        return np.asarray(self.floor * equal + (1.0 - self.floor) * share, dtype=np.float64)


def area_under_curve(uses: Sequence[bool]) -> float:
    """Return the normalized area under the curve of successes among `uses`, oldest first: 1 if all succeeded.

    2 * sum of i * [use i was a success] / (n * (n + 1)), i from 1: late successes count more. 0 without uses.

    >>> area_under_curve([False, False, True])
    0.5
    """
    total = sum(number for number, success in enumerate(uses, 1) if success)
    return 2.0 * total / (len(uses) * (len(uses) + 1)) if uses else 0.0
