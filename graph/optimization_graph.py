"""The optimization graph: nodes shared by all walks through a space, created when they are first reached.

A node is identified by its Decision: name, subject and the earlier choices that its options depend on. So the
decisions of a kernel form one subgraph, independent of the order of kernels and of earlier choices that do not change
its options. All walks share its statistics (the semantic edges of Papenhausen & Mueller's Coding Ants, section 5).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from graph.interning import Interning
from graph.knowledge import Measured
from graph.node import Node, Policy
from graph.prefixes import Path, Prefix, PrefixTree
from graph.space import DeadEnd, Decision, Option, Space
from graph.walk import Choice, Walk

_NO_KERNELS: Mapping[tuple[str, ...], Measured] = MappingProxyType({})


@dataclass(slots=True)
class OptimizationGraph:
    """All nodes reached so far, by Decision. Equal parts of nodes are stored once."""

    nodes: dict[Decision, Node] = field(default_factory=dict)
    _interning: Interning = field(default_factory=Interning)

    def walk(self, space: Space, policy: Policy, known: PrefixTree | None = None) -> Walk | None:
        """Walk through `space`, asking `policy` at every node; None when no walk is left.

        A DeadEnd prunes its last edge for good, and the walk backs up to the last node with an open option.
        This is correct because the identity of a node determines its options and their consequences: a space whose dead
        end depends on earlier choices names them in `Decision.depends`. Walks closed in `known` are not taken again.
        """
        tree = known if known is not None else PrefixTree()
        start: list[tuple[Node, int]] = []
        while not tree.exhausted:
            attempt = _Attempt(self, tree, policy, start)
            try:
                plan = space(attempt)
            except DeadEnd as dead_end:
                if attempt.path and not isinstance(dead_end, _NothingOpen):
                    node, index = attempt.path[-1]
                    node.prune(index)
                tree.close(attempt.path)
                start = tree.open_part(attempt.path)
                continue
            choices = tuple(Choice(node.decision, node.options[index]) for node, index in attempt.path)
            return Walk(choices, plan, tuple(attempt.settled))
        return None

    def path(self, walk: Walk) -> list[tuple[Node, int]]:
        """Return the nodes and option indices of a walk. Raises KeyError if the graph has not reached them."""
        nodes = [(self.nodes[choice.decision], choice.option) for choice in walk.choices]
        return [(node, node.options.index(option)) for node, option in nodes]

    def compact(self, walk: Walk) -> Walk:
        """Return an equal walk that shares its choices with other walks, for walks that are kept."""
        return self._interning.walk(walk)

    def record(self, walk: Walk, program: Measured | None,
               kernels: Mapping[tuple[str, ...], Measured] = _NO_KERNELS) -> None:
        """Add the cost of `walk` (None: it failed) to its edges; `kernels` is by subject.

        Edges of a node whose subject is among `kernels` get that kernel's time and metrics beside the program's time;
        all other edges get the program's time and metrics.
        """
        for node, index in self.path(walk):
            node.edge(index).record(program, kernels.get(node.decision.subject))

    def node(self, decision: Decision, options: Sequence[Option]) -> Node:
        """Return the node of `decision`, creating it on first use.

        Raises:
            ValueError: the decision was met before with other options (its `depends` lacks what they depend
                on), or an option is offered twice.
        """
        offered = tuple(options)
        node = self.nodes.get(decision)
        if node is None:
            if len(set(offered)) != len(offered):
                raise ValueError(f"decision {decision.name!r} of {decision.subject} offers an option twice: {offered}")
            kept = self._interning.decision(decision)
            node = self.nodes[kept] = Node(kept, self._interning.options(offered))
        elif node.options != offered:
            raise ValueError(
                f"decision {decision.name!r} of {decision.subject} was met with the options {node.options} and now "
                f"with {offered}; name in `depends` what they depend on, beside {decision.depends}"
            )
        return node


class _NothingOpen(DeadEnd):
    """All options of a node are pruned, or closed after this prefix; the last edge is not pruned for it."""


class _Attempt:
    """The Chooser of one run of a space: follows the path `start`, then asks the policy."""

    def __init__(self, graph: OptimizationGraph, tree: PrefixTree, policy: Policy, start: Path) -> None:
        self.path: list[tuple[Node, int]] = []
        self.settled: list[Choice] = []
        self._met: set[Node] = set()
        self._graph = graph
        self._policy = policy
        self._start = start
        self._prefix: Prefix | None = tree.root

    def choose(self, decision: Decision, options: Sequence[Option]) -> Option:
        """See graph.space.Chooser. Raises ValueError for a decision without options or asked twice."""
        if not options:
            raise ValueError(f"decision {decision.name!r} of {decision.subject} has no options; raise DeadEnd instead")
        if len(options) == 1:
            if decision.sampled:
                self.settled.append(Choice(decision, options[0]))
            return options[0]
        node = self._graph.node(decision, options)
        index = self._index(node)
        self.path.append((node, index))
        self._met.add(node)
        self._prefix = self._prefix.children.get(index) if self._prefix is not None else None
        return node.options[index]

    def _index(self, node: Node) -> int:
        if len(self.path) < len(self._start):
            repeated, index = self._start[len(self.path)]
            if repeated is not node:
                raise ValueError(f"the space is not deterministic at decision {node.decision.name!r}")
            return index
        if node in self._met:
            raise ValueError(f"decision {node.decision.name!r} of {node.decision.subject} is asked twice in one walk")
        allowed = self._prefix.open_options(node) if self._prefix is not None else node.allowed
        if not allowed.size:
            raise _NothingOpen
        return self._policy(node, allowed)
