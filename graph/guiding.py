"""Guides of beam search: costs, structure hashes and promising options of the prefixes of walks.

A space that can judge prefixes implements the protocol Guided. The beam explorer gets its guide with `guide_of`; if
there is none, it uses the measurements made so far.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from graph.space import Option, Space
from graph.states import State
from graph.walk import Choice


@dataclass(slots=True, eq=False)
class Prefix:
    """A state, and the choice that led to it from `parent` (None: the start).

    `decisions` counts the choices so far, without forced ones. `cost` is the guide's cost, possibly multiplied by a
    penalty (then `penalized` is true). `note` is private to the guide: it caches results about this prefix, so that
    a longer prefix only needs what its last choice changes.
    """

    state: State
    parent: Prefix | None = None
    choice: Choice | None = None
    decisions: int = 0
    cost: float = 0.0
    note: object = field(default=None, repr=False)
    penalized: bool = False

    def extended(self, option: Option) -> Prefix:
        """Return the prefix with one more choice. Raises DeadEnd."""
        decision = self.state.decision
        assert decision is not None
        forced = len(self.state.options) == 1
        return Prefix(self.state.choose(option), self, Choice(decision, option), self.decisions + (not forced),
                      self.cost)

    @property
    def choices(self) -> tuple[Choice, ...]:
        """All choices from the start on, in order, with the forced ones."""
        found, at = [], self
        while at.parent is not None and at.choice is not None:
            found.append(at.choice)
            at = at.parent
        return tuple(reversed(found))


class Guide(Protocol):
    """Judges prefixes for beam search. Deterministic: the same prefix always gets the same answers."""

    def offered(self, prefix: Prefix) -> tuple[Option, ...]:
        """Return the promising options of the prefix's state, at least one. Raises DeadEnd."""

    def costs(self, prefixes: Sequence[Prefix]) -> list[float]:
        """Return, for each prefix, the estimated cost of the best walk through it: positive, infinite if impossible."""

    def structure(self, prefix: Prefix, depth: int) -> Hashable:
        """Return a hash key that is equal for prefixes of the same structure.

        `depth`, from 0 on, is the level of detail: the higher it is, the more prefixes differ.
        """

    def is_heavy(self, prefix: Prefix) -> bool:
        """Return whether computing the next decision takes long, so that only the best prefixes should be extended."""

    def coarse(self) -> Guide | None:
        """Return a guide to a small part of the space, for a first pass, or None."""

    def frozen(self, end: Prefix, turn: int = 0) -> Guide:
        """Return a guide that fixes all but few decisions to those of `end`, a complete walk: the most important ones
        are open in turn 0, and others in each further turn, until they begin again.
        """


@runtime_checkable
class Guided(Protocol):
    """A space that may have a guide."""

    @property
    def guide(self) -> Guide | None:
        """The guide, or None if the space has none."""


def guide_of(space: Space) -> Guide | None:
    """Return the guide of `space`, or None."""
    return space.guide if isinstance(space, Guided) else None
