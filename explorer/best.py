"""The best walks, of the whole program and of each kernel by its own time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from graph.walk import Walk

Statements: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scored:
    """A walk with the time it was judged by."""

    walk: Walk
    cost_ms: float


@dataclass(slots=True)
class Best:
    """The best walk of those taken in, and for each kernel the walk in which that kernel ran fastest.

    A slow program can hold a fast kernel: its choices should not be punished for the others' (section 6.1 of
    Coding Ants).
    """

    program: Scored | None = None
    kernels: dict[Statements, Scored] = field(default_factory=dict)

    def add(self, walk: Walk, cost_ms: float, kernels_ms: Mapping[Statements, float]) -> tuple[bool, bool]:
        """Take in a walk; whether the program's and whether some kernel's best improved."""
        program = self.program is None or cost_ms < self.program.cost_ms
        if program:
            self.program = Scored(walk, cost_ms)
        better = {
            statements: Scored(walk, kernel_ms)
            for statements, kernel_ms in kernels_ms.items()
            if statements not in self.kernels or kernel_ms < self.kernels[statements].cost_ms
        }
        self.kernels.update(better)
        return program, bool(better)
