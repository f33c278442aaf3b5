"""The distances of the elements that neighbouring threads access, as far as subscripts tell without generated loops.

    for y: for x:  blur[y][x] = in[y][x] + in[y][x + 1];             one element: transfers are coalesced
    for y: for x:  up[y][x] = small[y / 2][min(x / 2, 99)];          at most one
    for y: for x:  down[y][x] = in[2 * y][2 * x];                    two

Start plans ask for hundreds of kernels whether transfers are coalesced and whether banks conflict. To generate these
takes a hundred times as long as to look at their subscripts.

Each subscript moves by a number in an interval from a thread to the next: `x / 2` by 0 or 1, `2 * x` by 2. The reads of
an inline stage move with the element of the stage that is computed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import inf
from typing import TypeAlias

from generator.expr import Binary, Expr, Fold, Int, Load, Name, Unary, children, loads_of, names_of, parts
from generator.lowering.analysis.shapes import kernel_shapes
from generator.plan import KernelPlan, Plan
from generator.polyhedral.kit.members import followed
from generator.polyhedral.memory.footprint import fill_points
from generator.polyhedral.pipelines.sections import kernels_of
from generator.polyhedral.pipelines.stages import reached
from generator.polyhedral.schedules.kernels import KernelPart, reordered, runs_on_a_box
from generator.program import Program, Stage, Statement, Step
from generator.schedules.time_tiles import TimeTiles
from generator.target import Language

HONOURED = ("order", "shared", "uncopied", "inner_tile", "unroll", "unrolls", "registers", "points_inside", "exchange",
            "columns", "cache", "level", "in_registers", "prologue")
"""The decisions with which neighbouring threads compute neighbouring elements one by one, also those of boxes."""


Interval: TypeAlias = tuple[float, float]
"""The least and the greatest value."""

STILL, ANYWHERE = (0.0, 0.0), (-inf, inf)


@dataclass(frozen=True, slots=True)
class Distances:
    """The most elements between two neighbours along x in one access to global and to shared memory.

    Infinite: the access leaves the row, or it is not known where it goes. Parts of subscripts that depend on data count
    as the same for all threads in shared memory, as in the static model. `own`: by statement and number, the distances
    in the accesses to global memory that threads make for their own points; None if they are not known. The others are
    those with which the block fills its boxes: they do not depend on which dimension is x.
    """

    in_global: float = inf
    in_shared: float = inf
    own: Mapping[tuple[str, int], Interval] | None = field(default=None, compare=False)

    def may_be_closer(self, other: Distances) -> bool:
        """Return whether an access to global memory may be to neighbours here, but may not be in the `other` mapping of
        the kernel.
        """
        if self.own is None or other.own is None:
            return True
        return any(most > 1 and self.own.get(access, ANYWHERE)[0] <= 1 for access, (_, most) in other.own.items())


def distances_in(program: Program, plan: Plan, language: Language,
                 wanted: Collection[tuple[str, ...]]) -> Mapping[tuple[str, ...], Distances]:
    """Return the distances in the kernels of `plan` with the statements `wanted`; none for a kernel of time steps.

    Raises IllegalPlan as `kernel_shapes`.
    """
    if isinstance(plan.scheduled, TimeTiles) or not wanted:
        return {}
    shapes, found = kernel_shapes(program, plan.scheduled, language), dict[tuple[str, ...], Distances]()
    copied = {shape.statements: shape.ordered(plan.kernel(shape.statements).order).shareable
              for shape in shapes if shape.statements in wanted and plan.kernel(shape.statements).shared}
    for one in kernels_of(program, plan.scheduled):
        if one.statements in wanted:
            kernel = plan.kernel(one.statements)
            found[one.statements] = _distances(one.section.program, one.part, kernel, copied.get(one.statements, ()))
    return found


def distances_of_points(program: Program, part: KernelPart, order: tuple[int, ...]
                        ) -> Mapping[tuple[str, int], Interval] | None:
    """Return, by statement and number, the distances in the accesses of a kernel without copies to those of the next
    point along x; None if they are not known. Unlike those of `distances_in`, its loops need not be boxes.
    """
    rows = followed(reordered(part, order).parallel[-1].member, program) if part.parallel and not part.coarse else None
    if rows is None:
        return None
    found = _walk(program, part, rows, (), ANYWHERE)
    return found.own if found.known else None


def _distances(program: Program, part: KernelPart, plan: KernelPlan, copied: Collection[str]) -> Distances:
    """Return the distances of a kernel, of which blocks copy the arrays `copied`; unknown if its loops are no boxes or
    its plan distributes elements otherwise.
    """
    if plan.besides(*HONOURED) or plan.level == "thread" or plan.block[-1:] in ((), (1,)):
        return Distances()
    return _with_copies(program, part, plan.order, frozenset(copied) - set(plan.uncopied))


@lru_cache(maxsize=1024)
def _with_copies(program: Program, part: KernelPart, order: tuple[int, ...], copied: frozenset[str]) -> Distances:
    """Return the distances of a kernel with its dimensions in another order; cached, because many plans have them."""
    part = reordered(part, order)
    rows = followed(part.parallel[-1].member, program) if not part.coarse and runs_on_a_box(part) else None
    if rows is None:
        return Distances()
    copies = frozenset(access for point in fill_points(program, part) for one in point.arrays
                       if one.array in copied for access in one.accesses) if copied else frozenset()
    found = _walk(program, part, rows, copies, ANYWHERE)
    if not found.known:
        return Distances()
    shared = found if found.in_shared < inf else _walk(program, part, rows, copies, STILL)
    return Distances(found.in_global, shared.in_shared if shared.known else inf, found.own)


def _walk(program: Program, part: KernelPart, rows: Mapping[str, str], copies: Collection[tuple[str, int]],
          data: Interval) -> _Walk:
    """Return a finished walk from the statements of a kernel, of which neighbours have the next value in `rows`."""
    names = reached(program, part.statements)
    stages = [stage for stage in program.stages if stage.array in names]
    found = _Walk(program, copies, {array: stage for stage in stages for array in stage.arrays}, data)
    for name in part.statements:
        found.follow(program.statement(name), {rows[name]: (1.0, 1.0)}, True)
    for stage in stages:
        if stage.where == "block":
            found.in_shared = max(found.in_shared, 1)
            found.compute(stage, (*(STILL for _ in program.array(stage.array).extents[1:]), (1.0, 1.0)), False)
    return found


@dataclass(slots=True)
class _Walk:
    """Follows reads from the statements of a kernel, and from its boxes, to inline stages.

    `copies`: the accesses (statement, number) to copies. `data`: by how much values from memory change. `seen`: the
    inline stages with the moves of their elements.
    """

    program: Program
    copies: Collection[tuple[str, int]]
    stages: Mapping[str, Stage]
    data: Interval
    seen: set[tuple[str, tuple[Interval, ...], bool]] = field(default_factory=set)
    own: dict[tuple[str, int], Interval] = field(default_factory=dict)
    in_global: float = 0
    in_shared: float = 0
    known: bool = True

    def compute(self, stage: Stage, element: tuple[Interval, ...], own: bool) -> None:
        """Follow the reads of a stage whose `element` moves so from a thread to the next. `own`: as in Distances."""
        if (key := (stage.steps[0].statement.name, element, own)) in self.seen:
            return
        self.seen.add(key)
        for step in stage.steps:
            moves = _iterators(step, element)
            if moves is None:  # whole lines are distributed otherwise
                self.known = False
            else:
                self.follow(step.statement, moves, own)

    def follow(self, statement: Statement, moves: Mapping[str, Interval], own: bool) -> None:
        """Add the accesses of a statement whose iterators move so from a thread to the next."""
        body = statement.body
        every = (*body.computed, body.target, *((body.guard,) if body.guard is not None else ()))
        if any(isinstance(part, Fold) for expr in every for part in parts(expr)):
            self.known = False
            return
        moves = dict(moves)
        for name, value in body.lets:
            moves[name.name] = _moved(value, moves, self.data)
        for load in (load for expr in every for load in loads_of(expr)):
            stage = self.stages.get(load.array)
            index = tuple(_moved(one, moves, self.data) for one in load.index)
            if stage is not None and stage.where == "inline":
                self.compute(stage, index, own)
                continue
            extents = self.program.array(load.array).extents
            least, most = _distance(index, extents)
            if stage is not None or (statement.name, load.access) in self.copies:
                self.in_shared = max(self.in_shared, most)
            else:
                self.in_global = max(self.in_global, most)
                if own:
                    low, high = self.own.get((statement.name, load.access), (least, most))
                    self.own[statement.name, load.access] = min(low, least), max(high, most)


def _iterators(step: Step, element: tuple[Interval, ...]) -> Mapping[str, Interval] | None:
    """Return how the iterators of a step move with the element that it computes; None if an element depends on others
    of its line, which moves.
    """
    found = dict[str, Interval]()
    for (position, _), moves in zip(step.dims, element, strict=True):
        if position >= 0:
            found[step.statement.iterators[position]] = moves
        elif moves != STILL:
            return None
    return found


def _distance(index: tuple[Interval, ...], extents: tuple[int, ...]) -> Interval:
    """Return the distance of two elements of an array whose subscripts differ by `index`: the most is infinite if they
    may be in different rows.
    """
    if not index:
        return STILL
    *outer, last = index
    far = max(-last[0], last[1])
    if all(one == STILL for one in outer):
        return (0 if last[0] <= 0 <= last[1] else min(abs(last[0]), abs(last[1]))), far
    leaves = any(low > 0 or high < 0 for low, high in outer)
    return max(0, extents[-1] - far) if leaves else 0, inf


def _moved(index: Expr, moves: Mapping[str, Interval], data: Interval) -> Interval:
    """Return by how much an expression changes when names change by `moves`, and what they load by `data`; other names
    do not change.
    """
    if all(moves.get(name, STILL) == STILL for name in names_of(index)):
        return STILL
    match index:
        case Name(name):
            return moves[name]
        case Unary("-", operand):
            low, high = _moved(operand, moves, data)
            return -high, -low
        case Binary("+", Binary("/", left, Int(2)), Binary("%", right, Int(2))) if left == right:  # rounded up
            return _divided(_moved(left, moves, data), 2)
        case Binary("+", left, right):
            (low, high), (least, most) = _moved(left, moves, data), _moved(right, moves, data)
            return low + least, high + most
        case Binary("-", left, right):
            (low, high), (least, most) = _moved(left, moves, data), _moved(right, moves, data)
            return low - most, high - least
        case Binary("min" | "max", left, right):
            one, other = _moved(left, moves, data), _moved(right, moves, data)
            return min(one[0], other[0]), max(one[1], other[1])
        case Binary("*", left, Int(factor)) | Binary("*", Int(factor), left):
            low, high = _moved(left, moves, data)
            ends = (low * factor, high * factor) if -inf < low <= high < inf else ANYWHERE
            return min(ends), max(ends)
        case Binary("/", left, Int(divisor)) if divisor > 0:
            return _divided(_moved(left, moves, data), divisor)
        case Binary("%", left, Int(divisor)) if divisor > 0:
            low, high = _moved(left, moves, data)
            most = (divisor - 1.0) * (1 if -1 <= low <= high <= 1 else 2)  # remainders of negative numbers are negative
            return -most, most
        case _:
            return data if _is_data(index, moves) else ANYWHERE


def _is_data(expr: Expr, moves: Mapping[str, Interval]) -> bool:
    """Return whether an expression changes only with values that are loaded."""
    match expr:
        case Load():
            return True
        case Name(name):
            return moves.get(name, STILL) == STILL
        case _:
            return all(_is_data(one, moves) for one in children(expr))


def _divided(moves: Interval, divisor: int) -> Interval:
    """Return by how much a quotient, rounded to whole numbers in any direction, changes with its dividend."""
    low, high = moves
    if not -inf < low <= high < inf:
        return ANYWHERE
    least, most = low // divisor, -(-high // divisor)
    return least - (least > 0), most + (most < 0)  # rounding turns at zero
