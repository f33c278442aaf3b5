"""Arrays without a copy: which ones a block reads from global memory, though it copies others to shared memory (ours).

What a cache serves as well need not take room, barriers and instructions.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeAlias

from generator.decisions.base import Decided, KernelDecision, Known, Offer, Option, Question, Row
from generator.decisions.shared import SHARED
from generator.forms import Form

Arrays: TypeAlias = tuple[str, ...]


def _question(array: str) -> str:
    return f"copy of {array}"


def _is_names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value) and value == sorted(set(value))


class _Uncopied(KernelDecision[Arrays]):
    """A question per array; one of them at least is copied."""

    def ask(self, known: Known) -> Generator[Question, Option, Arrays]:
        """See KernelDecision."""
        arrays = sorted(known.shape.shareable)
        if not (known.wide and known[SHARED] and len(arrays) > 1) or known.target.shares_host_cores:
            return ()
        left: list[str] = []
        for array in arrays:
            if len(left) < len(arrays) - 1:
                copied = yield Question(_question(array), (True, False), ((SHARED.name, known[SHARED]),))
                left += [] if copied else [array]
        return tuple(left)

    def answers(self, kernel: Decided) -> dict[str, Option]:
        """See KernelDecision."""
        return {_question(array): False for array in self.of(kernel)}


UNCOPIED = _Uncopied(
    "uncopied",
    "arrays without a copy",
    (),
    Form(_is_names, "a sorted list of names of arrays"),
    lambda _: Offer(((),)),
    Row(
        "any of the arrays that may have one, but not all",
        "they are read from global memory, though others are copied to shared memory",
        "wide, on GPUs",
    ),
    ", ".join,
    younger=True,
)
