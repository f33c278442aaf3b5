"""The mutations of Halide's prototype. Each changes the list of one stage, except loop fusion.

How they map onto decisions (`explorer.halide_lists`: a decision at its first option is a missing directive; a stage's
place is its call schedule, with the sizes of tiles and blocks):

- consts: redraws all numbers of the stage.
- replace: a random list. copy: the list of another stage.
- add: gives another option to a decision that is off; a stage without loops gets a place with loops. Does nothing if
  the list has the maximal number of directives.
- remove: switches off a decision that is on; if there is none, the stage loses its loops.
- edit: gives another option to a decision that is on, to the place or to the sizes; a place stays one with loops.
- chunk: moves a stage in a reader's loops to other loops there, if the space has several kinds.
- template: a typical hand-written pattern.
- fusion: a stage with two dimensions gets loops of its own, in square tiles. The stages that it reads, directly or not,
  move into its loops, in the order of the stages, if all their readers are computed there; the search continues below
  each with probability 0.85.

If the space has no stage graph: add and remove switch a decision from and to its first option, without a limit; a
template is the stage's part of a given start walk; fusion is `explorer.variation.fused`, where neighbours in the walk
are taken for stages that read each other; chunk does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from explorer.halide_lists import Lists, Spot, Spots, copied, list_of, lists_of
from explorer.halide_schedules import Drawing, Patterns
from explorer.variation import Subject, fused, is_number
from graph.prefixes import Path
from graph.stage_graph import StageGraph


@dataclass(frozen=True, slots=True)
class Mutant:
    """A walk that is to be mutated at one stage."""

    path: Path
    spots: Spots
    stage: Subject
    drawing: Drawing
    templates: Sequence[Lists]

    @property
    def lists(self) -> Lists:
        """The lists of the walk before the mutation."""
        return lists_of(self.spots)

    @property
    def own(self) -> Sequence[Spot]:
        """The decisions of the stage."""
        return self.spots[self.stage]

    @property
    def directives(self) -> list[Spot]:
        """The decisions of the stage that are directives."""
        return [spot for spot in self.own if self.drawing.stages.is_directive(spot)]

    @property
    def place(self) -> Spot | None:
        """The decision where the stage is computed, or None if the stage has no such decision."""
        return next((spot for spot in self.own if self.drawing.stages.is_place(spot)), None)

    @property
    def has_loops(self) -> bool:
        """Whether the stage has loops, of its own or in a reader."""
        graph, place = self.drawing.stages.graph, self.place
        return graph is None or place is None or graph.role(place.option) != "no loops"

    def setting(self, spots: Sequence[Spot], rng: np.random.Generator) -> Lists | None:
        """Return the lists with another random option for each of `spots`; None if no spot has another option."""
        changed = {spot.key: others[int(rng.integers(len(others)))] for spot in spots if (others := spot.others())}
        return {**self.lists, self.stage: {**list_of(self.own), **changed}} if changed else None


Mode: TypeAlias = Callable[[Mutant, np.random.Generator], "Lists | None"]
"""Returns a child's lists; None if the mode cannot change the walk."""


def mutated(mutant: Mutant, rng: np.random.Generator) -> tuple[str, Lists] | None:
    """Return the name and the child of a random mode that can change the walk; None if no mode can."""
    weights = dict(mutant.drawing.options.mutations)
    while weights:
        chances = np.array([*weights.values()])
        name = [*weights][int(rng.choice(len(chances), p=chances / chances.sum()))]
        lists = MODES[name](mutant, rng)
        if lists is not None:
            return name, lists
        del weights[name]
    return None


def _consts(mutant: Mutant, rng: np.random.Generator) -> Lists | None:
    numbers = [spot for spot in mutant.own if all(map(is_number, spot.node.options))]
    drawn = {spot.key: spot.node.options[int(rng.choice(spot.node.allowed))] for spot in numbers}
    return {**mutant.lists, mutant.stage: {**list_of(mutant.own), **drawn}} if drawn else None


def _replace(mutant: Mutant, rng: np.random.Generator) -> Lists | None:
    return mutant.drawing.redrawn(mutant.lists, [mutant.stage], rng)


def _copy(mutant: Mutant, rng: np.random.Generator) -> Lists | None:
    others = [stage for stage in mutant.spots if stage != mutant.stage]
    if not others:
        return None
    return {**mutant.lists, mutant.stage: copied(mutant.lists[others[int(rng.integers(len(others)))]])}


def _add(mutant: Mutant, rng: np.random.Generator) -> Lists | None:
    patterns = mutant.drawing.patterns
    if patterns is not None and not mutant.has_loops:
        return {**mutant.lists, mutant.stage: patterns.placed(rng, "own loops", "in a reader")}
    there = [spot for spot in mutant.directives if not spot.off]
    if patterns is not None and len(there) + 1 >= mutant.drawing.options.length:
        return None
    missing = [spot for spot in mutant.directives if spot.off]
    return mutant.setting([missing[int(rng.integers(len(missing)))]], rng) if missing else None


