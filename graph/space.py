"""A space: plain Python that asks for one decision after another and returns a Plan (define by run)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from generator.plan import Plan

Option: TypeAlias = str | int | float | bool | tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Decision:
    """A question. Its identity is the node's identity in the optimization graph.

    `subject` is what it is about, e.g. the sorted statements of a kernel (empty: the whole program, or a template).
    `depends` are the earlier choices (name, option) that the option list depends on: two walks that come to the
    same kernel by different roads meet in the same node. `sampled`: of the options only those are known that a sample
    of walks took (graph.recorded).
    """

    name: str
    subject: tuple[str, ...] = ()
    depends: tuple[tuple[str, Option], ...] = ()
    sampled: bool = False


class Chooser(Protocol):
    """Answers decisions; passed to a space."""

    def choose(self, decision: Decision, options: Sequence[Option]) -> Option:
        """One of `options` (never empty). A forced decision (one option) makes no node."""


@dataclass(frozen=True, slots=True)
class PageRow:
    """A row of docs/decisions.md: a decision of a space, what it is about, its options and what they mean."""

    title: str
    about: str
    options: str
    meaning: str


class DeadEnd(Exception):
    """Raised by a space when the choices so far lead nowhere; the walk backs up and the edge is pruned."""


class Space(Protocol):
    """Asks `chooser` and returns the Plan that the answers make. Deterministic in the answers."""

    def __call__(self, chooser: Chooser) -> Plan:
        """Raises DeadEnd."""
