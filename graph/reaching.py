"""The walk that reaches a given plan exactly.

`Reachable.answers` is the inverse of a space: it returns the answer of each decision that leads to a plan. The answers
are checked twice: the space must offer each of them, and the resulting plan must equal the given one in every field.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Protocol, TypeAlias

from generator.errors import InputError
from generator.plan import KERNEL_DECISIONS, Plan
from graph.space import Chooser, DeadEnd, Decision, Option
from graph.walk import Choice, Walk

Asked: TypeAlias = tuple[str, tuple[str, ...], int]
"""Identifies a decision within a walk: name, subject, and the number of loops around it (`depth_of`)."""

Answers: TypeAlias = Mapping[Asked, Option]


class NotOnOffer(InputError):
    """The plan is not in the space; the message names the decision and the missing option."""


class Reachable(Protocol):
    """A space that can compute the walk of a given plan."""

    def __call__(self, chooser: Chooser) -> Plan:
        """See graph.space.Space."""

    def answers(self, plan: Plan) -> Answers:
        """Return the answers that lead to `plan`. Raises NotOnOffer if its schedule is not in this space."""


def depth_of(decision: Decision) -> int:
    """Return the number of loops around a decision about the schedule, taken from its `depends`; 0 for all others."""
    names = [name for name, _ in decision.depends]
    if "parallel loops" in names:  # level o3 names these loops first, after the reductions
        return names.index("parallel loops") - names.count("reduced")
    return next((option for name, option in decision.depends if name == "depth" and isinstance(option, int)), 0)


def walk_to(space: Reachable, plan: Plan) -> Walk:
    """Return the walk through `space` that leads to exactly `plan`.

    Raises:
        NotOnOffer: there is no such walk.
    """
    steered = _Steered(space.answers(plan))
    try:
        made = space(steered)
    except DeadEnd as error:
        last = steered.choices[-1].decision if steered.choices else Decision("the schedule")
        raise NotOnOffer(f"the plan is not in the space: {_named(last)} leads nowhere: {error}") from error
    if made != plan:
        raise NotOnOffer(f"the plan is not in the space: {_difference(made, plan)}")
    return Walk(tuple(steered.choices), made)


@dataclass(slots=True)
class _Steered:
    """A chooser with given answers; records the choices."""

    answers: Answers
    choices: list[Choice] = field(default_factory=list)

    def choose(self, decision: Decision, options: Sequence[Option]) -> Option:
        """See graph.space.Chooser. Raises NotOnOffer."""
        wanted = self.answers.get((decision.name, decision.subject, depth_of(decision)))
        if wanted is None and len(options) == 1:
            return options[0]
        if wanted is None or wanted not in options:
            said = f"is {wanted!r}" if wanted is not None else "is not settled by the plan"
            raise NotOnOffer(
                f"the plan is not in the space: {_named(decision)} {said}; on offer: {', '.join(map(repr, options))}"
            )
        option = options[list(options).index(wanted)]
        if len(options) > 1:
            self.choices.append(Choice(decision, option))
        return option


def _named(decision: Decision) -> str:
    return f"{decision.name} of {' '.join(decision.subject)}" if decision.subject else decision.name


def _difference(made: object, wanted: object, where: str = "plan") -> str:
    """Return a text about the first field in which two values differ."""
    if type(made) is type(wanted) and is_dataclass(made):
        for one in fields(made):
            mine, other = getattr(made, one.name), getattr(wanted, one.name)
            if mine != other:
                return _difference(mine, other, f"{where}.{one.name}")
    if isinstance(made, tuple) and isinstance(wanted, tuple) and len(made) == len(wanted):
        place = next(k for k, (mine, other) in enumerate(zip(made, wanted, strict=True)) if mine != other)
        if is_dataclass(made[place]):
            return _difference(made[place], wanted[place], f"{where}[{place}]")
    return f"{where} is {wanted!r}; on offer is {made!r}"


def kernel_answers(plan: Plan) -> Answers:
    """Return the answers of the decisions about the kernels of `plan`."""
    return {(name, kernel.statements, 0): option for kernel in plan.kernels for decision in KERNEL_DECISIONS
            for name, option in decision.answers(kernel).items()}
