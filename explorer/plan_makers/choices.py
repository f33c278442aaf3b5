"""The choices of a plan maker: groups of stages with their tiles, the best first."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from generator.nest import Level
from metrics.costs.base import Cost, CostModel
from metrics.costs.groups import AXES, Group


@dataclass(frozen=True, slots=True)
class Choice:
    """A kernel: `tile` points and `block` threads per dimension of its output, and its cost by a model.

    `level`: which threads share a tile; `in_registers`: how many tenths of it are in registers. `step`: the dimension
    along which blocks walk, and the points of a step (None: no walk); they compute the members in `whole` for their
    whole tiles before. `summed`: the sum of products that its threads compute (empty: none), on a device where models
    do not know what makes such sums fast: the plan has the kernel of the start plans, in place of what is chosen here.
    """

    group: Group
    tile: tuple[int, ...]
    block: tuple[int, ...]
    cost: Cost
    level: Level = "block"
    in_registers: int = 0
    step: tuple[int, int] | None = None
    whole: tuple[str, ...] = ()
    summed: str = ""


@dataclass(frozen=True, slots=True)
class Grouping:
    """All kernels that a model can judge; stages that it cannot judge are left to kernels of their own.

    `cost` is the sum over the kernels. `note` describes deviations, empty for none.
    """

    kernels: tuple[Choice, ...]
    note: str = ""

    @property
    def cost(self) -> float:
        """The sum of the kernels' costs."""
        return sum(kernel.cost.number for kernel in self.kernels)


@dataclass(frozen=True, slots=True)
class Unjudged:
    """A stage with kernels of its own because a model cannot judge it, or not in one kernel with those that read it."""

    array: str
    reason: str


@dataclass(frozen=True, slots=True)
class Made:
    """The results of a plan maker: groupings, the best first, and the stages that are left: they have kernels by the
    default rules. `model`: that of the costs. `unjudged` returns why it can judge no tile of a kernel, or, if the plan
    maker could have `chosen` this kernel, only some; empty if there is no such reason.
    """

    groupings: tuple[Grouping, ...]
    left: tuple[Unjudged, ...]
    model: CostModel
    unjudged: Callable[[Group, bool], str]


def in_order(found: Iterable[Grouping]) -> tuple[Grouping, ...]:
    """Return the groupings without repetitions, the cheapest first."""
    return tuple(sorted(dict.fromkeys(found), key=lambda one: one.cost))


def kept(found: Iterable[Grouping], count: int) -> tuple[Grouping, ...]:
    """Return the `count` cheapest groupings; of several, the last one has nested stages if the others have none."""
    best = in_order(found)
    nested = [one for one in best if one.note]
    if count < 2 or not nested or nested[0] in best[:count]:
        return best[:count]
    return *best[: count - 1], nested[0]


def hosted(group: Group, launches: bool) -> Group:
    """Return the kernel; if `launches`, with host loops over the dimensions beyond three, outermost first."""
    return replace(group, hosted=max(0, len(group.extents) - AXES) if launches else 0)


APART = 0.005
"""The share of the cost of the best grouping by which two choices for a kernel have to differ: models are not more
accurate, and the next best plans would all differ only in the smallest kernels.
"""


def spaced(choices: Sequence[Choice], best: float) -> list[Choice]:
    """Return those of `choices` (sorted, the cheapest first) whose costs are APART; `best`: the cost of all kernels."""
    kept: list[Choice] = []
    for choice in choices:
        if not kept or choice.cost.number >= kept[-1].cost.number + APART * best:
            kept.append(choice)
    return kept


def combinations(options: Sequence[Sequence[Choice]], count: int) -> Iterator[tuple[Choice, ...]]:
    """Yield the `count` cheapest ways to choose one of each of `options` (sorted, the cheapest first), in order."""
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
