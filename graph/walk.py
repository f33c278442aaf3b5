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
    """A decision and the chosen option. A forced decision (one option) is not a choice."""

    decision: Decision
    option: Option


@dataclass(frozen=True, slots=True)
class Walk:
    """Choices in the order they were made, and the Plan at their end.

    `settled`: answers that are forced only because a sample of all walks is known (graph.recorded). Models use them,
    because they are choices in the full space. They follow from the choices, so they are not written to JSON.
    """

    choices: tuple[Choice, ...]
    plan: Plan
    settled: tuple[Choice, ...] = field(default=(), repr=False, compare=False)
    _identity: str = field(default="", init=False, repr=False, compare=False)

    @property
    def identity(self) -> str:
        """The Plan's digest: walks with the same Plan are duplicates, whatever their choices. Computed once."""
        if not self._identity:
            object.__setattr__(self, "_identity", self.plan.digest)
        return self._identity

    def with_equal(self, choices: tuple[Choice, ...], settled: tuple[Choice, ...]) -> Walk:
        """Return an equal walk with these objects, which must equal its own choices and settled answers."""
        walk = Walk(choices, self.plan, settled)
        object.__setattr__(walk, "_identity", self._identity)
        return walk


def walk_to_json(walk: Walk) -> str:
    """Return the choices of `walk` as canonical JSON; its Plan can be computed from them by replay."""
    return json.dumps([_choice_to_data(choice) for choice in walk.choices], sort_keys=True, separators=(",", ":"))


def choices_from_json(text: str) -> tuple[Choice, ...]:
    """Return the choices that `walk_to_json` wrote.

    Raises:
        InputError: the text is not JSON, or not a list of choices.
    """
    try:
        return tuple(_choice_from_data(entry) for entry in json.loads(text))
    except (KeyError, RecursionError, TypeError, ValueError) as error:
        raise InputError(f"the walk is not a JSON list of choices: {error!r}; write it with walk_to_json") from None


def walks_from_json(texts: Iterable[str]) -> list[tuple[Choice, ...]]:
    """Return the choices of many walks, as `choices_from_json` does; equal choices are one object.

    Much faster than one call per walk: each distinct choice is parsed only once.

    Raises:
        InputError: as `choices_from_json`.
    """
    known: dict[str, Choice] = {}
    return [_shared(text, known) for text in texts]


def _shared(text: str, known: dict[str, Choice]) -> tuple[Choice, ...]:
    """Return the choices of one walk; `known` caches choices by their text and is extended."""
    if not text.startswith("[{") or not text.endswith("}]"):
        return choices_from_json(text)
    found = []
    for part in text[2:-2].split("},{"):  # a split inside a JSON string leaves an unpaired quote: parsing fails
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
    raise TypeError(f"{value!r} is not text")


def _option(value: object) -> Option:
    if isinstance(value, str | int | float):  # bool is an int
        return value
    if isinstance(value, list) and all(isinstance(part, int) for part in value):
        return tuple(value)
    raise TypeError(f"{value!r} is not an option")
