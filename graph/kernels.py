"""Asking for the decisions of one kernel (`generator.decisions`).

Papenhausen & Mueller's Coding Ants, table 1, and ours. The decisions of a kernel are about its statements, whatever
schedule it came from, so what was learned about a kernel under one schedule serves under another. Only options that
depend on more name it: sizes on the kernel's extents and the sizes chosen so far, memory on what fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from generator.decisions.base import Known, Question
from generator.decisions.deciding import decide
from generator.decisions.shape import Shape
from generator.plan import KernelPlan
from generator.target import Target
from graph.space import Chooser, Decision, Option


@dataclass(frozen=True, slots=True)
class KernelSpace:
    """Asks for the decisions of a kernel. `wide`: all that may pay, otherwise those of the paper."""

    target: Target
    wide: bool

    def plan(self, chooser: Chooser, shape: Shape) -> KernelPlan:
        """The plan of one kernel."""
        def ask(question: Question) -> Option:
            return chooser.choose(Decision(question.name, shape.statements, question.depends), question.options)

        return decide(Known(shape, self.target, self.wide), ask)


def switch(chooser: Chooser, decision: Decision) -> bool:
    """A yes-or-no decision."""
    return bool(chooser.choose(decision, (False, True)))


def number(chooser: Chooser, decision: Decision, options: Sequence[int]) -> int:
    """A decision between integers."""
    answer = chooser.choose(decision, options)
    assert isinstance(answer, int)
    return answer
