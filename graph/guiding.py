"""What a space knows of prefixes of its walks, for a search that extends them: costs, structure, what is worth a try.

A space that knows such things says so by being Guided; a beam asks by `guide_of` and goes by what was measured where
there is no guide.
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

    `decisions`: choices so far, forced ones not counted. `note` is the guide's own: what it found out about this
    prefix, so that of a longer one it needs to find out only what a choice changes. `cost` as the guide says, or worse.
    """

    state: State
    parent: Prefix | None = None
    choice: Choice | None = None
    decisions: int = 0
    cost: float = 0.0
    note: object = field(default=None, repr=False)
    penalized: bool = False

    def extended(self, option: Option) -> Prefix:
        """The prefix with one more choice. Raises DeadEnd."""
        decision = self.state.decision
        assert decision is not None
        forced = len(self.state.options) == 1
        return Prefix(self.state.choose(option), self, Choice(decision, option), self.decisions + (not forced),
                      self.cost)

    @property
    def choices(self) -> tuple[Choice, ...]:
        """All of them, forced ones too, in order."""
        found, at = [], self
        while at.parent is not None and at.choice is not None:
            found.append(at.choice)
            at = at.parent
        return tuple(reversed(found))


class Guide(Protocol):
    """What a beam is to know of prefixes. Says the same of the same prefix, however often it is asked."""

    def offered(self, prefix: Prefix) -> tuple[Option, ...]:
        """The options of the prefix's state that are worth a try (never empty). Raises DeadEnd."""

    def costs(self, prefixes: Sequence[Prefix]) -> list[float]:
        """What the best walk through each prefix costs, as far as anybody knows: positive; infinite if impossible."""

    def structure(self, prefix: Prefix, depth: int) -> Hashable:
        """What prefixes have in common that are alike as far as `depth` (from 0 on) levels of detail show."""

    def is_heavy(self, prefix: Prefix) -> bool:
        """Whether it takes long to find out what is asked next, so that only the most promising should be asked."""

    def coarse(self) -> Guide | None:
        """A guide to a small part of the space, for a first pass; None where there is none."""

    def frozen(self, end: Prefix) -> Guide:
        """A guide that keeps to a complete walk of the coarse part in all that matters little."""


@runtime_checkable
class Guided(Protocol):
    """A space with a guide."""

    @property
    def guide(self) -> Guide | None:
        """See Guide; None: it has none after all."""


def guide_of(space: Space) -> Guide | None:
    """The guide of `space`, if it has one."""
    return space.guide if isinstance(space, Guided) else None
