"""Arrays without a copy: arrays that a block reads from global memory although it copies others (ours).

If a cache serves an array as well, a copy wastes memory, barriers and instructions.
"""

from __future__ import annotations

from collections.abc import Generator
from itertools import combinations
from typing import TypeAlias

from generator.decisions.base import Decided, KernelDecision, Known, Offer, Option, Question, Row
from generator.decisions.shared import SHARED
from generator.forms import Form

Arrays: TypeAlias = tuple[str, ...]
_FEW = 3
"""Up to so many arrays, all choices are offered; for more arrays, none, one, or all but one without a copy."""


def _text(arrays: Arrays) -> str:
    return ", ".join(arrays) or "no array"


def _is_names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value) and value == sorted(set(value))


def _offer(known: Known) -> Offer[Arrays]:
    """Offered if several arrays may be copied; at least one is."""
    arrays = sorted(known.shape.shareable)
    if not (known.wide and known[SHARED] and len(arrays) > 1) or known.target.shares_host_cores:
        return Offer(((),))
    counts = range(len(arrays)) if len(arrays) <= _FEW else (0, 1, len(arrays) - 1)
    offered = tuple(left for count in counts for left in combinations(arrays, count))
    return Offer(offered, (("arrays", _text(tuple(arrays))),))


class _Uncopied(KernelDecision[Arrays]):
    """The options are presented as texts."""

    def ask(self, known: Known) -> Generator[Question, Option, Arrays]:
        """See KernelDecision."""
        offer = self.offer(known)
        if len(offer.options) == 1:
            return offer.options[0]
        by_text = {_text(arrays): arrays for arrays in offer.options}
        answer = yield Question(self.name, tuple(by_text), offer.depends)
        return by_text[str(answer)]

    def answers(self, kernel: Decided) -> dict[str, Option]:
        """See KernelDecision."""
        return {self.name: _text(self.of(kernel))}


UNCOPIED = _Uncopied(
    "uncopied",
    "arrays without a copy",
    (),
    Form(_is_names, "a sorted list of names of arrays"),
    _offer,
    Row(
        "no array, or any of those that may have one, but not all",
        "these arrays are read from global memory although others are copied to shared memory",
        "wide, on GPUs",
    ),
    _text,
    younger=True,
)
