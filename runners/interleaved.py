"""Times several variants in turns, round by round, so that a slow period of the machine affects all of them.

If variants were timed one after the other, the one timed in a quiet period would win. In rounds of random order, all
have the same chances, and times of the same round can be compared.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from runners.base import Sitting

T = TypeVar("T")
MOST_ROUNDS = 200


def play(turns: Sequence[Callable[[], T]], sitting: Sitting,
         clock: Callable[[], float] = time.perf_counter) -> list[list[T]]:
    """Call each of `turns` once per round, in random order, and return the results of each, one per round.

    There is at least one round. No round begins that would probably end after the sitting's seconds (by `clock`).
    """
    rng = np.random.default_rng((sitting.seed, sitting.number))
    found: list[list[T]] = [[] for _ in turns]
    begin = clock()
    for rounds in range(1, MOST_ROUNDS + 1):
        for index in rng.permutation(len(turns)):
            found[index].append(turns[index]())
        if (clock() - begin) * (rounds + 1) / rounds > sitting.seconds:
            break
    return found
