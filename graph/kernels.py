"""The decisions of one kernel (`generator.decisions`): those of Papenhausen & Mueller's Coding Ants, table 1, and ours.

The subject of a kernel's decisions is its statements, whatever the schedule. So statistics about a kernel under one
schedule are also used under another. A decision whose options depend on more names that in `depends`: sizes depend on
the kernel's extents and the sizes chosen so far, memory on what fits.
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
    """Asks for the decisions of a kernel on `target`. `wide`: all decisions; otherwise only those of the paper."""

    target: Target
    wide: bool

    def plan(self, chooser: Chooser, shape: Shape) -> KernelPlan:
        """Return the plan of one kernel. Raises DeadEnd."""
        def ask(question: Question) -> Option:
            return chooser.choose(Decision(question.name, shape.statements, question.depends), question.options)

        return decide(Known(shape, self.target, self.wide), ask)


def switch(chooser: Chooser, decision: Decision) -> bool:
    """Ask a yes-or-no decision."""
    return bool(chooser.choose(decision, (False, True)))


def number(chooser: Chooser, decision: Decision, options: Sequence[int]) -> int:
    """Ask a decision whose options are integers."""
    answer = chooser.choose(decision, options)
    assert isinstance(answer, int)
    return answer
