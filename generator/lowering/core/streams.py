"""Arrays that a kernel may write past the caches: it writes them and reads nothing of them."""

from __future__ import annotations

from generator.errors import IllegalPlan
from generator.expr import loads_of
from generator.nest import Assign, Node, expressions, walk
from generator.plan import KernelPlan
from generator.program import Program


def written_only(program: Program, statements: tuple[str, ...]) -> tuple[str, ...]:
    """Return the arrays that these statements write and, with the stages among them, do not read; sorted.

    An update (`A[i] += ..`) reads its target. Single numbers are no arrays.
    """
    own = {statement.name for statement in program.statements}
    accesses = [access for name in statements for access in program.statement(name).accesses]
    written = {program.statement(name).body.target.array for name in statements if name in own}
    read = {access.array for access in accesses if access.kind == "read"}
    return tuple(sorted(name for name in written - read if program.array(name).extents))


def streamed_arrays(program: Program, plan: KernelPlan, body: tuple[Node, ...]) -> tuple[str, ...]:
    """Return the arrays of the plan whose stores in `body` may wait until the thread has written a part of a row.

    Raises IllegalPlan for an array that the kernel reads, or does not write.
    """
    allowed = written_only(program, plan.statements)
    if wrong := [name for name in plan.streamed if name not in allowed]:
        raise IllegalPlan(f"the kernel {', '.join(plan.statements)} cannot write {wrong[0]} past the caches: it reads "
                          f"it, or does not write it; `streamed` may name {', '.join(allowed) or 'no array'}")
    read = {load.array for node in walk(body) for expr in expressions(node) for load in loads_of(expr)
            if not (isinstance(node, Assign) and expr is node.target)}
    return tuple(name for name in plan.streamed if name not in read)
