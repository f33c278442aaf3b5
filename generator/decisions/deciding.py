"""Going through all decisions of a kernel in order: its plan from answers, the nearest plan on offer, its words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from generator.decisions.base import KernelDecision, Known, Option, Question
from generator.decisions.shape import Shape
from generator.plan import KERNEL_DECISIONS, KernelPlan
from generator.target import Target

Answer: TypeAlias = Callable[[Question], Option]
"""One of the options of a question."""


def decide(known: Known, answer: Answer) -> KernelPlan:
    """The plan of the kernel `known.shape`."""
    members: dict[str, Any] = {"statements": known.shape.statements}
    for decision in KERNEL_DECISIONS:
        value = _asked(decision, known, answer)
        members |= decision.members(value)
        known.learn(decision, value)
    return KernelPlan(**members)


@dataclass(frozen=True, slots=True)
class Deciding:
    """The decisions of a kernel answered so far: an immutable prefix of what `decide` asks.

    `values` of the first decisions, `answers` to the questions of the one after them; `shape` as those values turned
    it.
    """

    shape: Shape
    target: Target
    wide: bool
    statements: tuple[str, ...]
    values: tuple[Any, ...] = ()
    answers: tuple[Option, ...] = ()

    def next(self) -> tuple[Deciding, Question | KernelPlan]:
        """The next question, with the prefix that it belongs to (all that needs no answer is decided); or the plan."""
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
        """The prefix with one more answer to what `next` asks."""
        return Deciding(self.shape, self.target, self.wide, self.statements, self.values, (*self.answers, answer))

    def _known(self) -> Known:
        decided = zip(KERNEL_DECISIONS, self.values, strict=False)
        return Known(self.shape, self.target, self.wide, dict(decided))


def _replayed(decision: KernelDecision[Any], known: Known, answers: tuple[Option, ...]) -> Any:
    """What `decision` comes to with these answers; the question where they are not enough."""
    asking = decision.ask(known)
    try:
        question = next(asking)
        for answer in answers:
            question = asking.send(answer)
    except StopIteration as done:
        return done.value
    return question


def _asked(decision: KernelDecision[Any], known: Known, answer: Answer) -> Any:
    """What `decision` comes to."""
    asking = decision.ask(known)
    try:
        question = next(asking)
        while True:
            question = asking.send(answer(question))
    except StopIteration as done:
        return done.value


def nearest(wanted: KernelPlan, known: Known) -> KernelPlan:
    """The plan on offer that is closest to `wanted`, decision by decision: `wanted` itself where that is on offer.

    A number that is not on offer gives way to the next smaller one that is, anything else to the first option.
    """
    answers = {name: option for decision in KERNEL_DECISIONS for name, option in decision.answers(wanted).items()}
    return decide(known, lambda question: _closest(answers.get(question.name), question.options))


def _closest(wanted: Option | None, options: tuple[Option, ...]) -> Option:
    if wanted is not None and wanted in options:
        return wanted
    smaller = [option for option in options if isinstance(option, int) and isinstance(wanted, int) and option <= wanted]
    return max(smaller, default=options[0])


def kernel_words(kernel: KernelPlan) -> tuple[str, ...]:
    """What was decided, in words: its sizes, and all that is not the default."""
    return tuple(words for decision in KERNEL_DECISIONS if (words := decision.words(kernel)))


def title_of(name: str) -> str:
    """What people read instead of the name of a question."""
    return next((decision.shown for decision in KERNEL_DECISIONS if decision.name == name), name)
