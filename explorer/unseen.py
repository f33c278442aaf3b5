"""Draws walks that were not asked before, until the space is exhausted."""

from __future__ import annotations

from collections.abc import Mapping

from graph.knowledge import Measured
from graph.node import Policy
from graph.optimization_graph import OptimizationGraph
from graph.policies import first, replay
from graph.prefixes import PrefixTree
from graph.space import Space
from graph.walk import Walk
from metrics.outcome import Outcome, Timed, program_metrics


class UnseenWalks:
    """Draws walks by a policy without repeats; owns the graph of the space.

    A repeated walk is drawn again, up to `retries` times: that keeps the policy's distribution over the unseen walks.
    After that, exhausted prefixes are closed (graph.prefixes), so that a draw gives an unseen walk or proves that none
    is left.
    """

    def __init__(self, space: Space, retries: int = 10) -> None:
        """Start without any asked walk of `space`."""
        self.graph = OptimizationGraph()
        self._space = space
        self._retries = retries
        self._asked: dict[str, Walk] = {}
        self._used_up: PrefixTree | None = None

    @property
    def space(self) -> Space:
        """The space of the walks."""
        return self._space

    def draw(self, policy: Policy) -> Walk | None:
        """Return an unseen walk, or None if the space is exhausted."""
        if self._used_up is not None and self._used_up.exhausted:
            return None
        for _ in range(self._retries):
            walk = self.draw_once(policy)
            if walk is not None:
                return walk
        return self._draw_systematically(policy)

    def draw_once(self, policy: Policy) -> Walk | None:
        """Return the walk that `policy` draws, or None if it was asked before, or no walk is legal."""
        walk = self.graph.walk(self._space, policy)
        return walk if walk is not None and self.take(walk) else None

    def peek(self, policy: Policy) -> Walk | None:
        """Return what `draw_once` would, without marking the walk as asked (see `take`)."""
        walk = self.graph.walk(self._space, policy)
        return walk if walk is not None and walk.identity not in self._asked else None

    def asked(self, walk: Walk) -> bool:
        """Return whether the walk was asked before."""
        return walk.identity in self._asked

    def take(self, walk: Walk) -> bool:
        """Mark the walk as asked, and return whether its Plan is new."""
        if self._used_up is not None:
            self._used_up.close(self.graph.path(walk))
        if walk.identity in self._asked:
            return False
        self._asked[walk.identity] = self.graph.compact(walk)
        return True

    def record(self, walk: Walk, outcome: Outcome) -> Walk:
        """Record the outcome in the graph, and return the walk as this graph knows it.

        A walk that was never asked (a seed) is marked as asked. Raises ValueError if the space does not allow the walk.
        """
        known = self._asked.get(walk.identity) or self._adopt(walk)
        self.graph.record(known, program_of(outcome), kernels_of(outcome))
        return known

    def _adopt(self, walk: Walk) -> Walk:
        replayed = self.graph.walk(self._space, replay(walk.choices, first))
        if replayed is None or replayed.identity != walk.identity:
            raise ValueError(f"walk {walk.identity} does not belong to this space")
        self.take(replayed)
        return replayed

    def _draw_systematically(self, policy: Policy) -> Walk | None:
        if self._used_up is None:  # most runs never need it
            self._used_up = PrefixTree()
            for asked in self._asked.values():
                self._used_up.close(self.graph.path(asked))
        while (walk := self.graph.walk(self._space, policy, self._used_up)) is not None:
            if self.take(walk):
                return walk
        return None


def kernel_times(outcome: Outcome) -> Mapping[tuple[str, ...], float]:
    """Return the median times in ms by the kernels' statements; empty for a failure."""
    if not isinstance(outcome, Timed):
        return {}
    return {kernel.statements: kernel.median_ms for kernel in outcome.kernels}


def program_of(outcome: Outcome) -> Measured | None:
    """Return the median time in ms and the metrics of the whole program; None for a failure."""
    if not isinstance(outcome, Timed):
        return None
    return Measured(outcome.median_ms, dict(program_metrics(outcome.kernels)))


def kernels_of(outcome: Outcome) -> Mapping[tuple[str, ...], Measured]:
    """Return the median times in ms and the metrics by the kernels' statements; empty for a failure."""
    if not isinstance(outcome, Timed):
        return {}
    return {kernel.statements: Measured(kernel.median_ms, dict(kernel.metrics)) for kernel in outcome.kernels}
