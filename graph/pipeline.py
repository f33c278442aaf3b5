"""The space `pipeline`: where every stage is computed, from the outputs to the inputs, then the decisions of every kernel.

What Halide calls the call schedule (Ragan-Kelley 2014, ch. 5), in the three places that a GPU has: a kernel of its own (root), the
threads that read it (inline), the blocks that read it (block: overlapped tiles in shared memory). A stage that several kernels
read may be computed in each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from generator.plan import Plan, Stages
from generator.program import Where
from generator.target import Target
from graph.kernels import KernelSpace
from graph.o1 import Shapes, choose_reductions, kernel_space, with_kernels
from graph.placement import Placeable
from graph.space import Chooser, Decision, Option, Space

MAX_COPIES = 64
"""Expressions of an inlined stage in a kernel's text: more take long to compile."""
MAX_WORK = 4096
"""Elements of an inlined stage that a point of a kernel computes."""
MAX_TABLE = 16384
"""Bytes of a stage that blocks compute as a whole, because data decide what they read of it."""
_STAGE = "stage"

Place: TypeAlias = Where | Literal["root"]
_PLACES: tuple[Place, ...] = ("root", "inline", "block")
Wish: TypeAlias = "Callable[[StageFacts], Place]"


class Reader(Protocol):
    """Who reads a stage (generator.polyhedral.stages.Reader)."""

    @property
    def array(self) -> str:
        """What it computes."""

    @property
    def elements(self) -> int:
        """How many elements of the stage stand in the text that computes one of its own."""

    @property
    def often(self) -> int:
        """How often it reads each of them: the rounds of its reduction loops."""


class StageFacts(Protocol):
    """What a space needs to know of a stage (generator.polyhedral.stages.StageFacts)."""

    @property
    def array(self) -> str:
        """Its name."""

    @property
    def statements(self) -> tuple[str, ...]:
        """What computes it."""

    @property
    def bytes(self) -> int:
        """Its size as a whole."""

    @property
    def by_data(self) -> bool:
        """Whether data decide which element somebody reads."""

    @property
    def readers(self) -> Sequence[Reader]:
        """Who reads it: other stages, outputs."""


def make_pipeline_space(shapes: Shapes, stages: Sequence[StageFacts], target: Target, wide: bool = True,
                        reductions: Sequence[str] = (), arrays: Sequence[Placeable] = ()) -> Space:
    """The space of a pipeline with these `stages`, in the order of the source; the rest as for `make_o1_space`."""
    return _PipelineSpace(shapes, tuple(stages), kernel_space(target, wide), tuple(sorted(reductions)), tuple(arrays))


@dataclass(frozen=True, slots=True)
class _PipelineSpace:
    shapes: Shapes
    stages: tuple[StageFacts, ...]
    kernels: KernelSpace
    reductions: tuple[str, ...]
    arrays: tuple[Placeable, ...]

    def __call__(self, chooser: Chooser) -> Plan:
        chosen = Chosen()
        for stage in reversed(self.stages):
            options = chosen.options(stage)
            answer = chooser.choose(Decision(_STAGE, (stage.array,), (("offered", " ".join(options)),)), options)
            chosen.take(stage, next(place for place in options if place == answer))
        gone = {name for stage in self.stages if chosen.places[stage.array] != "root" for name in stage.statements}
        reduced = choose_reductions(chooser, [name for name in self.reductions if name not in gone])
        return with_kernels(chooser, chosen.schedule(reduced), self.shapes, self.kernels, self.arrays)


@dataclass
class Chosen:
    """Where the stages decided so far are computed, and how much of it those that are inlined cost."""

    places: dict[str, Place] = field(default_factory=dict)
    _cost: dict[str, tuple[int, int]] = field(default_factory=dict)

    def options(self, stage: StageFacts) -> tuple[Place, ...]:
        """Where `stage` may be computed, all that read it being decided."""
        copies, work = self._inlined(stage)
        inline = copies <= MAX_COPIES and work <= MAX_WORK
        block = not stage.by_data or stage.bytes <= MAX_TABLE
        return tuple(place for place in _PLACES if place == "root" or (inline if place == "inline" else block))

    def take(self, stage: StageFacts, place: Place) -> None:
        """Compute `stage` there."""
        self.places[stage.array] = place
        if place == "inline":
            self._cost[stage.array] = self._inlined(stage)

    def _inlined(self, stage: StageFacts) -> tuple[int, int]:
        """Expressions and elements of `stage` per point of what it would be inlined into, at most."""
        copies = work = 0
        for reader in stage.readers:
            outer_copies, outer_work = self._cost.get(reader.array, (1, 1))
            copies += outer_copies * reader.elements
            work += outer_work * reader.elements * reader.often
        return copies, work

    def schedule(self, reductions: tuple[str, ...] = ()) -> Stages:
        """The schedule that computes all stages there."""
        computed = ((array, place) for array, place in sorted(self.places.items()) if place != "root")
        return Stages(tuple(computed), reductions)


def openings(stages: Sequence[StageFacts]) -> tuple[Stages, ...]:
    """Where a person would compute the stages, to begin a search with.

    All inlined that can be; those that are read at several places in blocks, the others inlined; each by itself.
    """
    return _opening(stages, lambda _: "inline"), _opening(stages, _tiled), Stages()


def _opening(stages: Sequence[StageFacts], wish: Wish) -> Stages:
    chosen = Chosen()
    for stage in reversed(stages):
        wanted = wish(stage)
        chosen.take(stage, wanted if wanted in chosen.options(stage) else "root")
    return chosen.schedule()


def _tiled(stage: StageFacts) -> Place:
    several = any(reader.elements > 1 or reader.often > 1 for reader in stage.readers)
    return "block" if several and not stage.by_data else "inline"


def preferences_of_stages(stages: Sequence[StageFacts], schedule: Stages) -> dict[tuple[str, tuple[str, ...]], Option]:
    """The choices that lead to `schedule`."""
    computed: Mapping[str, str] = dict(schedule.computed)
    return {(_STAGE, (stage.array,)): computed.get(stage.array, "root") for stage in stages}
