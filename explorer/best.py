"""The best walks: of the whole program, and of each kernel by the kernel's own time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from graph.walk import Walk

Statements: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scored:
    """A walk, and the time in ms by which it is compared."""

    walk: Walk
    cost_ms: float


@dataclass(slots=True)
class Best:
    """The best of the added walks, and for each kernel the walk in which that kernel ran fastest.

    A slow program can contain a fast kernel, whose choices should be rewarded all the same (Coding Ants, section 6.1).
    """

    program: Scored | None = None
    kernels: dict[Statements, Scored] = field(default_factory=dict)

    def add(self, walk: Walk, cost_ms: float, kernels_ms: Mapping[Statements, float]) -> tuple[bool, bool]:
        """Add a walk. Return whether the program's best improved, and whether a kernel's best did."""
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
