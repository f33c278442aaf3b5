"""The decisions of one kernel: sizes, unrolling, order of loops, and where its data are.

Papenhausen & Mueller's Coding Ants, table 1, with what is ours and not theirs marked (*). In this order: the dimension
that becomes x (*), then x first a tile and a block size per parallel dimension, unroll factor, points inside sequential
loops (*), registers (*), shared memory, inner tile size, padding (*), cache configuration (CUDA), how a block combines
what it reduces (*), atomic stores, the order of the blocks (*).

The decisions of a kernel are about its statements, whatever schedule it came from, so what was learned about a
kernel under one schedule serves under another. Only options that depend on more name it: sizes on the kernel's extents
and the sizes chosen so far, memory on what fits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Protocol, TypeAlias

from generator.plan import Cache, Combine, KernelPlan
from generator.target import LANES, Target
from graph.ladders import LONG, TILES, Geometry, Ladders, Sizes, caps
from graph.policies import Preferences
from graph.space import Chooser, Decision, Option

UNROLL_FACTORS = (1, 2, 4, 8)
INNER_TILES = (1, 4, 8, 16, 32, 64)
PADDINGS = (0, 1)
MAX_REGISTERS = 64
X = "x dimension"
TILE, BLOCK, UNROLL, SHARED = "outer tile size", "thread block size", "unroll factor", "shared memory"
POINTS, INNER, PADDING = "points inside sequential loops", "inner tile size", "padding"
REGISTERS, COMBINE, EXCHANGE = "registers", "combining threads", "atomic store"
CACHE, COLUMNS = "cache configuration", "blocks along columns"
"""Names of the decisions: pictures, reports and the terminal use the same."""
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

    @property
    def kept(self) -> tuple[tuple[int, ...], ...]:
        """The parallel dimensions that matter to each array that a thread can keep in registers."""

    @property
    def coarse(self) -> bool:
        """Whether a point of the parallel dimensions is a whole tile of the program's iterations."""

    @property
    def skewed(self) -> bool:
        """Whether its loops have bounds that depend on each other: tiles inside would take long to generate."""

    @property
    def computes(self) -> bool:
        """Whether its blocks compute other stages in shared memory."""

    @property
    def privatizes(self) -> bool:
        """Whether its blocks can update an array in a copy of their own."""

    @property
    def reduces(self) -> bool:
        """Whether several threads may update the same element."""

    def shared_bytes(self, tile: tuple[int, ...], inner_tile: int, padding: int = 0, registers: bool = False,
                     copies: bool = True, private: bool = False) -> int:
        """Bytes of shared memory that a block needs, with `copies` and `private` updates or without.

        More for whole tiles, as `registers` have them.
        """

    def ordered(self, order: tuple[int, ...]) -> Shape:
        """The same kernel with its parallel dimensions in another order (empty: as they are)."""


def preferences_of_kernel(kernel: KernelPlan) -> Preferences:
    """The choices that lead to `kernel`, as far as they are on offer."""
    subject = kernel.statements
    wanted: dict[tuple[str, tuple[str, ...]], Option] = {
        (UNROLL, subject): kernel.unroll, (SHARED, subject): kernel.shared, (POINTS, subject): kernel.points_inside,
        (INNER, subject): kernel.inner_tile, (PADDING, subject): kernel.padding,
        (REGISTERS, subject): kernel.registers, (COMBINE, subject): kernel.combine,
        (EXCHANGE, subject): kernel.exchange, (CACHE, subject): kernel.cache, (COLUMNS, subject): kernel.columns,
        (X, subject): kernel.order[-1] if kernel.order else max(0, len(kernel.tile) - 1)}
    for axis, tile, block in zip(_AXES, reversed(kernel.tile), reversed(kernel.block), strict=False):
        wanted[f"{TILE} {axis}", subject] = tile
        wanted[f"{BLOCK} {axis}", subject] = block
    return wanted


