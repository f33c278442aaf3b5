"""The properties of a schedule's kernels that their decisions need."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from math import prod

from generator.decisions.lane_room import LaneRoom
from generator.decisions.size_lists import InnerTiles, Sizes
from generator.decisions.thread_loops import Loops, ThreadLoop
from generator.errors import IllegalPlan
from generator.lowering.analysis.block_copies import BlockCopies, Staged, inner_extents, may_wait
from generator.lowering.analysis.block_parts import BlockLines, BlockStages, BlockSums, BlockUpdates, BlockWaves
from generator.lowering.analysis.staged_copy import StagedCopy
from generator.lowering.analysis.thread_loops import ThreadLoops
from generator.lowering.analysis.written import written_bytes
from generator.lowering.core.kernel import Frame, frame_of
from generator.lowering.core.split_tiles import lane_room
from generator.lowering.core.time_tiles import TimeBoxes
from generator.lowering.core.versions import time_room
from generator.lowering.memory.sub_tiles import SubTiles
from generator.polyhedral.kit.memoized import memoized
from generator.polyhedral.kit.tree import Band, Sequence, Tree
from generator.polyhedral.memory.accumulate import keepable
from generator.polyhedral.memory.diagonals import shared_rows
from generator.polyhedral.memory.footprint import fill_points
from generator.polyhedral.memory.lines import own_lines
from generator.polyhedral.memory.loops_around import depths
from generator.polyhedral.memory.private import private_updates
from generator.polyhedral.pipelines.levels import cuts_of
from generator.polyhedral.pipelines.sections import kernels_of, launched_nests
from generator.polyhedral.pipelines.stages import most_terms
from generator.polyhedral.pipelines.whole import sets_of
from generator.polyhedral.schedules.kernels import KernelPart, is_skewed, reordered
from generator.polyhedral.time.time_steps import required_time_loop
from generator.program import Program
from generator.schedules.hyperplanes import Hyperplanes
from generator.schedules.schedule import Schedule
from generator.schedules.time_tiles import TimeTiles
from generator.target import LANGUAGES, Language, Target


@dataclass(frozen=True, slots=True)
class KernelShape:
    """A kernel as seen by a search.

    `extents`: those of the parallel dimensions, outermost first (none: it runs in one thread). `sequential`: a loop
    runs inside each thread. `kept`: per array that a thread can keep in registers, the parallel dimensions on which it
    depends. `reduces`: several threads may update one element. `staged`: by array and fill point, the footprint,
    element size and the extents of the tiled members. `coarse`: a point of the parallel dimensions is a whole tile of a
    wavefront. `skewed`: its loops are skewed by the Plan's own rows. `blocks`: the stages or time steps that its blocks
    compute in shared memory. `updates`: what its blocks can update privately: reductions, or lines. `launched`: the
    statements of a host loop that launches it, with others, for little work each; () if there is none. `diagonals`: see
    `generator.decisions.shape.Shape`. `alone`: per staged array, whether its copy is the only one at that point.
    `copies`: gives `staged` and `alone` in other orders; None if blocks copy nothing in any. `contraction`: see Shape;
    `sums` gives it for orders other than `order`, the present one. `threads`: computes `loops`; None for kernels
    without isl's loops. `waves`: gives the copies of blocks that run a tile along `diagonals`; None without these.
    `written`: see Shape. `inner`: per fill point, the extents of the loops that may be tiled around it. `rows`: the
    outermost loops inside a thread are parallel, too, and there only because a device has three dimensions. `summed`:
    see Shape.
    """

    statements: tuple[str, ...]
    extents: tuple[int, ...]
    sequential: bool
    kept: tuple[tuple[int, ...], ...]
    reduces: bool
    staged: Staged
    coarse: bool = False
    skewed: bool = False
    blocks: BlockStages | TimeBoxes | None = None
    updates: BlockUpdates | BlockLines | None = None
    launched: tuple[str, ...] = ()
    diagonals: tuple[int, ...] = ()
    alone: tuple[bool, ...] = ()
    copies: BlockCopies | None = None
    contraction: tuple[int, int] | None = None
    sums: BlockSums | None = None
    order: tuple[int, ...] = ()
    threads: ThreadLoops | None = None
    waves: BlockWaves | None = None
    written: tuple[tuple[str, int], ...] = ()
    inner: tuple[Sizes, ...] = ()
    rows: bool = False
    summed: int = 1

    @property
    def steps(self) -> bool:
        """Whether its loops inside a thread are steps that all points could take together. Rows of arrays with four
        dimensions are not, with sums in them or without: around loops over points, they would be read against the order
        of memory. Neither are those with `own_rows`: points share nothing.
        """
        return self.sequential and not self.rows and not self.own_rows

    @property
    def own_rows(self) -> bool:
        """Whether each point reads rows of its own and updates elements that data choose, as in a histogram per row."""
        return isinstance(self.updates, BlockLines) and self.updates.along_rows

    def steps_on(self, target: Target) -> bool:
        """`steps` on CPUs. On GPUs, neighbouring threads read neighbouring elements in any case, so all loops inside a
        thread count.
        """
        return self.steps if target.shares_host_cores else self.sequential

    @property
    def shareable(self) -> tuple[str, ...]:
        """The arrays that may be copied to shared memory."""
        return tuple(sorted({one.box.array for one in self.staged}))

    @property
    def operated(self) -> tuple[str, ...]:
        """See Shape."""
        return tuple(sorted({one.box.array for one in self.staged if one.operated}))

    @property
    def privatizes(self) -> bool:
        """See Shape."""
        return self.updates is not None

    @property
    def computes(self) -> bool:
        """Whether its blocks compute other stages in shared memory."""
        return self.blocks is not None

    @property
    def apart(self) -> tuple[tuple[str, ...], ...]:
        """See Shape."""
        stages = self.blocks if isinstance(self.blocks, BlockStages) else None
        return sets_of(stages.program, stages.part.statements) if stages else ()

    @property
    def cuts(self) -> tuple[tuple[str, ...], ...]:
        """See Shape."""
        stages = self.blocks if isinstance(self.blocks, BlockStages) else None
        return cuts_of(stages.program, stages.part.statements) if stages else ()

    @property
    def timed(self) -> bool:
        """Whether it runs several time steps per launch."""
        return isinstance(self.blocks, TimeBoxes)

    @property
    def walkable(self) -> bool:
        """Whether its blocks can walk down their tiles: they compute stages, in rows that do not depend on other rows.
        """
        plain = not (self.reduces or self.coarse or self.skewed)
        return plain and isinstance(self.blocks, BlockStages) and len(self.extents) > 1

    def next_copies(self, inner_tile: InnerTiles, uncopied: tuple[str, ...]) -> tuple[int, ...]:
        """See Shape. With a single tile there is no next one."""
        return tuple(
            one.element
            for one, alone in zip(self.staged, self.alone, strict=False)
            if alone and one.box.array not in uncopied and one.is_renewed(inner_tile)
        )

    def swizzlable(self, tile: tuple[int, ...], inner_tile: InnerTiles, vector: int,
                   uncopied: tuple[str, ...]) -> tuple[str, ...]:
        """See Shape. With results in registers, copies may be whole where a tile is partial."""
        tiles = tile, tuple(map(min, tile, self.extents))
        refused = {one.box.array for one in self.staged for outer in tiles
                   if not one.has_swizzle(outer, inner_tile, vector, tile)}
        return tuple(array for array in self.shareable if array not in refused and array not in uncopied)

    def inner_extents(self, filled: bool) -> Sizes:
        """See Shape."""
        return tuple(chain(*self.inner)) if filled or len(self.inner) == 1 else ()

    def loops(self, decided: Loops) -> tuple[ThreadLoop, ...]:
        """See Shape."""
        return self.threads.found(decided, self.order) if self.threads else ()

    def lane_room(
        self, tile: tuple[int, ...], threads: tuple[int, ...], in_registers: int, padding: int
    ) -> LaneRoom | None:
        """See Shape."""
        if self.reduces or self.blocks is None:
            return None
        points = tuple(t // n for t, n in zip(tile, threads, strict=True))
        cut, blocks = SubTiles(threads, points, in_registers), self.blocks
        if isinstance(blocks, TimeBoxes):
            return time_room(blocks.program, blocks.steps, blocks.order, cut, padding)
        return lane_room(blocks.program, reordered(blocks.part, blocks.order), cut, padding)

    def walking(self, rows: int) -> KernelShape:
        """Return the same kernel, whose blocks compute so many rows of their tiles at a time; they copy nothing."""
        assert isinstance(self.blocks, BlockStages)
        return replace(self, blocks=replace(self.blocks, walk=rows), staged=(), copies=None, kept=())

    def holding(self, whole: tuple[str, ...]) -> KernelShape:
        """See Shape."""
        assert isinstance(self.blocks, BlockStages)
        return replace(self, blocks=replace(self.blocks, whole=whole))

    def without(self, stages: tuple[str, ...], tile: tuple[int, ...], padding: int) -> tuple[KernelShape, int]:
        """See Shape."""
        assert isinstance(self.blocks, BlockStages)
        apart = replace(self, blocks=replace(self.blocks, around=stages))
        return apart, self.blocks.tile_bytes(stages, tile, padding)

    @property
    def depths(self) -> Sizes:
        """See Shape."""
        plain = not (self.computes or self.skewed or self.coarse)
        return depths(self.copies.part.tree) if plain and self.copies and self.extents else ()

    def deeper(self, depth: int) -> KernelShape:
        """See Shape."""
        assert self.copies is not None
        copies = replace(self.copies, depth=depth)
        staged, alone = copies.ordered(self.order)
        inner = tuple(map(inner_extents, copies.points(self.order)))
        return replace(self, copies=copies, staged=staged, alone=alone, inner=inner)

    def aligned(self, elements: int) -> KernelShape:
        """See Shape."""
        return replace(self, staged=tuple(replace(one, aligned=elements) for one in self.staged))

    def along_diagonals(self) -> KernelShape:
        """See Shape. A copy is as large as the tile of the wavefront needs."""
        copied = self.waves.copied(self.order) if self.waves else ()
        staged = tuple(StagedCopy(box, element) for box, element in copied)
        return replace(self, staged=staged, alone=(False,) * len(staged), copies=None, kept=())

    def inner_diagonals(self, size: int) -> tuple[int, ...]:
        """See Shape."""
        return self.waves.inner_tiles(self.order, size) if self.waves else ()

    def on_tensor_cores(self) -> KernelShape:
        """See Shape. The loop over the terms of a sum is that of fragments."""
        extents = self.sums.extents(self.order) if self.sums else self.extents
        return replace(
            self, extents=extents, sequential=False, staged=(), alone=(), copies=None, kept=(), diagonals=(), inner=())

    def ordered(self, order: tuple[int, ...]) -> KernelShape:
        """Return the same kernel with its parallel dimensions in another order (empty: unchanged)."""
        if not order:
            return self
        staged, alone = self.copies.ordered(order) if self.copies else ((), ())
        kept = tuple(tuple(order.index(d) for d in owned) for owned in self.kept)
        blocks = replace(self.blocks, order=order) if self.blocks else None
        updates = replace(self.updates, order=order) if self.updates else None
        return replace(self, extents=tuple(self.extents[d] for d in order), kept=kept, staged=staged, alone=alone,
                       blocks=blocks, updates=updates, order=order,
                       contraction=self.sums.ordered(order) if self.sums else None,
                       diagonals=tuple(self.diagonals[d] for d in order[:len(self.diagonals)]))

    def shared_bytes(self, tile: tuple[int, ...], inner_tile: InnerTiles, padding: int = 0, registers: bool = False,
                     copies: bool = True, private: bool = False, uncopied: tuple[str, ...] = ()) -> int:
        """Return the bytes of shared memory of a block.

        `copies`: with copies, except of `uncopied` arrays. `private`: with private updates. `registers`: partial tiles
        are padded, so copies are whole.
        """
        outer = tile if registers else tuple(min(t, e) for t, e in zip(tile, self.extents, strict=True))
        total = self.blocks.bytes(tile, inner_tile, padding) if self.blocks else 0
        total += self.updates.bytes(tile) if self.updates and private else 0
        for one in self.staged if copies else ():
            if one.box.array in uncopied:
                continue
            *rows, row = one.sizes(outer, inner_tile, tile)
            total += prod(rows) * (row + padding) * one.element
        return total


@memoized(maxsize=1024)
def kernel_shapes(program: Program, choice: Schedule,
                  language: Language = LANGUAGES["opencl"]) -> tuple[KernelShape, ...]:
    """Return the kernels of `program` under a schedule, sorted by statements; GPUs can copy more arrays (`barriers`).

    Raises:
        IllegalPlan: the scheduler gave up.
    """
    if isinstance(choice, TimeTiles):
        return (_time_shape(program, choice.steps),)
    by_matrix, kernels = isinstance(choice, Hyperplanes), kernels_of(program, choice)
    nests = {name: nest.statements for nest in launched_nests(program, choice) for name in nest.statements}
    found = list[KernelShape]()
    for one in kernels:
        shape = _shape(one.section.program, one.part, one.statements, frame_of(one.section, one.part),
                       by_matrix and is_skewed(one.part), language)
        launched = nests.get(one.part.statements[0])
        found.append(replace(shape, launched=launched) if launched else shape)
    return tuple(sorted(found, key=lambda s: s.statements))


def _time_shape(program: Program, steps: int) -> KernelShape:
    """Return the kernel that runs `steps` time steps per launch."""
    statements = tuple(sorted(statement.name for statement in program.statements))
    return KernelShape(
        statements, required_time_loop(program).extents, False, (), False, (), blocks=TimeBoxes(program, steps)
    )


@memoized(maxsize=4096)  # more than `kernel_shapes` has schedules: these share kernels
def _shape(program: Program, part: KernelPart, statements: tuple[str, ...], frame: Frame, skewed: bool,
           language: Language) -> KernelShape:
    """Return one kernel. `skewed`: barriers would be under guards, and an exact check takes long."""
    copies = BlockCopies(program, part, frame, language) if not skewed else None
    staged, alone = copies.ordered(()) if copies else ((), ())
    points = fill_points(program, part)
    computes = any(point.computed for point in points)
    if computes and not may_wait(program, part, frame, language):
        raise IllegalPlan(f"blocks cannot wait for each other's threads in the loops of {', '.join(statements)}")
    blocks = BlockStages(program, part) if computes else None
    sums = BlockSums(program, part, frame.reductions)
    rows_and_columns = _rows_and_columns(sums) if language.tensor_cores else None
    diagonals = () if frame.reductions else tuple(part.sizes[row] for row in shared_rows(part))
    return KernelShape(
        statements,
        tuple(d.extent for d in part.parallel),
        _has_loop(part.tree),
        tuple(k.owned for k in keepable(program, part)),
        bool(frame.reductions),
        staged,
        part.coarse,
        skewed,
        blocks,
        _updates(program, part, frame, skewed),
        diagonals=diagonals,
        alone=alone,
        copies=copies,
        contraction=rows_and_columns,
        sums=sums if rows_and_columns else None,
        threads=ThreadLoops(program, part, frame.whole),
        waves=BlockWaves(program, part, frame.prefix) if diagonals else None,
        written=written_bytes(program, part, statements),
        inner=tuple(map(inner_extents, points)),
        rows=_has_loop(part.tree) and _begins_parallel(part.tree),
        summed=most_terms(program, statements),
    )


def _updates(program: Program, part: KernelPart, frame: Frame, skewed: bool) -> BlockUpdates | BlockLines | None:
    """Return what the blocks of a kernel can update privately: no lines with `skewed` loops, where the check is long.
    """
    if frame.reductions:
        private = private_updates(program, part, frame.reductions) if part.parallel else ()
        return BlockUpdates(program, part, frame.prefix, private) if private else None
    lines = () if skewed else own_lines(program, part, frame.prefix)
    return BlockLines(program, part, frame.prefix) if lines else None


def _rows_and_columns(sums: BlockSums) -> tuple[int, int] | None:
    """Return rows and columns in the schedule's order; None for a kernel whose main part is not a sum of products."""
    try:
        return sums.ordered(())
    except IllegalPlan:
        return None


def _has_loop(tree: Tree) -> bool:
    match tree:
        case Band():
            return True
        case Sequence(children=children):
            return any(_has_loop(c) for c in children)
        case _:
            return False


def _begins_parallel(tree: Tree) -> bool:
    """Return whether all outermost loops are parallel."""
    match tree:
        case Band(coincident=coincident):
            return coincident[0]
        case Sequence(children=children):
            return all(_begins_parallel(c) for c in children)
        case _:
            return True
