"""The space of the O1 level: options of isl's scheduler, then sizes, unrolling and memory of every kernel.

Papenhausen & Mueller's Coding Ants, section 5.1.1. In this order: algorithm, serialize SCCs, maximize band depth
(if not serialized), outer coincidence; then per kernel, x first, (tile size, block size) per parallel dimension, unroll
factor, order of point loops and sequential loops (ours; not in the paper's space), shared memory.

The decisions of a kernel are about its statements, whatever schedule it came from, so what was learned about a
kernel under one schedule serves under another. Only sizes depend on more: on the kernel's extents, as far as they
cut the ladders, and on the sizes chosen so far.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol, TypeAlias

from generator.errors import IllegalPlan
from generator.plan import Algorithm, KernelPlan, Plan, ScheduleChoice
from generator.target import Target
from graph.ladders import PAPER, WIDE, Geometry, Ladders, Sizes, caps, geometry
from graph.policies import Preferences
from graph.space import Chooser, DeadEnd, Decision, Option, Space

ALGORITHMS: tuple[Algorithm, ...] = ("pluto", "feautrier")
UNROLL_FACTORS = (1, 2, 4, 8)
INNER_TILE = 32  # of kernels with shared memory, as in the default plan; the others are not tiled inside
_ALGORITHM, _SERIALIZE, _DEPTH = "algorithm", "serialize SCCs", "maximize band depth"
_COINCIDENCE = "outer coincidence"
_TILE, _BLOCK, _UNROLL, _SHARED = "outer tile size", "thread block size", "unroll factor", "shared memory"
_POINTS = "points inside sequential loops"
_AXES = "xyz"


class Shape(Protocol):
    """What a space needs to know of a kernel (generator.lowering.shapes.KernelShape)."""

    @property
    def statements(self) -> tuple[str, ...]:
        """Sorted names: the kernel's identity."""

    @property
    def extents(self) -> tuple[int, ...]:
        """Of the parallel dimensions, outermost first, at most three."""

    @property
    def shareable(self) -> tuple[str, ...]:
        """Arrays that may be put in shared memory."""

    @property
    def sequential(self) -> bool:
        """Whether a loop runs inside each thread."""

    def shared_bytes(self, tile: tuple[int, ...], inner_tile: int) -> int:
        """Bytes of shared memory that the copies need."""


Shapes: TypeAlias = Callable[[ScheduleChoice], Sequence[Shape]]


def make_o1_space(shapes: Shapes, target: Target, wide: bool = True) -> Space:
    """The O1 space of a program with the kernels `shapes` on `target`.

    `wide` offers all sizes that may pay; otherwise those of the paper. `shapes` is called once per walk and
    should remember its answers. Where it raises IllegalPlan (the scheduler gave up) the walk has a dead end.
    """
    ladders = WIDE if wide else PAPER

    @lru_cache(maxsize=256)
    def sizes(largest: Sizes) -> Geometry:
        return geometry(largest, target, ladders)

    return _O1Space(shapes, target, ladders, sizes, wide)


def preferences_of(plan: Plan) -> Preferences:
    """The choices that lead to `plan`, as far as they are on offer: for walking from a plan to its walk."""
    schedule = plan.schedule
    wanted: dict[tuple[str, tuple[str, ...]], Option] = {
        (_ALGORITHM, ()): schedule.algorithm,
        (_SERIALIZE, ()): schedule.serialize_sccs,
        (_DEPTH, ()): schedule.maximize_band_depth,
        (_COINCIDENCE, ()): schedule.outer_coincidence,
    }
    for kernel in plan.kernels:
        wanted[_UNROLL, kernel.statements] = kernel.unroll
        wanted[_SHARED, kernel.statements] = kernel.shared
        wanted[_POINTS, kernel.statements] = kernel.points_inside
        for axis, tile, block in zip(_AXES, reversed(kernel.tile), reversed(kernel.block), strict=False):
            wanted[f"{_TILE} {axis}", kernel.statements] = tile
            wanted[f"{_BLOCK} {axis}", kernel.statements] = block
    return wanted


@dataclass(frozen=True, slots=True)
class _O1Space:
    shapes: Shapes
    target: Target
    ladders: Ladders
    sizes: Callable[[Sizes], Geometry]
    reorders: bool

    def __call__(self, chooser: Chooser) -> Plan:
        schedule = _schedule(chooser)
        try:
            shapes = self.shapes(schedule)
        except IllegalPlan as error:
            raise DeadEnd(str(error)) from error
        kernels = [self._kernel(chooser, shape) for shape in sorted(shapes, key=lambda shape: shape.statements)]
        return Plan(schedule, tuple(kernels))

    def _kernel(self, chooser: Chooser, shape: Shape) -> KernelPlan:
        tile, block = self._sizes(chooser, shape)
        unroll = 1
        if shape.sequential or tile != block:  # points of one thread are a loop, too
            unroll = _number(chooser, Decision(_UNROLL, shape.statements), UNROLL_FACTORS)
        several = self.reorders and shape.sequential and tile != block
        inside = several and _switch(chooser, Decision(_POINTS, shape.statements))
        shared = self._can_share(shape, tile) and _switch(chooser, Decision(_SHARED, shape.statements))
        return KernelPlan(shape.statements, tile, block, shared, INNER_TILE if shared else 1, unroll, inside)

    def _sizes(self, chooser: Chooser, shape: Shape) -> tuple[Sizes, Sizes]:
        """Tile and block sizes, outermost first; asked x first, since x matters most (coalescing)."""
        largest = caps(shape.extents[::-1], self.ladders)
        offer = self.sizes(largest)
        tiles: list[int] = []
        blocks: list[int] = []
        points = threads = 1
        for dim in range(len(largest)):
            depends = (("largest tiles", largest), ("points", points), ("threads", threads))
            name = f"{_TILE} {_AXES[dim]}"
            tile = _number(chooser, Decision(name, shape.statements, depends), offer.tile_options(dim, points, threads))
            name, depends_on_tile = f"{_BLOCK} {_AXES[dim]}", (*depends, ("tile", tile))
            options = offer.block_options(dim, tile, points, threads)
            block = _number(chooser, Decision(name, shape.statements, depends_on_tile), options)
            points, threads = points * tile, threads * block
            tiles.append(tile)
            blocks.append(block)
        return tuple(reversed(tiles)), tuple(reversed(blocks))

    def _can_share(self, shape: Shape, tile: Sizes) -> bool:
        return bool(shape.shareable) and shape.shared_bytes(tile, INNER_TILE) <= self.target.local_bytes


def _schedule(chooser: Chooser) -> ScheduleChoice:
    """The scheduler's options. The last one depends on all others, as does whether isl finds a schedule."""
    algorithm = chooser.choose(Decision(_ALGORITHM), ALGORITHMS)
    serialize = _switch(chooser, Decision(_SERIALIZE))
    depth = True if serialize else _switch(chooser, Decision(_DEPTH))
    depends = ((_ALGORITHM, algorithm), (_SERIALIZE, serialize), (_DEPTH, depth))
    coincidence = _switch(chooser, Decision(_COINCIDENCE, (), depends))
    return ScheduleChoice("pluto" if algorithm == "pluto" else "feautrier", serialize, depth, coincidence)


def _switch(chooser: Chooser, decision: Decision) -> bool:
    return bool(chooser.choose(decision, (False, True)))


def _number(chooser: Chooser, decision: Decision, options: Sequence[int]) -> int:
    answer = chooser.choose(decision, options)
    assert isinstance(answer, int)
    return answer
