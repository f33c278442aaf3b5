"""The shared copies of a kernel's blocks: which there may be, and whether all threads can wait for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from generator.decisions.size_lists import Sizes
from generator.errors import IllegalPlan
from generator.lowering.analysis.staged_copy import StagedCopy
from generator.lowering.core.kernel import Frame, lower_exactly
from generator.lowering.memory.prologues import operation_on
from generator.plan import KernelPlan
from generator.polyhedral.kit.limited import ChildError, limited
from generator.polyhedral.kit.memoized import memoized
from generator.polyhedral.memory.footprint import FillPoint, fill_points_in
from generator.polyhedral.schedules.kernels import KernelPart, reordered, runs_on_a_box
from generator.program import ELEMENT_BYTES, Program
from generator.target import Language

TYPICAL_TILE = 32

Staged: TypeAlias = tuple[StagedCopy, ...]


@dataclass(frozen=True, slots=True)
class BlockCopies:
    """The shared copies of a kernel's blocks, which depend on the order of its parallel dimensions.

    Reads that are adjacent for neighbours along x need no copy.
    """

    program: Program
    part: KernelPart
    frame: Frame
    language: Language
    depth: int = 0

    def ordered(self, order: tuple[int, ...]) -> tuple[Staged, tuple[bool, ...]]:
        """Return `staged` and `alone` of KernelShape with the dimensions in `order`."""
        points = self.points(order)
        staged = tuple(
            StagedCopy(a, ELEMENT_BYTES[self.program.array(a.array).type], inner_extents(point), point.first,
                       operation_on(self.program, a) is not None,
                       tuple(d.extent for d in point.tiled[:point.outer]),
                       self.program.array(a.array).extents[-1],
                       tuple(d.low for d in (*reordered(self.part, order).parallel, *point.tiled)))
            for point in points
            for a in point.arrays
        )
        if not staged or not may_wait(self.program, self.part, self.frame, self.language, self.depth):
            return (), ()
        return staged, tuple(not point.computed for point in points for _ in point.arrays)

    def points(self, order: tuple[int, ...]) -> tuple[FillPoint, ...]:
        """Return the fill points with the dimensions in `order`."""
        return fill_points_in(self.program, self.part, order, self.depth)


@memoized(maxsize=1024)
def may_wait(program: Program, part: KernelPart, frame: Frame, language: Language, depth: int = 0) -> bool:
    """Return whether the barriers of a typical shared plan are legal: loops that are not boxes, or copies inside
    `depth` loops that statements share, can put them under a guard.
    """
    if runs_on_a_box(part) and not depth:
        return True
    count = len(part.parallel)
    plan = KernelPlan(
        part.statements, (TYPICAL_TILE,) * count, (TYPICAL_TILE // 2,) * count, shared=True, inner_tile=TYPICAL_TILE,
        depth=depth)

    def refusal() -> str:
        try:
            lower_exactly(program, part, frame, plan, language)
        except IllegalPlan as error:
            return str(error)
        return ""

    try:
        return not limited(refusal, "generating a kernel")
    except (IllegalPlan, ChildError):  # it would take too long, or isl fails
        return False


def inner_extents(point: FillPoint) -> Sizes:
    """Return the extents of the loops that are tiled around a fill point."""
    return tuple(d.extent for d in point.inner)