def _remove(mutant: Mutant, rng: np.random.Generator) -> Lists | None:
    there = [spot for spot in mutant.directives if not spot.off]
    patterns = mutant.drawing.patterns
    if there:
        spot = there[int(rng.integers(len(there)))]
        return {**mutant.lists, mutant.stage: {**list_of(mutant.own), spot.key: spot.node.options[0]}}
    if patterns is None or mutant.place is None or not mutant.has_loops:
        return None
    return {**mutant.lists, mutant.stage: patterns.placed(rng, "no loops")}


def _edit(mutant: Mutant, rng: np.random.Generator) -> Lists | None:
    choices = [[spot] for spot in mutant.directives if not spot.off]
    sizes = [spot for spot in mutant.own if mutant.drawing.stages.is_size(spot.node.decision.name)]
    if sizes:
        choices.append(sizes)
    place, graph = mutant.place, mutant.drawing.stages.graph
    if place is not None and graph is not None and mutant.has_loops:
        others = [option for option in place.others() if graph.role(option) != "no loops"]
        if others and rng.integers(len(choices) + 1) == 0:
            option = others[int(rng.integers(len(others)))]
            return {**mutant.lists, mutant.stage: {**list_of(mutant.own), place.key: option}}
    return mutant.setting(choices[int(rng.integers(len(choices)))], rng) if choices else None


def _chunk(mutant: Mutant, rng: np.random.Generator) -> Lists | None:
    graph, found = mutant.drawing.stages.graph, []
    for spots in mutant.spots.values() if graph is not None else ():
        for spot in spots:
            if graph is not None and spot.node.decision.name == graph.decision:
                inside = graph.options("in a reader")
                others = [option for option in spot.others() if option in inside]
                found += [(spot, others)] if spot.option in inside and others else []
    if not found:
        return None
    spot, others = found[int(rng.integers(len(found)))]
    own = list_of(mutant.spots[spot.stage])
    return {**mutant.lists, spot.stage: {**own, spot.key: others[int(rng.integers(len(others)))]}}


def _template(mutant: Mutant, rng: np.random.Generator) -> Lists | None:
    patterns = mutant.drawing.patterns
    if patterns is not None:
        known = {(stage.name,) for stage in patterns.graph.stages}
        return {**mutant.lists, mutant.stage: patterns.human(rng)} if mutant.stage in known else None
    given = [template[mutant.stage] for template in mutant.templates if mutant.stage in template]
    return {**mutant.lists, mutant.stage: dict(given[int(rng.integers(len(given)))])} if given else None


def _fusion(mutant: Mutant, rng: np.random.Generator) -> Lists | None:
    patterns = mutant.drawing.patterns
    if patterns is not None:
        return fused_below(mutant.lists, patterns, rng)
    wanted = fused(mutant.path, rng)
    lists = mutant.lists
    child = {stage: {(name, subject): wanted.get((name, subject), option) for (name, subject), option in own.items()}
             for stage, own in lists.items()}
    return child if child != lists else None


def fused_below(lists: Lists, patterns: Patterns, rng: np.random.Generator) -> Lists | None:
    """Loop fusion: move stages into the loops of a random stage that reads them. None if no stage can do that."""
    graph = patterns.graph
    heads = [stage.name for stage in graph.stages if stage.dims >= 2 and stage.reads]
    for place in rng.permutation(len(heads)):
        head = heads[place]
        inside = patterns.placed(rng, "in a reader")
        taken = _taken_in(head, lists, graph, patterns.options.goes_on, rng)
        if taken:
            return {**lists, (head,): patterns.square(rng), **{(name,): dict(inside) for name in taken}}
    return None


def _taken_in(head: str, lists: Lists, graph: StageGraph, goes_on: float, rng: np.random.Generator) -> list[str]:
    """Return the stages below `head` that move into its loops, readers first."""
    readers = {stage.name: [one.name for one in graph.stages if stage.name in one.reads] for stage in graph.stages}
    within, below, taken = {head}, {head}, list[str]()
    for stage in reversed(graph.stages):
        name, own = stage.name, lists.get((stage.name,), {})
        if name == head or not readers[name] or not all(reader in within for reader in readers[name]):
            continue
        place = own.get((graph.decision, ()))
        if place is None:
            continue  # it always has loops of its own
        if any(reader in below for reader in readers[name]):
            taken.append(name)
            within.add(name)
            if rng.random() < goes_on:
                below.add(name)
        elif graph.role(place) != "own loops":
            within.add(name)
    return taken


MODES: Mapping[str, Mode] = MappingProxyType({
    "consts": _consts,
    "replace": _replace,
    "copy": _copy,
    "add": _add,
    "remove": _remove,
    "edit": _edit,
    "chunk": _chunk,
    "template": _template,
    "fusion": _fusion,
})
"""The modes of mutation by the names in `HalideGaOptions.mutations`."""
