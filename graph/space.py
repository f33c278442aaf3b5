"""A space: plain Python that asks one decision after another and returns a Plan (define by run)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from generator.plan import Plan

Option: TypeAlias = str | int | float | bool | tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision. Its identity is the identity of its node in the optimization graph.

    `subject` is its subject, e.g. the sorted statements of a kernel (empty: the whole program, or a template).
    `depends` are the earlier choices (name, option) that the option list depends on: two walks that reach the same
    kernel by different choices share its nodes. `sampled`: only the options in a sample of walks are known
    (graph.recorded).
    """

    name: str
    subject: tuple[str, ...] = ()
    depends: tuple[tuple[str, Option], ...] = ()
    sampled: bool = False


class Chooser(Protocol):
    """Answers decisions; passed to a space."""

    def choose(self, decision: Decision, options: Sequence[Option]) -> Option:
        """Return one of `options` (never empty). A forced decision (one option) creates no node."""


@dataclass(frozen=True, slots=True)
class PageRow:
    """A row of the tables in docs/decisions.md: a decision, its subject, its options and their meaning."""

    title: str
    about: str
    options: str
    meaning: str


class DeadEnd(Exception):
    """Raised by a space if no plan is consistent with the choices so far; the walk backtracks and the edge is
    pruned."""


class Space(Protocol):
    """Asks `chooser` one decision after another, and returns the resulting Plan. Deterministic in the answers."""

    def __call__(self, chooser: Chooser) -> Plan:
        """Return the Plan that the answers of `chooser` lead to. Raises DeadEnd."""
