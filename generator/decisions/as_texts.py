"""Decisions whose values are no plain options, such as sets of arrays: questions present them as texts."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

from generator.decisions.base import Decided, KernelDecision, Known, Option, Question

T = TypeVar("T")


class TextsDecision(KernelDecision[T]):
    """The options are the texts that `says` gives."""

    def ask(self, known: Known) -> Generator[Question, Option, T]:
        """See KernelDecision."""
        offer = self.offer(known)
        if len(offer.options) == 1:
            return offer.options[0]
        by_text = {self.says(value): value for value in offer.options}
        answer = yield Question(self.name, tuple(by_text), offer.depends)
        return by_text[str(answer)]

    def answers(self, kernel: Decided) -> dict[str, Option]:
        """See KernelDecision."""
        return {self.name: self.says(self.of(kernel))}
