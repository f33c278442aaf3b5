"""Decisions about a set of arrays."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeAlias

from generator.decisions.base import Decided, KernelDecision, Known, Option, Question
from generator.forms import Form

Arrays: TypeAlias = tuple[str, ...]


def arrays_text(arrays: Arrays) -> str:
    """Return a set of arrays as an option, and for people."""
    return ", ".join(arrays) or "no array"


def _is_names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value) and value == sorted(set(value))


SORTED_NAMES = Form(_is_names, "a sorted list of names of arrays")


class ArraysDecision(KernelDecision[Arrays]):
    """The options are presented as texts."""

    def ask(self, known: Known) -> Generator[Question, Option, Arrays]:
        """See KernelDecision."""
        offer = self.offer(known)
        if len(offer.options) == 1:
            return offer.options[0]
        by_text = {arrays_text(arrays): arrays for arrays in offer.options}
        answer = yield Question(self.name, tuple(by_text), offer.depends)
        return by_text[str(answer)]

    def answers(self, kernel: Decided) -> dict[str, Option]:
        """See KernelDecision."""
        return {self.name: arrays_text(self.of(kernel))}
