"""Predicted costs of plans that were not measured.

A space with cost models implements the protocol Foretelling. Explorers get the models with `foretelling_of` and
`foresight_of`, and search without predictions if these return None; `foretold_alone` tells whether they are also to do
without forecasts of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

from generator.plan import Plan
from graph.space import Space


@dataclass(frozen=True, slots=True)
class Foreseen:
    """Logarithms of predicted costs, in a unit of the model's own.

    `program`: cost of the whole program (None: the model cannot predict it). `kernels`: costs by the kernel's
    statements; kernels whose cost the model cannot predict are absent.
    """

    program: float | None
    kernels: Mapping[tuple[str, ...], float]


Foresee: TypeAlias = Callable[[Plan], Foreseen]
"""Returns the predicted costs of a plan and its kernels."""


@runtime_checkable
class Foretelling(Protocol):
    """A space with cost models: `foretell` for the screening of walks, `foresee` for the ants (None: no model).

    Both are deterministic: the same plan always gets the same prediction. `alone`: screening uses nothing but
    `foretell`, also no forecasts from measurements.
    """

    @property
    def foretell(self) -> Foresee | None:
        """See Foresee."""

    @property
    def alone(self) -> bool:
        """Whether only the model selects walks."""

    @property
    def foresee(self) -> Foresee | None:
        """See Foresee."""


def foretelling_of(space: Space) -> Foresee | None:
    """Return the cost model that `space` offers for screening, or None."""
    return space.foretell if isinstance(space, Foretelling) else None


def foretold_alone(space: Space) -> bool:
    """Return whether the cost model that `space` offers for screening is to be used alone."""
    return isinstance(space, Foretelling) and space.foretell is not None and space.alone


def foresight_of(space: Space) -> Foresee | None:
    """Return the cost model that `space` offers to ants, or None."""
    return space.foresee if isinstance(space, Foretelling) else None
