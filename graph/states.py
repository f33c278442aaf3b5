"""Walks state by state: a prefix of a walk as an immutable value, which is extended without walking again.

    state.decision, state.options      what is asked now (None, (): the walk is complete)
    state.choose(option)               the prefix that is longer by that answer; `state` stays as it is
    state.plan                         the Plan of a complete walk

A space that has states (`Stepwise`) is walked through them: `walked` answers the questions of a chooser, and is all
that define-by-run takes there. States share what they know with those before them (`known`). Any other space has states
that walk again from the start (`replayed`).

What a state asks is found out when somebody first wants to know it, so that states that nobody goes on from cost
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeVar, runtime_checkable

from generator.plan import Plan
from graph.space import Chooser, Decision, Option, Space

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """A question, and the state after an answer. `about`: what the space says of the question besides."""

    decision: Decision
    options: tuple[Option, ...]
    then: Callable[[Option], State]
    about: object = None


Found: TypeAlias = Asked | Plan
Find: TypeAlias = Callable[[], Found]
"""What a state asks, or the Plan at the end. Raises DeadEnd."""


class State:
    """A prefix of a walk. `known` is what the space says of it besides, for whoever judges prefixes of this space."""

    __slots__ = ("_find", "_found", "known")

    def __init__(self, find: Find, known: object = None) -> None:
        """`find` is called once, when somebody asks."""
        self._find: Find | None = find
        self._found: Found | None = None
        self.known = known

    @property
    def found(self) -> Found:
        """The question or the Plan. Raises DeadEnd."""
        if self._found is None:
            assert self._find is not None
            self._found = self._find()
            self._find = None  # what it holds is not needed any more
        return self._found

    @property
    def decision(self) -> Decision | None:
        """What is asked; None at the end. Raises DeadEnd."""
        return self.found.decision if isinstance(self.found, Asked) else None

    @property
    def options(self) -> tuple[Option, ...]:
        """The answers on offer; one where there is no choice, none at the end. Raises DeadEnd."""
        return self.found.options if isinstance(self.found, Asked) else ()

    def choose(self, option: Option) -> State:
        """The prefix with this answer. Raises ValueError where that is not on offer, DeadEnd as above."""
        if not isinstance(self.found, Asked) or option not in self.found.options:
            raise ValueError(f"{option!r} is not on offer; on offer: {', '.join(map(repr, self.options)) or 'nothing'}")
        return self.found.then(option)

    @property
    def about(self) -> object:
        """What the space says of the question; None at the end. Raises DeadEnd."""
        return self.found.about if isinstance(self.found, Asked) else None

    @property
    def plan(self) -> Plan:
        """The Plan. Raises ValueError where questions are left, DeadEnd as above."""
        match self.found:
            case Asked():
                raise ValueError(f"the walk is not complete: {self.found.decision.name!r} is not answered")
            case plan:
                return plan


@runtime_checkable
class Stepwise(Protocol):
    """A space with states of its own."""

    def start(self) -> State:
        """The empty prefix."""


def walked(state: State, chooser: Chooser) -> Plan:
    """The Plan that the answers of `chooser` lead to from `state`. Raises DeadEnd."""
    while (decision := state.decision) is not None:
        state = state.choose(chooser.choose(decision, state.options))
    return state.plan


def start_of(space: Space) -> State:
    """The empty prefix of any space."""
    return space.start() if isinstance(space, Stepwise) else replayed(space, lambda plan: State(lambda: plan))


def replayed(ask: Callable[[Chooser], T], then: Callable[[T], State], known: object = None,
             answers: tuple[Option, ...] = ()) -> State:
    """The states of `ask`, each of which asks from the start again; at its end comes `then`."""

    def find() -> Found:
        script = _Script(answers)
        try:
            value = ask(script)
        except _Unanswered:
            assert script.decision is not None
            return Asked(script.decision, script.options,
                         lambda option: replayed(ask, then, known, (*answers, option)))
        return then(value).found

    return State(find, known)


class _Unanswered(Exception):
    """All answers were given."""


class _Script:
    """A chooser that gives `answers` one after the other, then stops with the next question."""

    def __init__(self, answers: Sequence[Option]) -> None:
        self._answers, self._given = answers, 0
        self.decision: Decision | None = None
        self.options: tuple[Option, ...] = ()

    def choose(self, decision: Decision, options: Sequence[Option]) -> Option:
        """See graph.space.Chooser."""
        if self._given == len(self._answers):
            self.decision, self.options = decision, tuple(options)
            raise _Unanswered
        self._given += 1
        return self._answers[self._given - 1]
