"""Who deserves the next turn: operators by how often they improved lately, techniques by when they found a best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(slots=True)
class ProbabilityMatching:
    """Chances of operators in proportion to how often each improved lately, none below a floor.

    Goldberg (1990), as in Thierens, "An adaptive pursuit strategy for allocating operator probabilities" (2005):

        quality_k += rate * (reward - quality_k) after each use of operator k
        p_k = floor / K + (1 - floor) * quality_k / sum of all K qualities

    Every operator starts with `initial` quality, so that none is judged by its first few uses.
    """

    count: int
    rate: float = 0.1
    floor: float = 0.3
    initial: float = 0.5
    quality: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        """All operators are equal."""
        self.quality = np.full(self.count, self.initial)

    def reward(self, operator: int, amount: float) -> None:
        """Operator `operator` was used and earned `amount`, from 0 to 1."""
        self.quality[operator] += self.rate * (amount - self.quality[operator])

    def chances(self, usable: Sequence[bool] | None = None) -> NDArray[np.float64]:
        """The probability of each operator. Without those that are not `usable` (one is, at least) it is as if
        they were not.
        """
        used = np.ones(self.count) if usable is None else np.array(usable, dtype=np.float64)
        quality = self.quality * used
        total = float(quality.sum())
        equal = used / used.sum()
        share = quality / total if total > 0.0 else equal
        return np.asarray(self.floor * equal + (1.0 - self.floor) * share, dtype=np.float64)


def area_under_curve(uses: Sequence[bool]) -> float:
    """The area under the curve that rises with each success among `uses`, oldest first, as a share of the largest.

    2 * sum of i * [use i was a success] / (n * (n + 1)) with i from 1: late successes count more. 0 without uses.

    >>> area_under_curve([False, False, True])
    0.5
    """
    total = sum(number for number, success in enumerate(uses, 1) if success)
    return 2.0 * total / (len(uses) * (len(uses) + 1)) if uses else 0.0
