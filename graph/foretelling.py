"""What a space may know of a plan's cost before anybody measures it.

A space that has a cost model offers this as a method; an explorer asks by `foretelling_of` and goes without where there
is none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias, runtime_checkable

from generator.plan import Plan
from graph.space import Space

Foretell: TypeAlias = Callable[[Plan], float | None]
"""The logarithm of a plan's cost in a unit of its own; None for a plan that the model cannot judge."""


@runtime_checkable
class Foretelling(Protocol):
    """A space with a cost model."""

    def foretold(self, plan: Plan) -> float | None:
        """See Foretell. The same answer for the same plan."""


def foretelling_of(space: Space) -> Foretell | None:
    """What `space` foretells; None where it does not."""
    return space.foretold if isinstance(space, Foretelling) else None
