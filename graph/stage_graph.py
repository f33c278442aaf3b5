"""The stages of a program, for explorers: which stage reads which, and the meaning of the decisions about them.

A space whose program consists of stages has the attribute `stage_graph`. Explorers get it with `stage_graph_of`, and
work without it if there is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from graph.space import Option, Space

Role: TypeAlias = Literal["own loops", "in a reader", "no loops"]
"""The place of a stage: in loops of its own, in loops inside those of its readers, or without loops, when each
reader computes the elements that it needs.
"""


@dataclass(frozen=True, slots=True)
class StageNode:
    """A stage: the statements that compute it, and the computed arrays that these read.

    `dims`: the number of its dimensions that are long enough for tiles. `point`: every reader reads exactly one element
    of the stage per element that it computes.
    """

    name: str
    statements: tuple[str, ...]
    reads: tuple[str, ...]
    dims: int
    point: bool


@dataclass(frozen=True, slots=True)
class StageGraph:
    """The stages of a program, each after those that it reads, and the decisions about them.

    `decision` is the name of the decision where a stage is computed; its subject is the stage's name, and `places` maps
    its options to roles. A stage without this decision has loops of its own. `tile` and `block` are the names of the
    decisions about tile and block sizes, in points and threads, x first; a stage with loops of its own has them.
    """

    stages: tuple[StageNode, ...]
    decision: str
    places: tuple[tuple[Option, Role], ...]
    tile: tuple[str, ...]
    block: tuple[str, ...]

    def options(self, role: Role) -> tuple[Option, ...]:
        """Return the options of `decision` with this role."""
        return tuple(option for option, meaning in self.places if meaning == role)

    def role(self, option: Option) -> Role:
        """Return the role of an option of `decision`. Raises KeyError for other options."""
        return dict(self.places)[option]


@runtime_checkable
class Staged(Protocol):
    """A space of a program that consists of stages."""

    @property
    def stage_graph(self) -> StageGraph:
        """The stages and their decisions."""


def stage_graph_of(space: Space) -> StageGraph | None:
    """Return the stages of `space`, or None if it has no stage graph."""
    return space.stage_graph if isinstance(space, Staged) else None
