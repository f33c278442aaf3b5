"""The Variant: generated code with the host program that launches it, as data.

A runner interprets the host program; an exporter prints it. Grids and blocks are x first.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TypeAlias

from generator.expr import Expr
from generator.plan import Plan
from generator.target import Dialect


@dataclass(frozen=True, slots=True)
class Launch:
    """Run `kernel` on `grid` blocks (x, y, z); `iterators` are the values of the enclosing host loops it needs."""

    kernel: str
    grid: tuple[Expr, ...]
    iterators: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class HostLoop:
    """`for (iterator = start; condition; iterator += step) body`."""

    iterator: str
    start: Expr
    condition: Expr
    step: int
    body: tuple[HostOp, ...]


@dataclass(frozen=True, slots=True)
class HostBranch:
    """`if (condition) then else otherwise`."""

    condition: Expr
    then: tuple[HostOp, ...]
    otherwise: tuple[HostOp, ...]


HostOp: TypeAlias = Launch | HostLoop | HostBranch


@dataclass(frozen=True, slots=True)
class Kernel:
    """One device function.

    Arguments, in this order: a global pointer per name in `arrays`, a value per name in `scalars`, an `int` per
    name in `iterators`. `block` is x first. `statements` (sorted) is the kernel's identity in the search.
    """

    name: str
    statements: tuple[str, ...]
    arrays: tuple[str, ...]
    scalars: tuple[str, ...]
    iterators: tuple[str, ...]
    block: tuple[int, ...]
    local_bytes: int
    source: str


@dataclass(frozen=True, slots=True)
class Variant:
    """Everything a runner needs beside the data: the source text of all kernels and how to launch them."""

    plan: Plan
    dialect: Dialect
    preamble: str
    kernels: tuple[Kernel, ...]
    host: tuple[HostOp, ...]

    @property
    def source(self) -> str:
        """The complete text of the translation unit."""
        return "\n".join([self.preamble, *(kernel.source for kernel in self.kernels)])

    @property
    def code_hash(self) -> str:
        """A hash of what runs: the text, the blocks and the host program. Equal code is measured once."""
        blocks = tuple((kernel.name, kernel.block) for kernel in self.kernels)
        return hashlib.sha256(repr((self.source, blocks, self.host)).encode()).hexdigest()[:16]
