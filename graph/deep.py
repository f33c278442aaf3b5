"""Parallel loops beyond the third: in each thread, or around launches."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Protocol

from generator.target import Target
from graph.stage_costs import FILLING

AXES = 3
"""The dimensions of a launch."""
MOST_LAUNCHES = 256
"""The most launches of a nest for the sake of threads along rows; they take about a millisecond."""
MANY_TERMS = 16
"""So many terms make a sum that CPUs should compute for several neighbours at once, in registers."""


class Summed(Protocol):
    """A computed array (generator.polyhedral.pipelines.stage_facts.ComputedArray)."""

    @property
    def extents(self) -> tuple[int, ...]:
        """Its full size."""

    @property
    def terms(self) -> int:
        """The iterations that compute an element; 1 if data choose the elements."""


def is_deep(computed: Sequence[Summed], least: int = 1) -> bool:
    """Return whether arrays have more than three dimensions, but none so many elements in the outermost ones that
    launches would take most of the time, and some at least `least` elements in the others.
    """
    deep = [one.extents for one in computed if len(one.extents) > AXES]
    return (bool(deep) and max(prod(extents[:-AXES]) for extents in deep) <= MOST_LAUNCHES
            and max(prod(extents[-AXES:]) for extents in deep) >= least)


def around_launches(computed: Sequence[Summed], target: Target) -> bool:
    """Return whether start plans for `target`, and those of models, run the outermost of more than three dimensions
    around launches: otherwise rows are loops inside a thread.
    """
    return has_deep_sums(computed) if target.shares_host_cores else is_deep(computed, FILLING // 2)


def has_deep_sums(computed: Sequence[Summed]) -> bool:
    """Return whether loops around launches may pay on CPUs, too.

    There, a thread runs the rows of an array of four dimensions, and the compiler vectorizes them. But only the points
    of kernels' dimensions are kept in registers: the sums of a convolution were in memory.
    """
    return is_deep(computed) and any(len(one.extents) > AXES and one.terms >= MANY_TERMS for one in computed)
