"""Host loops that launch kernels for little work each."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from generator.polyhedral.dependences.model import sets
from generator.polyhedral.kit.members import ends, value_range
from generator.polyhedral.kit.tree import Band, Sequence, Tree, launches_of
from generator.polyhedral.schedules.kernels import KernelPart, schedule_kernels
from generator.program import Program
from generator.schedules.schedule import Schedule

FEWEST_LAUNCHES = 256
"""Fewer launches take negligible time in a measurement."""
MOST_INSTANCES = 4096
"""More statement instances per launch are worth their launch on every device."""


@dataclass(frozen=True, slots=True)
class LaunchedNest:
    """The statements (sorted) inside a host loop, and the average number of their instances per launch."""

    statements: tuple[str, ...]
    per_launch: float


def nests_of(program: Program, schedule: Schedule) -> tuple[LaunchedNest, ...]:
    """Return the outermost host loops of a section with at least FEWEST_LAUNCHES launches of at most MOST_INSTANCES
    instances.

    Statements that do not run on a box are counted as if they did.

    Raises:
        IllegalPlan: as `schedule_kernels`.
    """
    scheduled = schedule_kernels(program, schedule)
    return tuple(_inside(scheduled.host, scheduled.kernels))


def _inside(tree: Tree, kernels: tuple[KernelPart, ...]) -> list[LaunchedNest]:
    match tree:
        case Band(child=child):
            parts = [kernels[number] for number in launches_of(tree)]
            launches = sum(_launches(part) for part in parts)
            if launches >= FEWEST_LAUNCHES:
                per_launch = sum(_instances(part.domain) for part in parts) / launches
                if per_launch <= MOST_INSTANCES:
                    statements = {name for part in parts for name in part.statements}
                    return [LaunchedNest(tuple(sorted(statements)), per_launch)]
            return _inside(child, kernels)
        case Sequence(children=children):
            return [nest for child in children for nest in _inside(child, kernels)]
        case _:
            return []


def _launches(part: KernelPart) -> int:
    ranges = (value_range(member.intersect_domain(part.domain)) for member in part.prefix)
    return prod(high - low + 1 for low, high in ranges)


def _instances(domain: Any) -> int:
    return sum(prod(high - low + 1 for low, high in ends(one)) for one in sets(domain))
