"""The sizes of the current kernel that a prefix has decided, and the remaining ways to tile it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.search.guides.candidates import Way
from experiments.search.guides.tables import Table
from generator.decisions.base import Option
from generator.decisions.deciding import Deciding
from generator.decisions.level import LEVEL
from generator.decisions.sizes import SIZES, TileAndBlock
from generator.decisions.walk import WALK
from generator.decisions.x_dimension import X_DIMENSION
from generator.nest import Level
from generator.plan import KERNEL_DECISIONS, KernelPlan

_ORDER, _WALK, _SIZES, _LEVEL = (KERNEL_DECISIONS.index(one) for one in (X_DIMENSION, WALK, SIZES, LEVEL))


@dataclass(frozen=True, slots=True)
class Sizing:
    """The decisions so far. `sizes` are tile x, block x, tile y, ... up to the last decided one; None: not decided."""

    order: tuple[int, ...]
    walk: int | None = None
    sizes: tuple[int, ...] = ()
    level: Level | None = None

    def left(self, table: Table) -> NDArray[np.bool_]:
        """Return a mask of the ways of `table` that agree with the decisions."""
        known = table.left.get(self)
        if known is None:
            known = table.left[self] = np.array([self._allows(way) for way in table.ways], dtype=bool)
        return known

    def answers(self, table: Table, name: str) -> tuple[Option, ...]:
        """Return the answers to the next decision that lead to a possible way, those to the cheapest way first."""
        if (known := table.wanted.get((self, name))) is not None:
            return known
        left = self.left(table)
        left = np.isfinite(table.costs) & (left if left.any() else True)
        cheapest_first = (int(k) for k in np.argsort(table.costs, kind="stable") if left[k])
        found = tuple(dict.fromkeys(self._answer(table.ways[k], name) for k in cheapest_first))
        table.wanted[self, name] = found
        return found

    def _answer(self, way: Way, name: str) -> Option:
        if name == WALK.name:
            return way.walk
        return way.level if name == LEVEL.name else in_order(way)[len(self.sizes)]

    def _allows(self, way: Way) -> bool:
        return (self.walk in (None, way.walk) and self.level in (None, way.level)
                and all(mine == other for mine, other in zip(self.sizes, in_order(way), strict=False)))  # fmt: skip


def in_order(way: Way) -> tuple[int, ...]:
    """Return the sizes of a way in the order of the decisions."""
    return tuple(_alternating(way.tile, way.block))


def _alternating(tile: tuple[int, ...], block: tuple[int, ...]) -> Iterator[int]:
    for points, threads in zip(reversed(tile), reversed(block), strict=True):
        yield points
        yield threads


def sizing_of(decided: Deciding) -> Sizing:
    """Return the decisions that the answers so far make."""
    values, answers = decided.values, decided.answers
    place = len(values)
    order = values[_ORDER] if place > _ORDER else _order_of(decided)
    walk: Any = values[_WALK] if place > _WALK else answers[0] if place == _WALK and answers else None
    level: Any = values[_LEVEL] if place > _LEVEL else answers[0] if place == _LEVEL and answers else None
    found: tuple[int, ...] = ()
    if place > _SIZES:
        chosen: TileAndBlock = values[_SIZES]
        found = tuple(_alternating(chosen.tile, chosen.block))
    elif place == _SIZES:
        found = tuple(answer for answer in answers if isinstance(answer, int))
    return Sizing(order, walk, found, level)


def _order_of(decided: Deciding) -> tuple[int, ...]:
    """Return the loop order that the answer about the x dimension implies; () without such an answer."""
    count = len(decided.shape.extents)
    if not decided.answers or not isinstance(x := decided.answers[0], int) or x == count - 1:
        return ()
    return (*(d for d in range(count) if d != x), x)


def sizing_of_plan(kernel: KernelPlan) -> Sizing:
    """Return the decisions of a finished kernel."""
    return Sizing(kernel.order, kernel.walk, tuple(_alternating(kernel.tile, kernel.block)), kernel.level)


def way_of(kernel: KernelPlan) -> Way:
    """Return the way in which a finished kernel is tiled."""
    return Way(kernel.tile, kernel.block, kernel.level, kernel.walk)
