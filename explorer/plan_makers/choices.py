"""What a plan maker chooses: groups of stages with their tiles, the best first."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from generator.nest import Level
from metrics.costs.base import Cost
from metrics.costs.groups import Group


@dataclass(frozen=True, slots=True)
class Choice:
    """A kernel: `tile` points and `block` threads per dimension of its output, and what a model says of that; who
    shares a tile, and how many tenths of it are in registers.
    """

    group: Group
    tile: tuple[int, ...]
    block: tuple[int, ...]
    cost: Cost
    level: Level = "block"
    in_registers: int = 0


@dataclass(frozen=True, slots=True)
class Grouping:
    """All kernels that a model can judge; what it says nothing of is left to kernels of its own.

    `cost` is the sum over the kernels. `note` tells what is special, empty for nothing.
    """

    kernels: tuple[Choice, ...]
    note: str = ""

    @property
    def cost(self) -> float:
        """The sum."""
        return sum(kernel.cost.number for kernel in self.kernels)


@dataclass(frozen=True, slots=True)
class Left:
    """A stage that a model cannot judge: it has kernels of its own, by the usual rules."""

    array: str
    reason: str


@dataclass(frozen=True, slots=True)
class Made:
    """What a plan maker found: groupings, the best first; stages that it says nothing of."""

    groupings: tuple[Grouping, ...]
    left: tuple[Left, ...]


APART = 0.005
"""By what share of the cost of the best grouping two choices for a kernel have to differ: a model means no less, and
the next best plans would all differ in the smallest kernels.
"""


def spaced(choices: Sequence[Choice], best: float) -> list[Choice]:
    """Those of `choices` (sorted, the cheapest first) whose costs are APART, `best` being the cost of all kernels."""
    kept: list[Choice] = []
    for choice in choices:
        if not kept or choice.cost.number >= kept[-1].cost.number + APART * best:
            kept.append(choice)
    return kept


def combinations(options: Sequence[Sequence[Choice]], count: int) -> Iterator[tuple[Choice, ...]]:
    """The `count` cheapest ways to take one of each of `options` (sorted, the cheapest first), in order."""
    if not all(options):
        return
    start = (0,) * len(options)

    def cost(places: tuple[int, ...]) -> float:
        return sum(one[k].cost.number for one, k in zip(options, places, strict=True))

    waiting, seen = [(cost(start), start)], {start}
    while waiting and count:
        _, places = heapq.heappop(waiting)
        count -= 1
        yield tuple(one[k] for one, k in zip(options, places, strict=True))
        for d, k in enumerate(places):
            following = (*places[:d], k + 1, *places[d + 1 :])
            if k + 1 < len(options[d]) and following not in seen:
                seen.add(following)
                heapq.heappush(waiting, (cost(following), following))