@dataclass(frozen=True, slots=True)
class KernelSpace:
    """Asks for the decisions of a kernel. `wide`: all that may pay, otherwise those of the paper."""

    target: Target
    ladders: Ladders
    sizes: Callable[[Sizes, Ladders], Geometry]
    wide: bool

    def plan(self, chooser: Chooser, shape: Shape) -> KernelPlan:
        """The plan of one kernel."""
        subject = shape.statements
        order = self._order(chooser, shape)
        turned = shape.ordered(order)
        tile, block = self._sizes(chooser, turned)
        unroll = 1
        if shape.sequential or tile != block:  # points of one thread are a loop, too
            unroll = number(chooser, Decision(UNROLL, subject), UNROLL_FACTORS)
        several = self.wide and shape.sequential and tile != block
        inside = several and switch(chooser, Decision(POINTS, subject))
        registers = self._registers(chooser, turned, tile, block)
        memory = self._memory(chooser, turned, tile, unroll, registers)
        cache = self._cache(chooser, subject, memory.shared)
        combine = self._combine(chooser, turned, block, self._fits_private(turned, tile, memory, registers))
        exchange = not (self.wide and self.target.shares_host_cores) and switch(chooser, Decision(EXCHANGE, subject))
        return KernelPlan(subject, tile, block, memory.shared, memory.inner_tile, unroll, inside, order,
                          memory.padding, registers, combine, exchange, cache, self._columns(chooser, turned, tile))

    def _order(self, chooser: Chooser, shape: Shape) -> tuple[int, ...]:
        """A permutation that puts the chosen dimension last (x); () for the order of the schedule."""
        count = len(shape.extents)
        if not self.wide or count < 2:
            return ()
        x = number(chooser, Decision(X, shape.statements, (("dimensions", count),)), tuple(reversed(range(count))))
        return () if x == count - 1 else (*(d for d in range(count) if d != x), x)

    def _sizes(self, chooser: Chooser, shape: Shape) -> tuple[Sizes, Sizes]:
        """Tile and block sizes, outermost first; asked x first, since x matters most (coalescing)."""
        long = shape.privatizes and self.wide and not shape.coarse
        ladders = TILES if shape.coarse else LONG if long else self.ladders
        largest = caps(shape.extents[::-1], ladders)
        offer = self.sizes(largest, ladders)
        kinds = {"skewed": shape.skewed, "coarse": shape.coarse, "long": long}  # by the schedule, for the same statements
        special: tuple[tuple[str, Option], ...] = tuple((kind, True) for kind, is_so in kinds.items() if is_so)
        tiles: list[int] = []
        blocks: list[int] = []
        points = threads = 1
        for dim in range(len(largest)):
            depends: tuple[tuple[str, Option], ...] = (("largest tiles", largest), ("points", points),
                                                       ("threads", threads), *special)
            name = f"{TILE} {_AXES[dim]}"
            whole = shape.coarse or (shape.skewed and len(largest) > 1)  # one point per thread: see Shape.skewed
            options = offer.tile_options(dim, points, threads, whole)
            if shape.computes:
                options = self._roomy(shape, tiles, options, [sizes[0] for sizes in offer.tiles[dim + 1:]])
                depends = (*depends, ("offered", options))
            tile = number(chooser, Decision(name, shape.statements, depends), options)
            name, depends_on_tile = f"{BLOCK} {_AXES[dim]}", (*depends, ("tile", tile))
            options = (tile,) if whole else offer.block_options(dim, tile, points, threads)
            block = number(chooser, Decision(name, shape.statements, depends_on_tile), options)
            points, threads = points * tile, threads * block
            tiles.append(tile)
            blocks.append(block)
        return tuple(reversed(tiles)), tuple(reversed(blocks))

    def _roomy(self, shape: Shape, tiles: Sequence[int], options: Sizes, least: Sequence[int]) -> Sizes:
        """The tile sizes of a dimension with which what a block computes of other stages fits its shared memory.

        `tiles` are the sizes chosen before, `least` the smallest ones of the dimensions to come, x first. One remains in any case.
        """
        inner = min(t for t in INNER_TILES if t > 1) if shape.sequential else 1
        def fits(size: int) -> bool:
            tile = tuple(reversed((*tiles, size, *least)))
            return shape.shared_bytes(tile, inner, copies=False) <= self.target.local_bytes

        return tuple(size for size in options if fits(size)) or options[:1]

    def _memory(self, chooser: Chooser, shape: Shape, tile: Sizes, unroll: int, registers: bool) -> _Memory:
        """Shared memory, inner tile and padding: the inner tile decides what fits."""
        tilable = shape.sequential and not shape.skewed
        inner = tuple(t for t in INNER_TILES if t == 1 or t > unroll) if tilable else (1,)
        def fits(inner_tile: int, padding: int, copies: bool) -> bool:
            return shape.shared_bytes(tile, inner_tile, padding, registers, copies) <= self.target.local_bytes

        plain = tuple(t for t in inner if fits(t, 0, False)) or inner[:1]
        fitting = tuple(t for t in inner if shape.shareable and fits(t, 0, True))
        shared = bool(fitting) and switch(chooser, Decision(SHARED, shape.statements))
        options = fitting if shared else plain
        inner_tile = number(chooser, Decision(INNER, shape.statements, (("offered", options),)), options)
        padded = (shared or shape.computes) and self.wide
        paddings = tuple(p for p in PADDINGS if padded and fits(inner_tile, p, shared)) or (0,)
        return _Memory(shared, inner_tile, number(chooser, Decision(PADDING, shape.statements), paddings))

    def _cache(self, chooser: Chooser, subject: tuple[str, ...], shared: bool) -> Cache:
        """What a kernel prefers where a multiprocessor divides one memory between shared memory and cache."""
        if not self.target.language.cache_preference:
            return "none"
        offered: tuple[Cache, ...] = ("shared", "none", "l1") if shared else ("none", "l1")
        answer = chooser.choose(Decision(CACHE, subject, ((SHARED, shared),)), offered)
        return next(way for way in offered if way == answer)

    def _columns(self, chooser: Chooser, shape: Shape, tile: Sizes) -> bool:
        """Whether blocks that follow each other lie along y; where there is a single row or column of them it makes no difference."""
        several = all(extent > size for extent, size in zip(shape.extents[-2:], tile[-2:], strict=True))
        return self.wide and len(tile) > 1 and several and switch(chooser, Decision(COLUMNS, shape.statements))

    def _registers(self, chooser: Chooser, shape: Shape, tile: Sizes, block: Sizes) -> bool:
        if not self.wide:
            return False
        updated = [owned for owned in shape.kept if shape.sequential or 0 < len(owned) < len(shape.extents)]  # again and again
        worth = any(prod(tile[d] // block[d] for d in owned) <= MAX_REGISTERS for owned in updated)
        return worth and switch(chooser, Decision(REGISTERS, shape.statements))

    def _fits_private(self, shape: Shape, tile: Sizes, memory: _Memory, registers: bool) -> bool:
        """Whether a block has room for a copy of what it updates."""
        return self.wide and shape.privatizes and self.target.local_bytes >= shape.shared_bytes(
            tile, memory.inner_tile, memory.padding, registers, memory.shared, private=True)

    def _combine(self, chooser: Chooser, shape: Shape, block: Sizes, private: bool) -> Combine:
        """How a block combines; alone in its block a thread updates atomically, or in a `private` copy."""
        alone = prod(block) == 1
        if not shape.reduces or (alone and not private):
            return "atomic"
        shuffles = self.target.sub_group >= LANES and block[-1] % LANES == 0
        offered: tuple[Combine, ...] = ("atomic", "shared", "shuffle") if shuffles else ("atomic", "shared")
        if alone:
            offered = ("atomic",)
        if not self.wide:
            return offered[-1]
        depends: tuple[tuple[str, Option], ...] = (("shuffles", shuffles),)
        if private:
            offered, depends = (*offered, "private"), (*depends, ("private", True), ("alone", alone))
        answer = chooser.choose(Decision(COMBINE, shape.statements, depends), offered)
        return next(way for way in offered if way == answer)


@dataclass(frozen=True, slots=True)
class _Memory:
    shared: bool
    inner_tile: int
    padding: int


Shapes: TypeAlias = Sequence[Shape]


def switch(chooser: Chooser, decision: Decision) -> bool:
    """A yes-or-no decision."""
    return bool(chooser.choose(decision, (False, True)))


def number(chooser: Chooser, decision: Decision, options: Sequence[int]) -> int:
    """A decision between integers."""
    answer = chooser.choose(decision, options)
    assert isinstance(answer, int)
    return answer
