"""Kernels of CPUs whose points are far from each other in memory: each point runs all its loops before the next does.

    for (b ...)                                  a thread has many points b. With the loop over them inside the others,
      for (k ...) for (i ...) for (j ...)        each access is to another matrix; with it outside, one matrix stays in
        A[b][i][j] -= A[b][i][k] * A[b][k][j];   the cache until it is done
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from generator.expr import Binary, Call, Expr, Load, children, loads_of, names_of
from generator.lowering.analysis.along_rows import distances_of_points
from generator.plan import Plan
from generator.polyhedral.pipelines.sections import kernels_of
from generator.polyhedral.schedules.kernels import KernelPart
from generator.program import Program, Statement

_NEAR = 4
"""The most elements between two points of which vectors may pay."""


def one_by_one(program: Program, plan: Plan) -> Plan:
    """Return `plan` with the points outside of a kernel's loops where no access in its innermost loops is near that of
    the next point. Raises IllegalPlan if isl gives up.

    Divisions and functions take long, and so do values that depend on the one before: several of them in vectors are
    worth distant accesses.
    """
    far = {one.statements for one in kernels_of(program, plan.scheduled)
           if plan.kernel(one.statements).points_inside and not one.section.program.stages
           and _all_far(program, one.part, plan.kernel(one.statements).order)}
    kernels = (replace(one, points_inside=False) if one.statements in far else one for one in plan.kernels)
    return replace(plan, kernels=tuple(kernels)) if far else plan


def _all_far(program: Program, part: KernelPart, order: tuple[int, ...]) -> bool:
    statements = [program.statement(name) for name in part.statements]
    deepest = max(len(statement.iterators) for statement in statements)
    innermost = {one.name: one for one in statements if len(one.iterators) == deepest}
    if _passes_on(program, list(innermost.values())) or any(
            _recurs(one) or any(map(_takes_long, one.body.computed)) for one in innermost.values()):
        return False
    distances = distances_of_points(program, part, order) or {}
    moved = [least for (name, number), (least, most) in distances.items() if most > 0 and name in innermost
             and not _is_variable(program, innermost[name].accesses[number].array)]
    return bool(moved) and min(moved) > _NEAR


def _takes_long(expr: Expr) -> bool:
    """Return whether a value has divisions or functions, apart from its subscripts."""
    return (isinstance(expr, Call) or (isinstance(expr, Binary) and expr.op == "/")
            or (not isinstance(expr, Load) and any(map(_takes_long, children(expr)))))


def _recurs(statement: Statement) -> bool:
    """Return whether an element is computed from a neighbour in its array: `u[i][j] = p[j] * u[i][j + 1]`."""
    target = statement.body.target
    return any(load.array == target.array and load.index != target.index
               and all(names_of(one) == names_of(other) for one, other in zip(load.index, target.index, strict=True))
               for expr in statement.body.computed for load in loads_of(expr))


def _passes_on(program: Program, innermost: Sequence[Statement]) -> bool:
    """Return whether iterations compute from a variable that the one before sets: `y[j] = a * last; last = y[j];`."""
    read = set[str]()
    for statement in (one for one in program.statements if one in innermost):
        if statement.body.target.array in read:
            return True
        read |= {load.array for expr in statement.body.computed for load in loads_of(expr)
                 if not program.array(load.array).extents or _is_variable(program, load.array)}
        read -= {statement.body.target.array}
    return False


def _is_variable(program: Program, name: str) -> bool:
    """Return whether an array holds a variable of each iteration, which a thread keeps in a register."""
    array = program.array(name)
    return array.role == "temp" and len(array.extents) == len(array.expanded)
