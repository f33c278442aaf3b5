"""Shares equal names, subjects, options and choices between the nodes of a graph and the walks through it.

A space builds new decision objects on every walk. Without sharing, a million nodes would hold a million copies of
the same few tuples.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TypeVar

from graph.space import Decision, Option
from graph.walk import Choice, Walk

_T = TypeVar("_T", bound=Hashable)


@dataclass(slots=True)
class Interning:
    """Returns, for each value, the first one met that is equal in value and in type (1 is not True)."""

    _known: dict[Hashable, dict[Hashable, Hashable]] = field(default_factory=dict)

    def decision(self, decision: Decision) -> Decision:
        """Return an equal decision with shared parts."""
        depends = tuple(self.shared((self.shared(name), option)) for name, option in decision.depends)
        return Decision(self.shared(decision.name), self.shared(decision.subject), depends)

    def options(self, options: tuple[Option, ...]) -> tuple[Option, ...]:
        """Return an equal, shared tuple of options."""
        return self.shared(options)

    def walk(self, walk: Walk) -> Walk:
        """Return an equal walk with shared choices: walks have dozens, of which few are different."""
        return walk.with_equal(self._choices(walk.choices), self._choices(walk.settled))

    def _choices(self, choices: tuple[Choice, ...]) -> tuple[Choice, ...]:
        return tuple(self.shared(choice) for choice in choices)

    def shared(self, value: _T) -> _T:
        """Return the first value met that is equal to `value` and of the same type."""
        known = self._known.setdefault(_kind(value), {}).setdefault(value, value)
        assert isinstance(known, type(value))
        return known


def _kind(value: Hashable) -> Hashable:
    """Return a key of the value's type; for tuples with the types of the items (one type if all are the same).

    It distinguishes values of different types that compare as equal.
    """
    if not isinstance(value, tuple):
        return ("choice", _kind(value.option)) if isinstance(value, Choice) else type(value)
    kinds = tuple(map(_kind, value))
    return (tuple, kinds[0]) if len(set(kinds)) == 1 else kinds
