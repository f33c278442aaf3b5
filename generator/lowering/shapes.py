"""What there is to decide about the kernels of a schedule."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from typing import Any

from generator.errors import IllegalPlan
from generator.lowering.kernel import Frame, frame_of, lower_part
from generator.plan import Hyperplanes, KernelPlan, Schedule
from generator.polyhedral.accumulate import keepable
from generator.polyhedral.footprint import StagedArray, stage_points
from generator.polyhedral.kernels import KernelPart, schedule_kernels
from generator.polyhedral.limited import limited
from generator.polyhedral.members import mixes
from generator.polyhedral.remembered import remembered
from generator.polyhedral.tree import Band, Sequence, Tree
from generator.program import ELEMENT_BYTES, Program
from generator.target import Dialect

TYPICAL_TILE = 32


@dataclass(frozen=True, slots=True)
class KernelShape:
    """A kernel as a search sees it.

    `extents` of the parallel dimensions, outermost first (none: it runs in one thread). `shareable` arrays may be
    put in shared memory. `sequential`: a loop runs inside each thread. `kept` holds, per array that a thread can keep
    in registers, the parallel dimensions that matter to it; `reduces`: several threads may update one element. `staged`
    holds, per shareable array and stage, its footprint, element size and the extents of the tiled members. `coarse`: a
    point of the parallel dimensions is a whole tile of a wavefront; `skewed`: its loops are so by the Plan's own rows.
    """

    statements: tuple[str, ...]
    extents: tuple[int, ...]
    shareable: tuple[str, ...]
    sequential: bool
    kept: tuple[tuple[int, ...], ...]
    reduces: bool
    staged: tuple[tuple[StagedArray, int, tuple[int, ...]], ...]
    coarse: bool = False
    skewed: bool = False

    def ordered(self, order: tuple[int, ...]) -> KernelShape:
        """The same kernel with its parallel dimensions in another order (empty: as they are)."""
        if not order:
            return self
        staged = tuple((replace(a, extents=tuple(
            replace(e, parallel=tuple(e.parallel[d] for d in order)) for e in a.extents)), size, tiled)
            for a, size, tiled in self.staged)
        kept = tuple(tuple(order.index(d) for d in owned) for owned in self.kept)
        return replace(self, extents=tuple(self.extents[d] for d in order), kept=kept, staged=staged)

    def shared_bytes(self, tile: tuple[int, ...], inner_tile: int, padding: int = 0, registers: bool = False) -> int:
        """Bytes of local memory that the shared copies need; `registers` fill partial tiles up, so copies are whole."""
        outer = tile if registers else tuple(min(t, e) for t, e in zip(tile, self.extents, strict=True))
        total = 0
        for footprint, element, tiled in self.staged:
            inner = tuple(e if inner_tile == 1 else min(inner_tile, e) for e in tiled)
            *rows, row = footprint.sizes(outer, inner)
            total += prod(rows) * (row + padding) * element
        return total


@remembered(maxsize=256)
def kernel_shapes(program: Program, choice: Schedule, dialect: Dialect = "opencl") -> tuple[KernelShape, ...]:
    """The kernels of `program` under a schedule, sorted by statements; more arrays are shareable in CUDA (`barriers`).

    Raises:
        IllegalPlan: the scheduler gave up.
    """
    explicit = isinstance(choice, Hyperplanes)
    found = [_shape(program, part, frame_of(program, choice, part), explicit and _is_skewed(part),
                    dialect)
             for part in schedule_kernels(program, choice).kernels]
    return tuple(sorted(found, key=lambda s: s.statements))


@lru_cache(maxsize=1024)
def _shape(program: Program, part: KernelPart, frame: Frame, skewed: bool, dialect: Dialect) -> KernelShape:
    """`skewed`: barriers would stand under guards, and finding that out exactly takes long."""
    staged = tuple((a, ELEMENT_BYTES[program.array(a.array).type], tuple(d.extent for d in point.tiled))
                   for point in stage_points(program, part) for a in point.arrays) if not skewed else ()
    if staged and not _may_wait(program, part, frame, dialect):
        staged = ()
    return KernelShape(part.statements, tuple(d.extent for d in part.parallel), tuple(sorted({a.array for a, _, _ in staged})),
                       _has_loop(part.tree), tuple(k.owned for k in keepable(program, part)), bool(frame.reductions),
                       staged, part.coarse, skewed)


def _is_skewed(part: KernelPart) -> bool:
    """Whether a loop in or around the kernel mixes iterators, or counts tiles: its bounds are no box."""
    members = (*part.prefix, *(d.member for d in part.parallel), *_members(part.tree))
    return part.coarse or any(mixes(member) for member in members)


def _members(tree: Tree) -> Iterator[Any]:
    match tree:
        case Band(members=members, child=child):
            yield from members
            yield from _members(child)
        case Sequence(children=children):
            for child in children:
                yield from _members(child)
        case _:
            return


def _may_wait(program: Program, part: KernelPart, frame: Frame, dialect: Dialect) -> bool:
    """Whether the barriers of a typical shared plan are legal: loops that are no boxes can put them under a guard."""
    count = len(part.parallel)
    plan = KernelPlan(part.statements, (TYPICAL_TILE,) * count, (TYPICAL_TILE // 2,) * count, True, TYPICAL_TILE)

    def refusal() -> str:
        try:
            lower_part(program, part, frame, plan, dialect)
        except IllegalPlan as error:
            return str(error)
        return ""

    try:
        return not limited(refusal, "generating a kernel")
    except IllegalPlan:  # it would take for ever
        return False


def _has_loop(tree: Tree) -> bool:
    match tree:
        case Band():
            return True
        case Sequence(children=children):
            return any(_has_loop(c) for c in children)
        case _:
            return False
