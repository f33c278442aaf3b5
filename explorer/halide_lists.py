"""A walk as a list of directives per stage, as in Halide's prototype.

A directive corresponds to a decision. A list without a directive means that the decision has its first option, which
switches it off. The sizes of tiles and blocks belong to a stage's loops; a stage without loops has none. If the space
has no stage graph (graph.stage_graph), each subject counts as a stage, and so does each decision about the whole
program.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from explorer.variation import Key, Subject, closest
from graph.node import Node, Policy
from graph.policies import uniform
from graph.prefixes import Path
from graph.space import Decision, Option
from graph.stage_graph import StageGraph
from graph.walk import Choice

List: TypeAlias = dict[Key, Option]
"""The options of one stage, by the decision's name and those of the stage's statements that it is about (a stage may
have several kernels); an empty tuple stands for all statements."""
Lists: TypeAlias = dict[Subject, List]


@dataclass(frozen=True, slots=True)
class Spot:
    """A decision of a walk, with its stage and the chosen option."""

    stage: Subject
    key: Key
    node: Node
    index: int

    @property
    def option(self) -> Option:
        """The chosen option."""
        return self.node.options[self.index]

    @property
    def off(self) -> bool:
        """Whether the chosen option is the first one, which switches the directive off."""
        return self.index == 0

    def others(self) -> list[Option]:
        """Return the other allowed options."""
        return [self.node.options[index] for index in self.node.allowed if index != self.index]


Spots: TypeAlias = Mapping[Subject, Sequence[Spot]]


@dataclass(frozen=True, slots=True)
class Stages:
    """Assigns decisions to stages. `_positions`: for each statement, the place of its stage in their order."""

    graph: StageGraph | None
    _positions: Mapping[str, int]

    @classmethod
    def of(cls, graph: StageGraph | None) -> Stages:
        """Return the stages of `graph`."""
        nodes = () if graph is None else graph.stages
        return cls(graph, {name: place for place, node in enumerate(nodes) for name in node.statements})

    def owner(self, decision: Decision) -> tuple[Subject, Key]:
        """Return the stage of `decision`, and its key in that stage's list.

        A kernel belongs to the last of the stages that it computes, which is the one that it stores.
        """
        name, subject = decision.name, decision.subject
        if self.graph is not None and name == self.graph.decision:
            return subject, (name, ())
        place = max((self._positions.get(statement, -1) for statement in subject), default=-1)
        if self.graph is None or place < 0:
            return subject or (name,), (name, subject)
        stage = self.graph.stages[place]
        return (stage.name,), (name, tuple(statement for statement in subject if statement in stage.statements))

    def lists(self, choices: Iterable[Choice]) -> Lists:
        """Return the lists of the given choices."""
        found: Lists = {}
        for choice in choices:
            stage, key = self.owner(choice.decision)
            found.setdefault(stage, {})[key] = choice.option
        return found

    def spots(self, path: Path) -> Spots:
        """Return the decisions of a walk by stage: stages in their order, then others in the order of the walk."""
        found: dict[Subject, list[Spot]] = {}
        if self.graph is not None:
            found = {(stage.name,): [] for stage in self.graph.stages}
        for node, index in path:
            stage, key = self.owner(node.decision)
            found.setdefault(stage, []).append(Spot(stage, key, node, index))
        return {stage: spots for stage, spots in found.items() if spots}

    def is_place(self, spot: Spot) -> bool:
        """Return whether the decision is about where the stage is computed."""
        return self.graph is not None and spot.node.decision.name == self.graph.decision

    def is_directive(self, spot: Spot) -> bool:
        """Return whether the decision is a directive that a list may lack: neither a place nor a size."""
        return not self.is_place(spot) and not self.is_size(spot.node.decision.name)

    def is_size(self, name: str) -> bool:
        """Return whether decisions of this name are about tile or block sizes of a stage's loops."""
        return self.graph is not None and (name in self.graph.tile or name in self.graph.block)

    def following(self, lists: Lists, rng: np.random.Generator) -> Policy:
        """Return a policy that takes the options of `lists`.

        A number that is not allowed is replaced by the closest allowed one, a place by loops of its own. Decisions that
        the lists lack are off; sizes, and all decisions of a space without stage graph, are drawn at random.
        """
        chance = uniform(rng)

        def choose(node: Node, allowed: NDArray[np.intp]) -> int:
            stage, key = self.owner(node.decision)
            option = _said(lists.get(stage, {}), key)
            if option is not None and option in node.options and (index := node.options.index(option)) in allowed:
                return index
            near = closest(node, allowed, option)
            if near is not None:
                return near
            if self.graph is None or self.is_size(node.decision.name):
                return chance(node, allowed)
            if node.decision.name == self.graph.decision:
                return _first_of(node, allowed, self.graph.options("own loops"))
            return int(allowed[0])

        return choose


def lists_of(spots: Spots) -> Lists:
    """Return the lists of a walk."""
    return {stage: list_of(those) for stage, those in spots.items()}


def list_of(spots: Iterable[Spot]) -> List:
    """Return the chosen options of these decisions as a list."""
    return {spot.key: spot.option for spot in spots}


def copied(given: Mapping[Key, Option]) -> List:
    """Return a list of the same options for any other stage, regardless of its statements."""
    return {(name, ()): option for (name, _), option in given.items()}


def two_point(first: Lists, second: Lists, rng: np.random.Generator) -> Lists:
    """Two-point crossover between stages: a segment of stages comes from one random parent, the others from the other.

    Both ends of the segment are random and belong to it; a segment of all stages is shortened by one. A stage that only
    one parent has comes from that parent.
    """
    inner, outer = (first, second) if rng.random() < 0.5 else (second, first)
    order = [*first, *(stage for stage in second if stage not in first)]
    low, high = sorted(int(place) for place in rng.integers(len(order), size=2))
    if high - low + 1 == len(order):
        high -= 1
    segment = set(order[low : high + 1])
    ways = {stage: (inner, outer) if stage in segment else (outer, inner) for stage in order}
    return {stage: dict(one.get(stage, other.get(stage, {}))) for stage, (one, other) in ways.items()}


def _said(given: Mapping[Key, Option], key: Key) -> Option | None:
    option = given.get(key)
    return given.get((key[0], ())) if option is None else option


def _first_of(node: Node, allowed: NDArray[np.intp], wanted: Sequence[Option]) -> int:
    """Return the index of the first allowed option that is in `wanted`, else the first allowed one."""
    return next((int(index) for index in allowed if node.options[index] in wanted), int(allowed[0]))
