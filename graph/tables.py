"""Stages whose elements are read many times, as those of tables, and what inlining them would cost."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Protocol

from graph.inlining import Inlinable

_COPY, _SHORT, _OFTEN = 8, 64, 16
"""For tables: the size of an expression that only copies an element; the largest one that costs less than a load at a
place that is known; how often each element is read at least.
"""


class LookedUp(Inlinable, Protocol):
    """A stage (generator.polyhedral.pipelines.stage_facts.StageFacts)."""

    @property
    def by_data(self) -> bool:
        """Whether the elements that are read depend on data."""

    @property
    def pointwise(self) -> bool:
        """Whether an element depends on at most one element of each array that it reads."""

    @property
    def lines(self) -> tuple[int, ...]:
        """The dimensions that can only be computed completely."""


def is_table(stage: LookedUp, extents: Mapping[str, tuple[int, ...]]) -> bool:
    """Return whether inlining would compute its elements many times, each by itself: data choose among them, or all
    rows or colours of an image read the same ones.
    """
    often = _reads(stage, extents) >= _OFTEN * prod(stage.extents)
    return stage.pointwise and stage.size > (_COPY if stage.by_data else _SHORT) and often


def _reads(stage: LookedUp, extents: Mapping[str, tuple[int, ...]]) -> int:
    """Return how often elements of the stage are read by arrays of these `extents`."""
    return sum(reader.elements * reader.often * prod(extents[reader.array]) for reader in stage.readers)
