"""The walk that reaches a given plan exactly.

A space that knows the way says for a plan how each of its decisions is to be answered (`Reachable.answers`, the inverse
of the space). The answers are checked twice: each has to be on offer, and what they make has to be the plan, to the
last field.
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
"""What tells the questions of a walk apart: name, subject, and how many loops the subject shares already (`depth_of`).
"""

Answers: TypeAlias = Mapping[Asked, Option]


class NotOnOffer(InputError):
    """A plan that a space does not have; names the decision and the option that is missing."""


class Reachable(Protocol):
    """A space whose plans lead back to their walks."""

    def __call__(self, chooser: Chooser) -> Plan:
        """See graph.space.Space."""

    def answers(self, plan: Plan) -> Answers:
        """The answers that lead to `plan`. Raises NotOnOffer where its schedule is none of this space."""


def depth_of(decision: Decision) -> int:
    """The loops around a decision about the schedule, as far as its options depend on them; 0 for all others."""
    names = [name for name, _ in decision.depends]
    if "parallel loops" in names:  # level o3 names these loops first, after the reductions
        return names.index("parallel loops") - names.count("reduced")
    return next((option for name, option in decision.depends if name == "depth" and isinstance(option, int)), 0)


def walk_to(space: Reachable, plan: Plan) -> Walk:
    """The walk through `space` that makes exactly `plan`.

    Raises:
        NotOnOffer: there is none.
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
    """A chooser that knows all answers."""

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
    """The first member in which two values differ."""
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
    """How the decisions about the kernels of `plan` are answered."""
    return {(name, kernel.statements, 0): option for kernel in plan.kernels for decision in KERNEL_DECISIONS
            for name, option in decision.answers(kernel).items()}
