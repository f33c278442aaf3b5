"""The distances of the elements that neighbouring threads access, as far as subscripts tell without generated loops.

    for y: for x:  blur[y][x] = in[y][x] + in[y][x + 1];             one element: transfers are coalesced
    for y: for x:  up[y][x] = small[y / 2][min(x / 2, 99)];          at most one
    for y: for x:  down[y][x] = in[2 * y][2 * x];                    two

Start plans ask for hundreds of kernels whether transfers are coalesced and whether banks conflict. To generate these
takes a hundred times as long as to look at their subscripts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from math import inf

from generator.expr import Binary, Expr, Fold, Int, Load, Name, Unary, loads_of, parts
from generator.lowering.analysis.shapes import kernel_shapes
from generator.plan import KernelPlan, Plan
from generator.polyhedral.kit.members import followed
from generator.polyhedral.memory.footprint import fill_points
from generator.polyhedral.pipelines.sections import kernels_of
from generator.polyhedral.pipelines.stages import reached
from generator.polyhedral.schedules.kernels import KernelPart, reordered, runs_on_a_box
from generator.program import Assignment, Program, Stage, Statement
from generator.schedules.time_tiles import TimeTiles
from generator.target import Dialect

HONOURED = ("order", "shared", "uncopied", "inner_tile", "unroll", "unrolls", "registers", "points_inside", "exchange",
            "columns", "cache", "level", "in_registers", "prologue")
"""The decisions with which neighbouring threads compute neighbouring elements one by one, also those of boxes."""


@dataclass(frozen=True, slots=True)
class Distances:
    """The most elements between two neighbours along x in one access to global and to shared memory.

    Infinite: the access leaves the row, or it is not known where it goes.
    """

    in_global: float = inf
    in_shared: float = inf


def distances_in(program: Program, plan: Plan, dialect: Dialect,
                 wanted: Collection[tuple[str, ...]]) -> Mapping[tuple[str, ...], Distances]:
    """Return the distances in the kernels of `plan` with the statements `wanted`; none for a kernel of time steps.

    Raises IllegalPlan as `kernel_shapes`.
    """
    if isinstance(plan.scheduled, TimeTiles):
        return {}
    shapes, found = kernel_shapes(program, plan.scheduled, dialect), dict[tuple[str, ...], Distances]()
    copied = {shape.statements: shape.ordered(plan.kernel(shape.statements).order).shareable
              for shape in shapes if shape.statements in wanted and plan.kernel(shape.statements).shared}
    for one in kernels_of(program, plan.scheduled):
        if one.statements in wanted:
            kernel = plan.kernel(one.statements)
            found[one.statements] = _distances(one.section.program, one.part, kernel, copied.get(one.statements, ()))
    return found


def _distances(program: Program, part: KernelPart, plan: KernelPlan, copied: Collection[str]) -> Distances:
    """Return the distances of a kernel, of which blocks copy the arrays `copied`; unknown if its loops are no boxes or
    its plan distributes elements otherwise.
    """
    if plan.besides(*HONOURED) or plan.level == "thread" or plan.block[-1:] in ((), (1,)):
        return Distances()
    part = reordered(part, plan.order)
    rows = followed(part.parallel[-1].member, program) if not part.coarse and runs_on_a_box(part) else None
    if rows is None:
        return Distances()
    copies = frozenset(access for point in fill_points(program, part) for one in point.arrays
                       if one.array in copied and one.array not in plan.uncopied for access in one.accesses)
    names = reached(program, part.statements)
    stages = [stage for stage in reversed(program.stages) if stage.array in names]
    found = _Walk(copies, {array: stage for stage in stages for array in stage.arrays})
    for name in part.statements:
        found.follow(program.statement(name), rows[name], 1)
    for stage in stages:  # after all of its readers
        found.compute(stage)
    return Distances(found.in_global, found.in_shared)


@dataclass(slots=True)
class _Walk:
    """Follows reads from the statements of a kernel to its stages.

    `copies`: the accesses (statement, number) to copies. `inline`: by stage, the most elements between those that two
    neighbours compute for themselves.
    """

    copies: Collection[tuple[str, int]]
    stages: dict[str, Stage]
    inline: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    in_global: float = 0
    in_shared: float = 0

    def compute(self, stage: Stage) -> None:
        """Follow the reads of a stage: its elements are distributed over the threads, or each computes its own."""
        far = 1.0 if stage.where == "block" else max(self.inline[array] for array in stage.arrays)
        self.in_shared = max(self.in_shared, far if stage.where == "block" else 0)
        for step in stage.steps:
            position = step.dims[-1][0] if step.dims else -1
            row = step.statement.iterators[position] if position >= 0 else ""
            self.follow(step.statement, row, far if row else inf)  # whole lines are distributed otherwise

    def follow(self, statement: Statement, row: str, far: float) -> None:
        """Add the accesses of a statement in threads whose values of the iterator `row` are `far` apart."""
        body = statement.body
        every = (*body.computed, body.target, *((body.guard,) if body.guard is not None else ()))
        if far == inf or any(isinstance(part, Fold) for expr in every for part in parts(expr)):
            self.in_global = self.in_shared = inf
            return
        for load in (load for expr in every for load in loads_of(expr)):
            here = _distance(body, load, row, far)
            stage = self.stages.get(load.array)
            if stage is not None and stage.where == "inline":
                self.inline[load.array] = max(self.inline[load.array], here)
            elif stage is not None or (statement.name, load.access) in self.copies:
                self.in_shared = max(self.in_shared, here)
            else:
                self.in_global = max(self.in_global, here)


def _distance(body: Assignment, load: Load, row: str, far: float) -> float:
    """Return the distance of a load in its row; infinite if it leaves its row."""
    if any(row in body.variables(one) for one in load.index[:-1]):
        return inf
    return max((_moves(body, one, row, far) for one in load.index[-1:]), default=0)


def _moves(body: Assignment, index: Expr, row: str, far: float) -> float:
    """Return by how much a subscript changes at most when the iterator `row` changes by at most `far`."""
    if row not in body.variables(index):
        return 0
    match index:
        case Name(name):
            return far if name == row else inf
        case Unary("-", operand):
            return _moves(body, operand, row, far)
        case Binary("+", Binary("/", left, Int(2)), Binary("%", right, Int(2))) if left == right:  # rounded up
            return _steps(_moves(body, left, row, far), 2)
        case Binary("+" | "-", left, right):
            return _moves(body, left, row, far) + _moves(body, right, row, far)
        case Binary("min" | "max", left, right):
            return max(_moves(body, left, row, far), _moves(body, right, row, far))
        case Binary("*", left, Int(factor)) | Binary("*", Int(factor), left):
            part = _moves(body, left, row, far)
            return inf if part == inf else abs(factor) * part
        case Binary("/", left, Int(divisor)) if divisor > 0:
            return _steps(_moves(body, left, row, far), divisor)
        case _:
            return inf


def _steps(far: float, divisor: int) -> float:
    """Return the most that quotients by `divisor` of numbers `far` apart differ."""
    return inf if far == inf else -(-far // divisor)  # inf // 2 is NaN, less than anything for `max`
