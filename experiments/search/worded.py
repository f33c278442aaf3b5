"""An observer that tells the words about a plan when it was measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from experiments.values.records import Result


class Telling(Protocol):
    """What tells users of results (`experiments.run.Reporter`)."""

    def note(self, text: str) -> None:
        """Tell a message."""

    def result(self, result: Result) -> None:
        """Handle an evaluation that was finished and stored."""


@dataclass(frozen=True, slots=True)
class Worded:
    """Passes results on to `reporter`, each with the words about its plan, if there are any (`words`, by digest)."""

    reporter: Telling
    words: Mapping[str, str]

    def result(self, result: Result) -> None:
        """See Observer."""
        self.reporter.result(result)
        words = self.words.get(result.evaluation.plan.digest)
        if words:
            self.reporter.note(f"[{result.evaluation.number}] {words}")
