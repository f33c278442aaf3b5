"""What a space may know of a plan's cost before anybody measures it.

A space that has cost models says so by being Foretelling; explorers ask by `foretelling_of` and `foresight_of`, and go
without where there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

from generator.plan import Plan
from graph.space import Space

Foretell: TypeAlias = Callable[[Plan], float | None]
"""The logarithm of a plan's cost in a unit of its own; None for a plan that the model cannot judge."""


@dataclass(frozen=True, slots=True)
class Foreseen:
    """Logarithms of costs in a unit of the model's own: of the whole `program` (None: it cannot be judged), and of
    those `kernels` that can, by their statements.
    """

    program: float | None
    kernels: Mapping[tuple[str, ...], float]


Foresee: TypeAlias = Callable[[Plan], Foreseen]
"""What a model says of a plan and its kernels."""


@runtime_checkable
class Foretelling(Protocol):
    """A space with cost models: `foretell` for the screening of walks, `foresee` for the ants; None: there is none.

    Both say the same of the same plan, however often they are asked.
    """

    @property
    def foretell(self) -> Foretell | None:
        """See Foretell."""

    @property
    def foresee(self) -> Foresee | None:
        """See Foresee."""


def foretelling_of(space: Space) -> Foretell | None:
    """What `space` foretells for screening; None where it does not."""
    return space.foretell if isinstance(space, Foretelling) else None


def foresight_of(space: Space) -> Foresee | None:
    """What ants may foresee in `space`; None where they may not."""
    return space.foresee if isinstance(space, Foretelling) else None
