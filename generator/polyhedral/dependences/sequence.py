"""The original order of a Program as loops."""

from __future__ import annotations

import islpy as isl

from generator.nest import Node
from generator.polyhedral.kit.ast import LoopName, generate
from generator.polyhedral.kit.tree import from_isl
from generator.program import Program


def original_loops(program: Program, prefix: str) -> tuple[Node, ...]:
    """Return the loops that run the statements of `program` in their original order; iterators are `prefix` and a
    number.

    Raises:
        IllegalPlan: isl fails to make loops for some domain.
    """
    schedule = isl.Schedule(program.schedule)
    depth = max((len(s.iterators) for s in program.statements), default=0)
    names = [LoopName(f"{prefix}{d}", "") for d in range(2 * depth + len(program.statements) + 1)]
    return generate(from_isl(schedule), schedule.get_domain(), isl.Set("{ : }"), names)
