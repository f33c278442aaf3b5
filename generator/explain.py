"""Every step from a Program to code, in words: what `antune explain` prints."""

from __future__ import annotations

from collections.abc import Iterator

from generator.emit.cstyle import Printer
from generator.expr import Expr
from generator.lowering import lower
from generator.lowering.shapes import KernelShape, kernel_shapes
from generator.plan import KernelPlan, Plan
from generator.polyhedral.kernels import schedule_kernels
from generator.polyhedral.model import maps, model
from generator.program import Program
from generator.target import Target
from generator.variant import HostBranch, HostLoop, HostOp, Launch


def explain(program: Program, plan: Plan, target: Target) -> str:
    """The model, the schedule, the kernels and the code of `plan`, as text for a terminal.

    Raises:
        IllegalPlan: the plan does not fit the program or breaks a dependence (named in the message).
    """
    variant = lower(program, plan, target)
    sections = (("Program", _program(program)), ("Statements", _statements(program)),
                ("Dependences", _dependences(program)), ("Schedule", _schedule(program, plan)),
                ("Kernels", _kernels(program, plan)), ("Host program", host_lines(variant.host)),
                ("Device code", variant.source.splitlines()))
    return "\n".join(line for title, lines in sections for line in (f"== {title}", *lines, ""))


def _program(program: Program) -> Iterator[str]:
    yield f"{program.name} in {program.file}"
    if program.parameters:
        yield "sizes: " + ", ".join(f"{name} = {value}" for name, value in program.parameters)
    words = {"in": "read only", "out": "written, nothing of it is read before", "inout": "read and written",
             "temp": "local to the SCoP"}
    for array in program.arrays:
        extents = "".join(f"[{n}]" for n in array.extents)
        yield f"  {array.type} {array.name}{extents}: {words[array.role]}"


def _statements(program: Program) -> Iterator[str]:
    for statement in program.statements:
        yield f"{statement.name} (line {statement.line}): {statement.text}"
        yield f"    runs for {statement.domain}"


def _dependences(program: Program) -> Iterator[str]:
    facts = model(program)
    for kind, relation in (("flow (a value is read)", facts.flow), ("order (a value is overwritten)", facts.false)):
        yield f"{kind}:" if not relation.is_empty() else f"{kind}: none"
        for dependence in maps(relation):
            yield f"    {dependence}"


def _schedule(program: Program, plan: Plan) -> Iterator[str]:
    choice = plan.schedule
    yield (f"algorithm {choice.algorithm}; SCCs {'one after the other' if choice.serialize_sccs else 'fused if legal'};"
           f" maximize band depth: {'yes' if choice.maximize_band_depth else 'no'}; outer coincidence: "
           f"{'yes' if choice.outer_coincidence else 'no'}")
    yield schedule_kernels(program, choice).schedule


def _kernels(program: Program, plan: Plan) -> Iterator[str]:
    for shape in kernel_shapes(program, plan.schedule):
        yield from _kernel(shape, plan.kernel(shape.statements))


def _kernel(shape: KernelShape, plan: KernelPlan) -> Iterator[str]:
    yield f"{{{', '.join(shape.statements)}}}"
    if not shape.extents:
        yield "    no parallel loop: runs in one thread"
    for number, (extent, tile, block) in enumerate(zip(shape.extents, plan.tile, plan.block, strict=True)):
        yield (f"    parallel dimension {number}: {extent} points, tiles of {tile}, {block} threads, "
               f"{tile // block} point(s) per thread")
    if shape.shareable:
        where = f"in shared memory ({shape.shared_bytes(plan.tile, plan.inner_tile)} bytes)" if plan.shared else \
            "left in global memory"
        yield f"    arrays worth a shared copy: {', '.join(shape.shareable)}; {where}"
    order = "inside" if plan.points_inside else "around"
    yield f"    inner tile {plan.inner_tile}, unroll {plan.unroll}, a thread's points {order} its sequential loops"


def host_lines(operations: tuple[HostOp, ...], depth: int = 0) -> Iterator[str]:
    """The host program as indented text."""
    pad = "  " * depth
    for operation in operations:
        match operation:
            case Launch(kernel, grid, iterators):
                arguments = ", ".join(_text(i) for i in iterators)
                yield f"{pad}{kernel}({arguments}) on {' x '.join(_text(n) for n in grid)} blocks"
            case HostLoop(iterator, start, condition, step, body):
                yield f"{pad}for ({iterator} = {_text(start)}; {_text(condition)}; {iterator} += {step})"
                yield from host_lines(body, depth + 1)
            case HostBranch(condition, then, otherwise):
                yield f"{pad}if ({_text(condition)})"
                yield from host_lines(then, depth + 1)
                if otherwise:
                    yield f"{pad}else"
                    yield from host_lines(otherwise, depth + 1)


def _text(expr: Expr) -> str:
    return Printer({}, {}, lambda name, arguments: f"{name}({', '.join(arguments)})").text(expr)


