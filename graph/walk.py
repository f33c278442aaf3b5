"""A walk through the optimization graph: its choices and the resulting Plan."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from generator.errors import InputError
from generator.plan import Plan
from graph.space import Decision, Option


@dataclass(frozen=True, slots=True)
class Choice:
    """An answer. A forced decision (one option) is no choice."""

    decision: Decision
    option: Option


@dataclass(frozen=True, slots=True)
class Walk:
    """Choices in the order they were made, and the Plan at their end.

    `settled` are answers without a choice, because only a sample of all walks is known. Models use them, because they
    are choices in the full space. They follow from the choices, so they are not stored.
    """

    choices: tuple[Choice, ...]
    plan: Plan
    settled: tuple[Choice, ...] = field(default=(), repr=False, compare=False)
    _identity: str = field(default="", init=False, repr=False, compare=False)

    @property
    def identity(self) -> str:
        """The Plan's digest: two walks with the same Plan are duplicates, whatever they chose. Computed once."""
        if not self._identity:
            object.__setattr__(self, "_identity", self.plan.digest)
        return self._identity

    def with_equal(self, choices: tuple[Choice, ...], settled: tuple[Choice, ...]) -> Walk:
        """The same walk of other objects, which are equal to its own."""
        walk = Walk(choices, self.plan, settled)
        object.__setattr__(walk, "_identity", self._identity)
        return walk


def walk_to_json(walk: Walk) -> str:
    """The choices of `walk` as canonical JSON; its Plan follows from them by replay."""
    return json.dumps([_choice_to_data(choice) for choice in walk.choices], sort_keys=True, separators=(",", ":"))


def choices_from_json(text: str) -> tuple[Choice, ...]:
    """The choices that `walk_to_json` wrote.

    Raises:
        InputError: the text is no JSON or not a list of choices.
    """
    try:
        return tuple(_choice_from_data(entry) for entry in json.loads(text))
    except (KeyError, RecursionError, TypeError, ValueError) as error:
        raise InputError(f"the walk is not a JSON list of choices: {error!r}; write it with walk_to_json") from None


def walks_from_json(texts: Iterable[str]) -> list[tuple[Choice, ...]]:
    """The choices of many walks, as `choices_from_json` gives them; equal choices are one object.

    This is much faster: each distinct choice is parsed only once.

    Raises:
        InputError: as there.
    """
    known: dict[str, Choice] = {}
    return [_shared(text, known) for text in texts]


def _shared(text: str, known: dict[str, Choice]) -> tuple[Choice, ...]:
    """The choices of one walk by the texts of `known` ones, which become more."""
    if not text.startswith("[{") or not text.endswith("}]"):
        return choices_from_json(text)
    found = []
    for part in text[2:-2].split("},{"):  # inside a string of JSON a part would have an unpaired quote, and be refused
        choice = known.get(part)
        if choice is None:
            try:
                choice = known[part] = _choice_from_data(json.loads("{" + part + "}"))
            except (KeyError, RecursionError, TypeError, ValueError):
                return choices_from_json(text)
        found.append(choice)
    return tuple(found)


def _choice_to_data(choice: Choice) -> dict[str, Any]:
    decision = choice.decision
    depends = [[name, option] for name, option in decision.depends]
    return {"name": decision.name, "subject": decision.subject, "depends": depends, "option": choice.option}


def _choice_from_data(data: dict[str, Any]) -> Choice:
    depends = tuple((_text(name), _option(option)) for name, option in data["depends"])
    subject = tuple(_text(name) for name in data["subject"])
    return Choice(Decision(_text(data["name"]), subject, depends), _option(data["option"]))


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    raise TypeError(f"{value!r} is no text")


def _option(value: object) -> Option:
    if isinstance(value, str | int | float):  # bool is an int
        return value
    if isinstance(value, list) and all(isinstance(part, int) for part in value):
        return tuple(value)
    raise TypeError(f"{value!r} is no option")
