"""One copy of what the nodes of a graph and the walks through it have in common: names, subjects, options, choices.

A space builds its decisions anew on every walk; kept as they come, a million nodes would hold a million copies of the
same few tuples.
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
    """Remembers values, and hands out the first of those that are equal in value and in type (1 is not True)."""

    _known: dict[Hashable, dict[Hashable, Hashable]] = field(default_factory=dict)

    def decision(self, decision: Decision) -> Decision:
        """An equal decision whose parts are shared."""
        depends = tuple(self.shared((self.shared(name), option)) for name, option in decision.depends)
        return Decision(self.shared(decision.name), self.shared(decision.subject), depends)

    def options(self, options: tuple[Option, ...]) -> tuple[Option, ...]:
        """An equal list of options that is shared."""
        return self.shared(options)

    def walk(self, walk: Walk) -> Walk:
        """An equal walk whose choices are shared: there are few of them, and most walks have dozens."""
        return walk.with_equal(self._choices(walk.choices), self._choices(walk.settled))

    def _choices(self, choices: tuple[Choice, ...]) -> tuple[Choice, ...]:
        return tuple(self.shared(choice) for choice in choices)

    def shared(self, value: _T) -> _T:
        """An equal value of the same type, the first that was asked for."""
        known = self._known.setdefault(_kind(value), {}).setdefault(value, value)
        assert isinstance(known, type(value))
        return known


def _kind(value: Hashable) -> Hashable:
    """What tells apart values that compare as equal: the type; of a tuple also its items', once if all are the same."""
    if not isinstance(value, tuple):
        return ("choice", _kind(value.option)) if isinstance(value, Choice) else type(value)
    kinds = tuple(map(_kind, value))
    return (tuple, kinds[0]) if len(set(kinds)) == 1 else kinds
