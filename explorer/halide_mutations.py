"""The mutations of Halide's prototype: each changes the list of one stage, but for loop fusion.

How they map onto decisions (`explorer.halide_lists`: a decision at its first option is a directive that is missing; a
stage's place is its call schedule, the sizes of tiles and blocks belong to that):

- consts: all numbers of the stage are drawn anew.
- replace: a random list. copy: the list of another stage.
- add: one decision that is off is given another option; a stage without loops gets a place with some. Not beyond the
  most directives of a list.
- remove: one that is not off is switched off; if none is left, the stage's loops go.
- edit: one that is not off, the place or the sizes included, is given another option; a place stays one with loops.
- chunk: a stage in a reader's loops moves to other loops there, where the space has several kinds.
- template: a pattern that people write.
- fusion: a stage with two dimensions gets loops of its own, in square tiles. What it reads goes into its loops, and
  what that reads, in the order of the stages, as far as all that reads it is computed there; it goes on below each
  with probability 0.85.

Where the space names no stages, add and remove take a decision from and to its first option, without a limit; a
template is the stage's part of a walk that somebody gave to start with, and fusion is `explorer.variation.fused`:
neighbours in the walk stand for those who read each other. chunk has no counterpart there.
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
    """A walk that is about to change at one stage."""

    path: Path
    spots: Spots
    stage: Subject
    drawing: Drawing
    templates: Sequence[Lists]

    @property
    def lists(self) -> Lists:
        """What it is now."""
        return lists_of(self.spots)

    @property
    def own(self) -> Sequence[Spot]:
        """The decisions of the stage that changes."""
        return self.spots[self.stage]

    @property
    def directives(self) -> list[Spot]:
        """Those of them that may be missing."""
        return [spot for spot in self.own if self.drawing.stages.is_directive(spot)]

    @property
    def place(self) -> Spot | None:
        """Where the stage is computed, if that is decided."""
        return next((spot for spot in self.own if self.drawing.stages.is_place(spot)), None)

    @property
    def has_loops(self) -> bool:
        """Whether the stage has loops, its own or in a reader."""
        graph, place = self.drawing.stages.graph, self.place
        return graph is None or place is None or graph.role(place.option) != "no loops"

    def setting(self, spots: Sequence[Spot], rng: np.random.Generator) -> Lists | None:
        """Each of `spots` with another option; None where there is none for any."""
        changed = {spot.key: others[int(rng.integers(len(others)))] for spot in spots if (others := spot.others())}
        return {**self.lists, self.stage: {**list_of(self.own), **changed}} if changed else None


Mode: TypeAlias = Callable[[Mutant, np.random.Generator], "Lists | None"]
"""A child's lists; None where the mode can do nothing."""


def mutated(mutant: Mutant, rng: np.random.Generator) -> tuple[str, Lists] | None:
    """A child by a random mode, with its name; those that can do nothing are left out. None where all are."""
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
    """Loop fusion: a random stage's loops take in what it reads. None where no stage can do that."""
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
    """The stages below `head` that its loops take in, what reads first."""
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
"""The modes by the names that `HalideGaOptions.mutations` gives weights to."""
