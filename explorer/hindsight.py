"""A guide for spaces without models: estimates costs of prefixes from measured walks with the same choices."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from graph.guiding import Guide, Prefix
from graph.optimization_graph import OptimizationGraph
from graph.space import Option
from graph.walk import Choice

FAILED = 4.0
"""The relative cost of an option whose walks all failed."""
EXACT = 2
"""The depth from which on numbers are compared exactly, not only strings and whether numbers are above 1."""


@dataclass(frozen=True, slots=True)
class Hindsight:
    """The guide. A prefix costs the product, over its choices, of the mean time of the walks with the choice divided
    by the mean time of all walks at its node."""

    graph: OptimizationGraph

    def offered(self, prefix: Prefix) -> tuple[Option, ...]:
        """See Guide: the options that are not pruned."""
        decision, options = prefix.state.decision, prefix.state.options
        node = self.graph.nodes.get(decision) if decision is not None else None
        left = tuple(node.options[k] for k in node.allowed) if node is not None and len(options) > 1 else ()
        return left or options

    def costs(self, prefixes: Sequence[Prefix]) -> list[float]:
        """See Guide."""
        return [self._cost(prefix) for prefix in prefixes]

    def _cost(self, prefix: Prefix) -> float:
        """Return the product of the factors of its choices; products of prefixes are cached in `note`."""
        unknown, at = [], prefix
        while not isinstance(at.note, float) and at.parent is not None:
            unknown.append(at)
            at = at.parent
        cost = at.note if isinstance(at.note, float) else 1.0
        for one in reversed(unknown):
            cost *= self._factor(one.choice) if one.choice is not None else 1.0
            one.note = cost
        return cost

    def _factor(self, choice: Choice) -> float:
        node = self.graph.nodes.get(choice.decision)
        if node is None or choice.option not in node.options:
            return 1.0
        edge = node.edges.get(node.options.index(choice.option))
        known = [one.cost for one in node.edges.values() if one.cost.count]
        if edge is None or not known:
            return 1.0
        mean = sum(one.mean * one.count for one in known) / sum(one.count for one in known)
        if not edge.cost.count:
            return FAILED if edge.failures else 1.0
        return edge.cost.mean / mean if mean > 0.0 and edge.cost.mean > 0.0 else 1.0

    def structure(self, prefix: Prefix, depth: int) -> Hashable:
        """See Guide: strings from depth 0 on; of numbers, at depth 1 whether they are above 1, then their values."""
        return tuple(_seen(choice.option, depth) for choice in prefix.choices)

    def is_heavy(self, prefix: Prefix) -> bool:
        """See Guide."""
        return False

    def coarse(self) -> Guide | None:
        """See Guide."""
        return None

    def frozen(self, end: Prefix, turn: int = 0) -> Guide:
        """See Guide."""
        return self


def _seen(option: Option, depth: int) -> Hashable:
    if depth >= EXACT:
        return type(option).__name__, option
    if isinstance(option, str | bool):
        return option
    return depth >= 1 and option > 1 if isinstance(option, int | float) else None
