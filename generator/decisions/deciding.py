"""Make all decisions of a kernel in order: its plan from answers, the nearest plan on offer, its words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from generator.decisions.base import KernelDecision, Known, Option, Question
from generator.decisions.shape import Shape
from generator.plan import KERNEL_DECISIONS, KernelPlan
from generator.target import Target

Answer: TypeAlias = Callable[[Question], Option]
"""Returns one of the options of a question."""


def decide(known: Known, answer: Answer) -> KernelPlan:
    """Return the plan of the kernel `known.shape` with these answers."""
    members: dict[str, Any] = {"statements": known.shape.statements}
    for decision in KERNEL_DECISIONS:
        value = _asked(decision, known, answer)
        members |= decision.members(value)
        known.learn(decision, value)
    return KernelPlan(**members)


@dataclass(frozen=True, slots=True)
class Deciding:
    """The answered decisions of a kernel: an immutable prefix of the questions of `decide`.

    `values`: those of the first decisions. `answers`: to the questions of the next decision. `shape`: as changed by
    those values.
    """

    shape: Shape
    target: Target
    wide: bool
    statements: tuple[str, ...]
    values: tuple[Any, ...] = ()
    answers: tuple[Option, ...] = ()

    def next(self) -> tuple[Deciding, Question | KernelPlan]:
        """Return the next question with its prefix, in which all decisions with one option are made; or the plan."""
        decided = list(self.values)
        known, answers = self._known(), self.answers
        for decision in KERNEL_DECISIONS[len(decided):]:
            value = _replayed(decision, known, answers)
            if isinstance(value, Question):
                return Deciding(known.shape, self.target, self.wide, self.statements, tuple(decided), answers), value
            decided.append(value)
            known.learn(decision, value)
            answers = ()
        members: dict[str, Any] = {"statements": self.statements}
        for decision, value in zip(KERNEL_DECISIONS, decided, strict=True):
            members |= decision.members(value)
        return self, KernelPlan(**members)

    def answered(self, answer: Option) -> Deciding:
        """Return the prefix with one more answer to the question of `next`."""
        return Deciding(self.shape, self.target, self.wide, self.statements, self.values, (*self.answers, answer))

    def _known(self) -> Known:
        decided = zip(KERNEL_DECISIONS, self.values, strict=False)
        return Known(self.shape, self.target, self.wide, dict(decided))


def _replayed(decision: KernelDecision[Any], known: Known, answers: tuple[Option, ...]) -> Any:
    """Return the value of `decision` with these answers; the next question if they are not enough."""
    asking = decision.ask(known)
    try:
        question = next(asking)
        for answer in answers:
            question = asking.send(answer)
    except StopIteration as done:
        return done.value
    return question


def _asked(decision: KernelDecision[Any], known: Known, answer: Answer) -> Any:
    """Return the value of `decision`."""
    asking = decision.ask(known)
    try:
        question = next(asking)
        while True:
            question = asking.send(answer(question))
    except StopIteration as done:
        return done.value


def answers_of(wanted: KernelPlan) -> dict[str, Option]:
    """Return the answers that lead to `wanted`, by names of questions."""
    return {name: option for decision in KERNEL_DECISIONS for name, option in decision.answers(wanted).items()}


def nearest(wanted: KernelPlan, known: Known) -> KernelPlan:
    """Return the plan on offer that is closest to `wanted`, decision by decision: `wanted` itself if it is on offer.

    A number that is not on offer is replaced by the next smaller option, any other value by the first option.
    """
    answers = answers_of(wanted)
    return decide(known, lambda question: closest(answers.get(question.name), question.options))


@lru_cache(maxsize=1024)
def nearest_to(wanted: KernelPlan, shape: Shape, target: Target, wide: bool) -> tuple[KernelPlan, Shape]:
    """Return `nearest`, and the kernel as its decisions turn it; cached, because start plans ask several times."""
    known = Known(shape, target, wide)
    return nearest(wanted, known), known.shape


def closest(wanted: Option | None, options: Sequence[Option]) -> Option:
    """Return the option on offer instead of `wanted` (see `nearest`)."""
    if wanted is not None and wanted in options:
        return wanted
    smaller = [option for option in options if isinstance(option, int) and isinstance(wanted, int) and option <= wanted]
    return max(smaller, default=options[0])


def kernel_words(kernel: KernelPlan) -> tuple[str, ...]:
    """Return the decisions in words: the sizes, and all that differ from their defaults."""
    return tuple(words for decision in KERNEL_DECISIONS if (words := decision.words(kernel)))


def title_of(name: str) -> str:
    """Return the name of a question for users."""
    return next((decision.shown for decision in KERNEL_DECISIONS if decision.name == name), name)
