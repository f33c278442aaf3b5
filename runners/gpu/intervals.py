"""The launches that are timed together: a pure function."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

from runners.host_program import BoundLaunch

MOST_LAUNCHES = 4096
"""The maximum in one graph: a driver needs some KB for each. The GPU's idle time between two graphs is not counted."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Launches between two times; `kernel` is that of all of them, or None."""

    kernel: int | None
    launches: tuple[BoundLaunch, ...]


Part: TypeAlias = tuple[Interval, ...]
"""The work that the host waits for once."""


def parts(launches: Sequence[BoundLaunch], times: int, by_kernel: bool) -> Iterator[Part]:
    """Yield the launches of a program, repeated `times`, in order.

    Each part is one interval or, `by_kernel`, has one interval for each sequence of launches of one kernel.
    """
    several = tuple(launches) * times
    for first in range(0, len(several), MOST_LAUNCHES):
        some = several[first:first + MOST_LAUNCHES]
        if by_kernel:
            yield tuple(Interval(kernel, tuple(same)) for kernel, same in groupby(some, lambda launch: launch.kernel))
        else:
            yield (Interval(None, some),)
