"""The reads of a stage as matrices: where boxes of the stage read, for all reads and many boxes at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from generator.dataflow import Read

Rows: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Reaches:
    """One row per dimension of each read. `rising`, `falling`: the positive and the negative slopes along each
    dimension of the reader; `low`, `high` as in `generator.dataflow.Reach`. `rows` of each read. `moving`: for each
    row, the dimensions of the reader with a slope, and the slope.
    """

    rising: Rows
    falling: Rows
    low: Rows
    high: Rows
    rows: tuple[slice, ...]
    moving: tuple[tuple[tuple[int, float], ...], ...]

    def ends(self, first: Rows, last: Rows) -> tuple[Rows, Rows]:
        """Return the least and the greatest index that boxes of the reader from `first` to `last` read: rows x boxes.
        """
        least = self.rising @ first + self.falling @ last + self.low
        most = self.rising @ last + self.falling @ first + self.high
        # slopes such as 1/3 are rounded: an index may be computed as slightly more or less than a whole number
        return np.ceil(least - 1e-9), np.floor(most + 1e-9)


def reaches_of(reads: Sequence[Read], rank: int) -> Reaches:
    """Return the reads of a stage of `rank` dimensions."""
    every = [reach for read in reads for reach in read.reach]
    slopes = np.zeros((len(every), rank))
    for row, reach in zip(slopes, every, strict=True):
        row[: len(reach.slopes)] = reach.slopes  # none, where a scalar is inlined that reads an array
    ends = np.cumsum([0, *(len(read.reach) for read in reads)])
    return Reaches(
        np.maximum(slopes, 0.0), np.minimum(slopes, 0.0),
        np.array([reach.low for reach in every], dtype=float)[:, None],
        np.array([reach.high for reach in every], dtype=float)[:, None],
        tuple(slice(int(a), int(b)) for a, b in pairwise(ends)),
        tuple(tuple((q, slope) for q, slope in enumerate(reach.slopes) if slope) for reach in every))  # fmt: skip
