"""One copy of what the nodes of a graph have in common: names, subjects, earlier choices, option lists.

A space builds its decisions anew on every walk; kept as they come, a million nodes would hold a million copies of the
same few tuples.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TypeVar

from graph.space import Decision, Option

_T = TypeVar("_T", bound=Hashable)


@dataclass(slots=True)
class Interning:
    """Remembers values, and hands out the first of those that are equal in value and in type (1 is not True)."""

    _known: dict[Hashable, dict[Hashable, Hashable]] = field(default_factory=dict)

    def decision(self, decision: Decision) -> Decision:
        """An equal decision whose parts are shared."""
        depends = tuple(self._shared((self._shared(name), option)) for name, option in decision.depends)
        return Decision(self._shared(decision.name), self._shared(decision.subject), depends)

    def options(self, options: tuple[Option, ...]) -> tuple[Option, ...]:
        """An equal list of options that is shared."""
        return self._shared(options)

    def _shared(self, value: _T) -> _T:
        known = self._known.setdefault(_kind(value), {}).setdefault(value, value)
        assert isinstance(known, type(value))
        return known


def _kind(value: Hashable) -> Hashable:
    """What tells apart values that compare as equal: the type; of a tuple also its items', once if all are the same."""
    if not isinstance(value, tuple):
        return type(value)
    kinds = tuple(map(_kind, value))
    return (tuple, kinds[0]) if len(set(kinds)) == 1 else kinds
