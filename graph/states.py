"""Walks state by state: a prefix of a walk is an immutable value that can be extended without walking again.

    state.decision, state.options      the next decision and its options (None, (): the walk is complete)
    state.choose(option)               a new state, longer by this choice; `state` does not change
    state.plan                         the Plan of a complete walk

A space with states of its own implements `Stepwise`; `walked` walks through them with a chooser. States share their
data with earlier states (`known`). For any other space, `replayed` makes states that walk again from the start.

The next decision is computed on first use, so states that are never extended cost nothing.
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
    """A decision, and the function that returns the state after an answer. `about`: extra data of the space."""

    decision: Decision
    options: tuple[Option, ...]
    then: Callable[[Option], State]
    about: object = None


Found: TypeAlias = Asked | Plan
Find: TypeAlias = Callable[[], Found]
"""Returns the next decision of a state, or the Plan at the end. Raises DeadEnd."""


class State:
    """A prefix of a walk. `known`: data of the space about the prefix, for the guides of this space."""

    __slots__ = ("_find", "_found", "known")

    def __init__(self, find: Find, known: object = None) -> None:
        """Create the state; `find` is called once, on first use."""
        self._find: Find | None = find
        self._found: Found | None = None
        self.known = known

    @property
    def found(self) -> Found:
        """The next decision, or the Plan. Raises DeadEnd."""
        if self._found is None:
            assert self._find is not None
            self._found = self._find()
            self._find = None  # frees the memory that it refers to
        return self._found

    @property
    def decision(self) -> Decision | None:
        """The next decision; None at the end. Raises DeadEnd."""
        return self.found.decision if isinstance(self.found, Asked) else None

    @property
    def options(self) -> tuple[Option, ...]:
        """The options of the decision: one if it is forced, none at the end. Raises DeadEnd."""
        return self.found.options if isinstance(self.found, Asked) else ()

    def choose(self, option: Option) -> State:
        """Return the prefix with this answer. Raises ValueError if it is not offered, and DeadEnd."""
        if not isinstance(self.found, Asked) or option not in self.found.options:
            raise ValueError(f"{option!r} is not on offer; on offer: {', '.join(map(repr, self.options)) or 'nothing'}")
        return self.found.then(option)

    @property
    def about(self) -> object:
        """Extra data of the space about the decision; None at the end. Raises DeadEnd."""
        return self.found.about if isinstance(self.found, Asked) else None

    @property
    def plan(self) -> Plan:
        """The Plan. Raises ValueError if decisions are left, and DeadEnd."""
        match self.found:
            case Asked():
                raise ValueError(f"the walk is not complete: {self.found.decision.name!r} is not answered")
            case plan:
                return plan


@runtime_checkable
class Stepwise(Protocol):
    """A space with states of its own."""

    def start(self) -> State:
        """Return the empty prefix."""


def walked(state: State, chooser: Chooser) -> Plan:
    """Return the Plan that the answers of `chooser` lead to from `state`. Raises DeadEnd."""
    while (decision := state.decision) is not None:
        state = state.choose(chooser.choose(decision, state.options))
    return state.plan


def start_of(space: Space) -> State:
    """Return the empty prefix of any space."""
    return space.start() if isinstance(space, Stepwise) else replayed(space, lambda plan: State(lambda: plan))


def replayed(ask: Callable[[Chooser], T], then: Callable[[T], State], known: object = None,
             answers: tuple[Option, ...] = ()) -> State:
    """Return the state of `ask` after `answers`. Every state runs `ask` again; `then` makes the state after its end."""

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
    """All given answers are used."""


class _Script:
    """A chooser that returns `answers` one after the other, then raises _Unanswered at the next decision."""

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
