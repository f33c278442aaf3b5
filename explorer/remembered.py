"""A space that remembers the walks through it: for explorers that all walk the same ways."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from generator.plan import Plan
from graph.space import Chooser, DeadEnd, Decision, Option, Space


@dataclass(slots=True)
class _Asked:
    """A decision that follows some answers, and what follows each answer to it."""

    decision: Decision
    options: tuple[Option, ...]
    after: dict[Option, _Known] = field(default_factory=dict)


_Known: TypeAlias = _Asked | Plan | DeadEnd
"""What is known to follow some answers: another decision, or the end."""


class RememberedSpace:
    """The same space, which asks the original only about ways that nobody took since `forget`.

    That is right because a space is deterministic in the answers (graph.space.Space).
    """

    def __init__(self, space: Space) -> None:
        """Remember walks through `space`."""
        self._space = space
        self._start: _Known | None = None

    def forget(self) -> None:
        """Free what was remembered."""
        self._start = None

    def __call__(self, chooser: Chooser) -> Plan:
        """See graph.space.Space."""
        known, answers = self._start, list[Option]()
        while isinstance(known, _Asked):
            answers.append(chooser.choose(known.decision, known.options))
            known = known.after.get(answers[-1])
        if isinstance(known, DeadEnd):
            raise DeadEnd(*known.args)
        return known if known is not None else self._explored(chooser, answers)

    def _explored(self, chooser: Chooser, answers: Sequence[Option]) -> Plan:
        """Ask the original; `answers` were given already."""
        way = _Way(chooser, answers)
        end: Plan | DeadEnd
        try:
            end = self._space(way)
        except DeadEnd as dead_end:
            end = DeadEnd(*dead_end.args)
            raise
        finally:
            if "end" in locals():
                self._remember(way, end)
        return end
