"""A schedule given by the statements that share loops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from generator.forms import NAMES, check_fields, list_of, sorted_names


@dataclass(frozen=True, slots=True)
class Group:
    """Statements that share loops (sorted names), and the order of the loop nests inside these loops.

    Without `parts`, the scheduler decides below the shared loops.
    """

    statements: tuple[str, ...]
    parts: tuple[Group, ...] = ()


@dataclass(frozen=True, slots=True)
class Partition:
    """Groups of statements that share loops, in order of execution (the O2 decisions of Coding Ants).

    `reductions`, `serial`: as in ScheduleChoice.
    """

    groups: tuple[Group, ...]
    reductions: tuple[str, ...] = ()
    serial: tuple[str, ...] = ()


def partition_from_json(data: Any, where: str) -> Partition:
    """Read a partition from JSON. Raises InputError if a field is unknown, missing or has a bad value."""
    check_fields(data, Partition, where)
    NAMES.require(data, where, "reductions", "serial")
    return Partition(_groups(data, "groups", where), sorted_names(data, "reductions"), sorted_names(data, "serial"))


def _groups(data: dict[str, Any], name: str, where: str) -> tuple[Group, ...]:
    list_of("groups of statements").require(data, where, name)
    groups = []
    for number, group in enumerate(data.get(name, ())):
        place = f"{where}.{name}[{number}]"
        check_fields(group, Group, place)
        NAMES.require(group, place, "statements")
        groups.append(Group(tuple(sorted(group["statements"])), _groups(group, "parts", place)))
    return tuple(groups)


def partition_words(partition: Partition) -> str:
    """`S0 (S1 | S2) | S3`."""
    return " | ".join(_short(group) for group in partition.groups)


def _short(group: Group) -> str:
    """`S0 S1`, or `(S0 | S1)` for parts with their own loops inside the shared ones."""
    if not group.parts:
        return " ".join(group.statements)
    return "(" + " | ".join(_short(part) for part in group.parts) + ")"


def partition_lines(partition: Partition) -> Iterator[str]:
    """The same for `antune explain`."""
    yield "statements that share loops, in order: " + "; ".join(_long(group) for group in partition.groups)


def _long(group: Group) -> str:
    parts = f" (inside: {'; '.join(_long(part) for part in group.parts)})" if group.parts else ""
    return f"{{{', '.join(group.statements)}}}{parts}"
