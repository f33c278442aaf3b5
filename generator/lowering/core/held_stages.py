"""Which stages of a kernel a warp can keep in registers and shared memory, and how far their tiles overlap.

All stages must lie along the dimensions of the output, at constant distances from those that read them: then the lane
and the variable that hold an element follow from the distance alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from generator.errors import IllegalPlan
from generator.expr import Binary, Expr, Int, Load, Name
from generator.linear import simplify
from generator.lowering.core.fill import Filler, Filling
from generator.lowering.memory.computed import Computing, Entered
from generator.lowering.memory.sub_tiles import HeldStage
from generator.nest import Instance, Node
from generator.plan import KernelPlan
from generator.polyhedral.memory.footprint import fill_points
from generator.polyhedral.memory.lanes import iterators_along
from generator.polyhedral.pipelines.stages import reached
from generator.polyhedral.schedules.kernels import KernelPart
from generator.program import Program, Stage

OUTPUT = ""
Find = Callable[[str, tuple[Expr, ...]], Load]


def point(dim: int) -> Name:
    """A place along a dimension of the kernel, in the counting of arrays; no program has such a name."""
    return Name(f"point {dim}")


@dataclass
class Redirected(Computing):
    """Elements of stages in blocks are where `find` says."""

    find: Find

    def kept(self, array: str, index: tuple[Expr, ...], at: Entered | None) -> Load:
        """See Computing."""
        del at
        return self.find(array, index)


@dataclass(frozen=True, slots=True, eq=False)
class Outputs:
    """The statement of a kernel, with the dimension that each of its iterators counts; `first` values by dimension."""

    program: Program
    part: KernelPart
    iterators: tuple[str, ...]
    first: tuple[int, ...]

    def nodes(self, plan: KernelPlan, computing: Computing) -> tuple[Node, ...]:
        """What computes the output at `point`."""
        statement = self.program.statement(self.part.statements[0])
        places = tuple(point(self.iterators.index(name)) for name in statement.iterators)
        filling = Filling(self.program, self.part, plan, (), (), computing, {}, {}, {})
        return Filler(filling).statement(Instance(statement.name, places), {})


def outputs(program: Program, part: KernelPart, reductions: Sequence[str]) -> Outputs:
    """The statement of a kernel. Raises IllegalPlan where it is no plain one, on a box."""
    along = None if reductions else iterators_along(program, part)
    if along is None:
        raise _refused(part, "it runs more than one statement once per point of a box")
    return Outputs(program, part, tuple(name for name, _ in along), tuple(low for _, low in along))


def offset_of(index: Sequence[Expr], count: int) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The dimensions of the kernel (`count` many) along which the subscripts run, and how far from `point`, per
    dimension of the kernel. None where that is not constant.
    """
    dims, offset = list[int](), [0] * count
    for one in index:
        found = [(d, far.value) for d in range(count) if isinstance(far := simplify(Binary("-", one, point(d))), Int)]
        if not found or found[0][0] in dims:
            return None
        dims.append(found[0][0])
        offset[found[0][0]] = found[0][1]
    return tuple(dims), tuple(offset)


@lru_cache(maxsize=1024)
def held_stages(program: Program, part: KernelPart, reductions: tuple[str, ...] = ()) -> tuple[HeldStage, ...]:
    """The stages that a kernel computes in its tiles, in the order of their computation.

    Overlap: for all reads, `left >= left of the reader - offset` and `right >= right of the reader + offset`.

    Raises:
        IllegalPlan: lanes cannot hold them for each other; why not.
    """
    points, count = fill_points(program, part), len(part.parallel)
    names = reached(program, part.statements)
    stages = [stage for stage in program.stages if stage.where == "block" and stage.array in names]
    if len(points) != 1 or not stages:
        raise _refused(part, "it computes no stages at one place of its tile")
    own = outputs(program, part, reductions)
    found = {OUTPUT: HeldStage(OUTPUT, tuple(range(count)), (0,) * count, (0,) * count)}
    for stage in (None, *reversed(stages)):
        reader = found.get(OUTPUT if stage is None else stage.array)
        if reader is None:
            continue  # its readers are computed where their values are needed, which is nowhere
        for array, index in _reads(own, stage, reader):
            place = offset_of(index, count)
            if place is None or (array in found and found[array].dims != place[0]):
                raise _refused(part, f"it reads `{array}` at distances that are not constant")
            found[array] = _grown(found.get(array), array, reader, *place)
    for stage in stages:
        if count - 1 not in found[stage.array].dims:
            raise _refused(part, f"`{stage.array}` is the same for all points along x")
        if program.array(stage.array).type == "half":
            raise _refused(part, f"`{stage.array}` has elements of 16 bits, which are stored as other numbers")
    return tuple(found[stage.array] for stage in stages)


def _reads(own: Outputs, stage: Stage | None, reader: HeldStage) -> list[tuple[str, tuple[Expr, ...]]]:
    """The elements of stages that are read to compute `point` of a stage (None: of the output)."""
    seen = list[tuple[str, tuple[Expr, ...]]]()

    def find(array: str, index: tuple[Expr, ...]) -> Load:
        seen.append((array, index))
        return Load(array, index)

    computing = Redirected(own.program, (), (), set(), find)
    if stage is None:
        plan = KernelPlan(own.part.statements, (1,) * len(own.first), (1,) * len(own.first))
        own.nodes(plan, computing)
    else:
        computing.value(stage, tuple(map(point, reader.dims)), [], {}, None)
    return seen


def _grown(
    known: HeldStage | None, array: str, reader: HeldStage, dims: tuple[int, ...], offset: tuple[int, ...]
) -> HeldStage:
    """The stage with room for what `reader` reads at `offset`; a dimension that it does not have needs none."""
    count = range(len(offset))
    left = [max(0, reader.left[d] - offset[d]) if d in dims else 0 for d in count]
    right = [max(0, reader.right[d] + offset[d]) if d in dims else 0 for d in count]
    if known is None:
        return HeldStage(array, dims, tuple(left), tuple(right), (reader.array,))
    readers = known.readers if reader.array in known.readers else (*known.readers, reader.array)
    return HeldStage(array, dims, tuple(map(max, known.left, left)), tuple(map(max, known.right, right)), readers)


def _refused(part: KernelPart, why: str) -> IllegalPlan:
    return IllegalPlan(f"registers of lanes cannot hold parts of the tile of {', '.join(part.statements)}: {why}")
