"""The stages of a kernel that a warp can keep in registers and shared memory, and the overlap of their tiles.

All stages must be read at constant distances along x: then the distance alone determines the lane and the variable that
hold an element. The same holds for dimensions in which lanes have several rows; in the others, rows may depend on the
tile in any way that is the same for all (`generator.lowering.memory.tile_rows`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from generator.errors import IllegalPlan
from generator.expr import Expr, Load
from generator.lowering.core.fill import Filler, Filling
from generator.lowering.memory.computed import Computing, Entered
from generator.lowering.memory.sub_tiles import HeldStage
from generator.lowering.memory.tile_rows import Span, needed, offset_in, point
from generator.nest import Instance, Node
from generator.plan import KernelPlan
from generator.polyhedral.kit.memoized import memoized
from generator.polyhedral.memory.footprint import fill_points
from generator.polyhedral.memory.lanes import iterators_along
from generator.polyhedral.pipelines.stages import reached
from generator.polyhedral.schedules.kernels import KernelPart
from generator.program import Program, Stage

OUTPUT = ""
Find = Callable[[str, tuple[Expr, ...]], Load]
Sizes: TypeAlias = tuple[int, ...]


@dataclass
class Redirected(Computing):
    """`find` returns the elements of stages in blocks."""

    find: Find

    def kept(self, array: str, index: tuple[Expr, ...], at: Entered | None) -> Load:
        """See Computing."""
        del at
        return self.find(array, index)


@dataclass(frozen=True, slots=True, eq=False)
class Outputs:
    """The statement of a kernel, with the dimension of each of its iterators; `first` values by dimension."""

    program: Program
    part: KernelPart
    iterators: tuple[str, ...]
    first: tuple[int, ...]

    def nodes(self, plan: KernelPlan, computing: Computing) -> tuple[Node, ...]:
        """Return the nodes that compute the output at `point`."""
        statement = self.program.statement(self.part.statements[0])
        places = tuple(point(self.iterators.index(name)) for name in statement.iterators)
        filling = Filling(self.program, self.part, plan, (), (), computing, {}, {}, {})
        return Filler(filling).statement(Instance(statement.name, places), {})


def _outputs(program: Program, part: KernelPart, reductions: Sequence[str]) -> Outputs:
    """Return the statement of a kernel. Raises IllegalPlan unless it is a single plain one, on a box."""
    along = None if reductions else iterators_along(program, part)
    if along is None:
        raise _refused(part, "it runs more than one statement once per point of a box")
    return Outputs(program, part, tuple(name for name, _ in along), tuple(low for _, low in along))


@dataclass(frozen=True, slots=True)
class StageRead:
    """A stage, or the output, reads an element of another stage, at a function of its own `point`s."""

    reader: str
    array: str
    index: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class KernelReads:
    """The statement of a kernel, and all reads of stages: those of the output first, then stage by stage in reverse
    order of computation.
    """

    outputs: Outputs
    stages: tuple[StageRead, ...]


@memoized(maxsize=1024)
def kernel_reads(program: Program, part: KernelPart, reductions: tuple[str, ...]) -> KernelReads:
    """Return the reads of a kernel; all sizes of tiles have the same.

    Raises:
        IllegalPlan: it is not a kernel of one plain statement that computes stages at one place.
    """
    points = fill_points(program, part)
    if len(points) != 1 or not _stages(program, part):
        raise _refused(part, "it computes no stages at one place of its tile")
    if wrong := next((stage for stage in _stages(program, part) if stage.steps[0].nest is not None), None):
        raise _refused(part, f"it computes `{wrong.array}` together with other arrays or other elements of its line")
    own, seen = _outputs(program, part, reductions), {OUTPUT}
    found = list[StageRead]()
    for stage in (None, *reversed(_stages(program, part))):
        reader = OUTPUT if stage is None else stage.array
        if reader in seen:  # else its readers are computed where their values are needed, which is nowhere
            reads = [StageRead(reader, array, index) for array, index in _reads(own, stage)]
            seen |= {one.array for one in reads}
            found += dict.fromkeys(reads)
    return KernelReads(own, tuple(found))


def _stages(program: Program, part: KernelPart) -> list[Stage]:
    """Return the stages that the kernel computes in its tiles, in order of computation."""
    names = reached(program, part.statements)
    return [stage for stage in program.stages if stage.where == "block" and stage.array in names]


@lru_cache(maxsize=4096)
def held_stages(
    program: Program, part: KernelPart, threads: Sizes, points: Sizes, reductions: tuple[str, ...] = ()
) -> tuple[HeldStage, ...]:
    """Return the stages that a kernel computes in its tiles, in order of computation.

    `threads`: the lanes of a warp per dimension. `points`: those of each lane.

    Raises:
        IllegalPlan: lanes cannot hold them for each other; the message says why.
    """
    reads, output = kernel_reads(program, part, reductions), output_of(program, part, threads, points, reductions)
    spans, readers = {OUTPUT: output.spans}, dict[str, dict[str, None]]()
    x, last = len(threads) - 1, output.spans[-1]
    for read in reads.stages:
        found = _spans(read, spans[read.reader], threads, last)
        before = spans.get(read.array)
        if found is not None and before is not None:
            both = tuple(a.hull(b) for a, b in zip(before, found, strict=True))
            found = None if None in both else tuple(one for one in both if one is not None)
        if found is None:
            raise _refused(part, f"it reads `{read.array}` at distances that are not constant")
        spans[read.array] = found
        readers.setdefault(read.array, {})[read.reader] = None
    held = list[HeldStage]()
    for stage in _stages(program, part):
        array = stage.array
        along = [k for k, span in enumerate(spans[array]) if span.dim == x]
        if not along:
            raise _refused(part, f"`{array}` is the same for all points along x")
        if len(along) > 1:
            raise _refused(part, f"it reads `{array}` at distances that are not constant")
        if program.array(array).type == "half":
            raise _refused(part, f"`{array}` has elements of 16 bits, which are stored as other numbers")
        whole = spans[array][along[0]]
        left, right = last.low - whole.low, whole.low + whole.size - last.low - last.size
        held.append(HeldStage(array, spans[array], along[0], left, right, tuple(readers[array])))
    return tuple(held)


def output_of(
    program: Program, part: KernelPart, threads: Sizes, points: Sizes, reductions: tuple[str, ...] = ()
) -> HeldStage:
    """Return the tile of the output. A dimension with one tile and no lanes does not move.

    Raises IllegalPlan as `kernel_reads`.
    """
    tile = [n * p for n, p in zip(threads, points, strict=True)]
    count, spans, firsts = len(tile), list[Span](), kernel_reads(program, part, reductions).outputs.first
    for d, (first, size) in enumerate(zip(firsts, tile, strict=True)):
        extent = part.parallel[d].extent
        single = d < count - 1 and threads[d] == 1 and extent <= size
        spans.append(Span(None, 0, first, extent) if single else Span(d, size, first, size))
    return HeldStage(OUTPUT, tuple(spans), count - 1, 0, 0)


def _spans(read: StageRead, reader: tuple[Span, ...], threads: Sizes, x: Span) -> tuple[Span, ...] | None:
    """Return the part of each dimension that is read; None if lanes could not find it. `x`: that of the output; all
    parts along x must move as fast.
    """
    found = list[Span]()
    for index in read.index:
        try:
            span, far = needed(index, reader), offset_in(index)
        except ValueError:
            return None
        if span is None or (span.dim is not None and threads[span.dim] > 1 and far is None):
            return None
        if span.dim == x.dim and (far is None or span.hull(x) is None):
            return None
        found.append(span)
    shared_out = [span.dim for span in found if span.dim is not None and threads[span.dim] > 1]
    return tuple(found) if len(set(shared_out)) == len(shared_out) else None


def _reads(own: Outputs, stage: Stage | None) -> list[tuple[str, tuple[Expr, ...]]]:
    """Return the elements of stages that are read to compute `point` of a stage (None: of the output)."""
    seen = list[tuple[str, tuple[Expr, ...]]]()

    def find(array: str, index: tuple[Expr, ...]) -> Load:
        seen.append((array, index))
        return Load(array, index)

    computing = Redirected(own.program, (), (), set(), find)
    if stage is None:
        plan = KernelPlan(own.part.statements, (1,) * len(own.first), (1,) * len(own.first))
        own.nodes(plan, computing)
    else:
        extents = own.program.array(stage.array).extents
        computing.value(stage, tuple(map(point, range(len(extents)))), [], {}, None)
    return seen


def _refused(part: KernelPart, why: str) -> IllegalPlan:
    return IllegalPlan(f"registers of lanes cannot hold parts of the tile of {', '.join(part.statements)}: {why}")
