"""Which stages of a pipeline a device should store: those that cost more to compute again than to store and load.

A simple model of a kernel's time, in operations of a device that is busy: the operators of an element, how often its
kernel computes it, and fixed costs of an element that is stored or loaded, and of a launch (`Weights`). A kernel with
few threads takes as long as one that fills the device. It is precise enough for a schedule to begin with.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Protocol

from graph.inlining import Inlinable, Inlining, Needed

FILLING = 1 << 17
"""Threads that keep a large GPU busy."""


@dataclass(frozen=True, slots=True)
class Weights:
    """What a kind of device does in the time of how many operations: it stores an element and loads it for the first
    time (`stored`, and `byte` per byte in addition), loads an element that a cache holds, launches a kernel. `filling`:
    the threads that keep it busy.
    """

    stored: int
    byte: int
    loaded: int
    launch: int
    filling: int


GPU = Weights(stored=120, byte=24, loaded=8, launch=10 ** 8, filling=FILLING)
CPU = Weights(stored=40, byte=4, loaded=2, launch=20_000, filling=1)
LONGEST_SUM = 32
"""Longer sums are stored: only a kernel of their own can keep them in registers and share the loads of its threads.
"""
TOLERATED = 2
"""The model may be wrong by this factor."""
_SWEEPS = 4
"""The most times that all stages are reconsidered."""


class Stage(Inlinable, Protocol):
    """A stage (generator.polyhedral.pipelines.stage_facts.StageFacts)."""

    @property
    def element(self) -> int:
        """The size of an element in bytes."""

    @property
    def operations(self) -> int:
        """The operators, numbers and names that an element executes, with those of its reduction loops."""

    @property
    def lines(self) -> tuple[int, ...]:
        """The dimensions along which one thread computes all elements."""


def is_long_sum(stage: Stage) -> bool:
    """Return whether an element takes many iterations of reduction loops."""
    return stage.operations > LONGEST_SUM * stage.size


def cheaply_inlined(stages: Sequence[Stage], extents: Mapping[str, tuple[int, ...]],
                    weights: Weights) -> frozenset[str]:
    """Return the stages that should be computed where they are read; the others should be stored.

    `stages` are in source order. `extents`: the sizes of all computed arrays. The decisions change one at a time, from
    the outputs to the inputs, as long as that lowers the cost.
    """
    costs = costs_of(stages, extents, weights)
    return _lowered(costs, frozenset(), [frozenset((stage.array,)) for stage in costs.stages])


def exchanged(stages: Sequence[Stage], extents: Mapping[str, tuple[int, ...]], weights: Weights,
              inlined: frozenset[str]) -> frozenset[str]:
    """Return stages that cost less to inline than `inlined`, or these: a stage and one that reads it change together,
    too. Of two stages of a pyramid, it often costs least to store one or the other, and more to store both or none.
    """
    costs = costs_of(stages, extents, weights)
    names = {stage.array for stage in stages}
    pairs = (frozenset((stage.array, reader.array)) for stage in costs.stages for reader in stage.readers
             if reader.array in names)
    return _lowered(costs, inlined, [*(frozenset((stage.array,)) for stage in costs.stages), *dict.fromkeys(pairs)])


def _lowered(costs: Costs, inlined: frozenset[str], changes: Sequence[frozenset[str]]) -> frozenset[str]:
    """Make those of `changes` to the stages `inlined` that lower the cost, again as long as there are any."""
    least = costs.of(inlined)
    for _ in range(_SWEEPS):
        before = inlined
        for change in changes:
            other = inlined ^ change
            cost = costs.of(other)
            if cost is not None and least is not None and cost < least:
                inlined, least = other, cost
        if inlined == before:
            break
    return inlined


def is_cheap(inlined: Iterable[str], stages: Sequence[Stage], extents: Mapping[str, tuple[int, ...]],
             weights: Weights) -> bool:
    """Return whether it costs at most TOLERATED times as much to inline these stages as those of `cheaply_inlined`."""
    costs = costs_of(stages, extents, weights)
    given, least = costs.of(frozenset(inlined)), costs.of(cheaply_inlined(stages, extents, weights))
    return given is not None and least is not None and given <= TOLERATED * least


def costs_of(stages: Sequence[Stage], extents: Mapping[str, tuple[int, ...]], weights: Weights) -> Costs:
    """Return the costs of a pipeline with these stages, in source order."""
    return Costs(tuple(reversed(stages)), extents, weights, {stage.array: stage.lines for stage in stages})


@dataclass(frozen=True, slots=True)
class _Passed:
    """What is known after a stage: whether it is inlined, the cost so far, the sizes of all that is inlined."""

    inlined: bool
    total: float
    sizes: dict[str, int]


@dataclass(frozen=True, slots=True)
class Costs:
    """The costs of a pipeline with these stages, from the outputs to the inputs.

    `lines`: of each stage. `_known`: what is needed of a stage, and the elements that this reads, by what is needed of
    its readers: nothing else matters. `_passed`, `_inlining`: the last question, whose first stages often are those of
    the next one. `_stored`: see `_of_stored`.
    """

    stages: tuple[Stage, ...]
    extents: Mapping[str, tuple[int, ...]]
    weights: Weights
    lines: Mapping[str, tuple[int, ...]]
    _known: dict[tuple[str, tuple[int, ...]], tuple[Mapping[str, Needed], int]] = field(default_factory=dict)
    _passed: list[_Passed] = field(default_factory=list)
    _inlining: Inlining = field(default_factory=Inlining)
    _stored: dict[str, tuple[float, float]] = field(default_factory=dict)

    def of(self, inlined: frozenset[str]) -> float | None:
        """Return the cost if the stages `inlined` are not stored; None if one of them cannot be inlined."""
        passed, inlining = self._passed, self._inlining
        same = (one.inlined == (stage.array in inlined) for one, stage in zip(passed, self.stages, strict=False))
        del passed[next((n for n, one in enumerate(same) if not one), len(passed)):]
        total, inlining.sizes = (passed[-1].total, passed[-1].sizes) if passed else (0.0, {})
        for stage in self.stages[len(passed):]:
            needed, read = self._needed(stage)
            if stage.array in inlined:
                if stage.lines or is_long_sum(stage) or not inlining.allows(stage, needed):
                    return None
                inlining.sizes = dict(inlining.sizes)
                inlining.add(stage, needed)
                total += read * stage.operations
            else:
                inlining.needed.pop(stage.array, None)
                computed, stored = self._of_stored(stage)
                total += computed
                total += stored + read * self.weights.loaded
            passed.append(_Passed(stage.array in inlined, total, inlining.sizes))
        return total

    def _needed(self, stage: Stage) -> tuple[Mapping[str, Needed], int]:
        """Return what each context needs of a stage, and how many elements this reads."""
        inlined = self._inlining.needed
        key = stage.array, tuple(id(inlined.get(reader.array)) for reader in stage.readers)  # all are in `_known`
        if key not in self._known:
            found = self._inlining.of(stage)
            self._known[key] = found, sum(self._threads(array, self.lines.get(array, ())) * one.work
                                          for array, one in found.items())
        return self._known[key]

    def _of_stored(self, stage: Stage) -> tuple[float, float]:
        """Return what it costs to compute a stage in its own kernel, and to store it."""
        if stage.array not in self._stored:
            own = prod(stage.extents)
            self._stored[stage.array] = (self._threads(stage.array, stage.lines) * stage.operations,
                                         own * (self.weights.stored + stage.element * self.weights.byte)
                                         + self.weights.launch)
        return self._stored[stage.array]

    def _threads(self, array: str, lines: tuple[int, ...]) -> int:
        """Return the elements of an array, as many more as the device could have computed with more threads."""
        extents = self.extents[array]
        line = prod(extents[d] for d in lines)
        return line * max(prod(extents) // line, self.weights.filling)
