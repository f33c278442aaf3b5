"""What an explorer may know of the stages of a program, as plain facts: who reads whom, and what decisions mean there.

A space offers them as its attribute `stage_graph`, if its program consists of stages. An explorer asks by
`stage_graph_of` and goes without where there is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from graph.space import Option, Space

Role: TypeAlias = Literal["own loops", "in a reader", "no loops"]
"""What becomes of a stage: it has loops of its own, loops inside those of what reads it, or each reader computes the
elements that it needs.
"""


@dataclass(frozen=True, slots=True)
class StageNode:
    """A stage: the statements that compute it, and the stages that these read.

    `dims`: its dimensions that are long enough to be cut into tiles. `point`: for each element of its own every reader
    reads one of the stage.
    """

    name: str
    statements: tuple[str, ...]
    reads: tuple[str, ...]
    dims: int
    point: bool


@dataclass(frozen=True, slots=True)
class StageGraph:
    """The stages of a program, each after those that it reads, and what the decisions about them are.

    `decision` settles what becomes of a stage; its subject is the stage's name, and `places` says what its options
    mean. A stage without this decision has loops of its own. The decisions `tile` and `block`, x first, say how many
    points of a stage with own loops are computed together, and by how many threads.
    """

    stages: tuple[StageNode, ...]
    decision: str
    places: tuple[tuple[Option, Role], ...]
    tile: tuple[str, ...]
    block: tuple[str, ...]

    def options(self, role: Role) -> tuple[Option, ...]:
        """The options of `decision` that mean this."""
        return tuple(option for option, meaning in self.places if meaning == role)

    def role(self, option: Option) -> Role:
        """What an option of `decision` means."""
        return dict(self.places)[option]


@runtime_checkable
class Staged(Protocol):
    """A space of a program that consists of stages."""

    @property
    def stage_graph(self) -> StageGraph:
        """The stages and their decisions."""


def stage_graph_of(space: Space) -> StageGraph | None:
    """The stages that `space` decides about; None where it says nothing of stages."""
    return space.stage_graph if isinstance(space, Staged) else None
