"""Every step from a Program to code, in words: what `antune explain` prints."""

from __future__ import annotations

from collections.abc import Iterator

from generator.decisions.deciding import kernel_words
from generator.decisions.size_lists import smallest_inner
from generator.emit.cstyle import c_text
from generator.errors import IllegalPlan
from generator.expr import Expr, Int, Name
from generator.lowering import lower
from generator.lowering.analysis.block_parts import BlockStages
from generator.lowering.analysis.parallelism import parallelism
from generator.lowering.analysis.shapes import KernelShape, kernel_shapes
from generator.lowering.core.placement import placeable, stage_textures
from generator.plan import KernelPlan, Plan
from generator.polyhedral.dependences.model import maps, model
from generator.polyhedral.dependences.reductions import reducible
from generator.polyhedral.dependences.violation import describe_dependence
from generator.polyhedral.pipelines.sections import sections
from generator.polyhedral.schedules.kernels import schedule_kernels
from generator.polyhedral.schedules.partition import level
from generator.polyhedral.time.time_steps import overlap, required_time_loop, time_tiling
from generator.program import Program
from generator.schedules.choice import ScheduleChoice, choice_lines
from generator.schedules.hyperplanes import Hyperplanes, hyperplanes_lines
from generator.schedules.partition import Partition, partition_lines
from generator.schedules.schedule import serial_of
from generator.schedules.stages import Stages, stages_lines
from generator.schedules.time_tiles import TimeTiles
from generator.target import Target
from generator.variant import HostBranch, HostLoop, HostOp, Launch


def explain(program: Program, plan: Plan, target: Target) -> str:
    """Return the model, the schedule, the kernels and the code of `plan`, as text for a terminal.

    Raises:
        IllegalPlan: the plan does not fit the program or breaks a dependence (named in the message).
    """
    variant = lower(program, plan, target)
    sections = (("Program", _program(program)), ("Statements", _statements(program)),
                ("Dependences", _dependences(program)),
                ("Strongly connected components", _components(program, plan)), ("Schedule", _schedule(program, plan)),
                ("Memory", _memory(program, plan, target)), ("Kernels", _kernels(program, plan, target)),
                ("Parallelism", _parallelism(program, plan)),
                ("Host program", host_lines(variant.host)),
                ("Device code", variant.source.splitlines()))
    return "\n".join(line for title, lines in sections for line in (f"== {title}", *lines, ""))


def why(program: Program, plan: Plan, target: Target) -> str:
    """Say whether `plan` is legal; if not, name the broken rule, and the dependence with its location in the source."""
    try:
        variant = lower(program, plan, target)
    except IllegalPlan as error:
        lines = [f"The plan is illegal: {error}"]
        if error.dependence is not None:
            lines += [f"  {line}" for line in describe_dependence(program, error.dependence)]
        return "\n".join(lines)
    return (f"The plan is legal: its {len(variant.kernels)} kernel(s) respect every dependence and the limits of "
            f"{target.name}.")


def _program(program: Program) -> Iterator[str]:
    yield f"{program.name} in {program.file}"
    if program.parameters:
        yield "sizes: " + ", ".join(f"{name} = {value}" for name, value in program.parameters)
    words = {"in": "read only", "out": "written, nothing of it is read before", "inout": "read and written",
             "temp": "local to the SCoP"}
    for array in program.arrays:
        extents = "".join(f"[{n}]" for n in array.extents)
        along = f"; expanded along {', '.join(array.expanded)} (its values never cross these loops)"
        yield f"  {array.type} {array.name}{extents}: {words[array.role]}{along if array.expanded else ''}"


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
    match plan.schedule:
        case ScheduleChoice():
            yield from choice_lines(plan.schedule)
        case Partition():
            yield from partition_lines(plan.schedule)
        case Hyperplanes():
            yield from hyperplanes_lines(plan.schedule, program)
        case Stages():
            yield from stages_lines(plan.schedule)
        case TimeTiles():
            yield from _time_tiles(program, plan.schedule)
            return
    if plan.scheduled.reductions:
        yield f"updates in any order (parallel reductions): {', '.join(plan.scheduled.reductions)}"
    if serial := serial_of(plan.scheduled):
        yield f"loops that run in one thread, not on the host: those of {', '.join(serial)}"
    for section in sections(program, plan.schedule):
        yield schedule_kernels(section.program, section.schedule).schedule


def _time_tiles(program: Program, schedule: TimeTiles) -> Iterator[str]:
    """Describe the elements that a block computes in addition to its tile."""
    loop = required_time_loop(program)
    around, tiling = overlap(loop, schedule.steps), time_tiling(loop, schedule.steps)
    yield f"{loop.count} time steps in {tiling.chunks} launches of at most {tiling.most}; blocks hold overlapped tiles:"
    for name, margin in around.arrays:
        kept = "from launch to launch" if name in loop.carried else (
            "within a time step; what nobody writes of it is read where it is")
        around_it = " x ".join(f"{low} + {high}" for low, high in margin)
        yield f"    {name}: a tile and {around_it} elements around it; its values matter {kept}"
    for sweep, margin in zip(loop.sweeps, around.sweeps, strict=True):
        reach = " x ".join(f"({low} + {a} left) + ({high} + {b} left)"
                           for (low, high), (a, b) in zip(margin, around.slope, strict=True))
        yield (
            f"    {sweep.statement.name} computes a tile and {reach} elements around it, with `left` time steps of "
            "the launch to come"
        )


def _yes(flag: bool) -> str:
    return "yes" if flag else "no"


def _components(program: Program, plan: Plan) -> Iterator[str]:
    """The strongly connected components, and what runs in parallel in each of them alone."""
    if isinstance(plan.schedule, Stages):  # slow for a hundred stages, and nobody asks
        yield "the plan goes stage by stage"
    else:
        found = level(program, plan.scheduled.reductions, ())
        for number, component in enumerate(found.components):
            after = sorted({a for a, b in found.before if b == number})
            order = f"; after {', '.join(str(a) for a in after)}" if after else ""
            yield f"{number}: {', '.join(component.statements)}; {component.parallel} parallel loop(s) outermost{order}"
    names = reducible(program)
    yield f"reductions (their updates may change places): {', '.join(names) or 'none'}"


def _memory(program: Program, plan: Plan, target: Target) -> Iterator[str]:
    """Describe the arrays that need not be in global memory, and their chosen memories."""
    chosen = dict(plan.placement)
    found = placeable(program, target)
    for one in found:
        others = [memory for memory in ("global", *one.memories) if memory != chosen.get(one.array, "global")]
        yield (f"{one.array} ({one.bytes} bytes, only read): {chosen.get(one.array, 'global')} memory; possible "
               f"otherwise: {', '.join(others)}")
    textures = [one for one in stage_textures(program, target) if one.array in chosen]
    yield from (f"{one.array} ({one.bytes} bytes, written first): global memory, which kernels that only read it read "
                f"as a {'two-dimensional ' if chosen[one.array] == 'texture2d' else ''}texture" for one in textures)
    if not found and not textures:
        yield "all arrays in global memory: none that is only read may lie elsewhere on this device"


def _kernels(program: Program, plan: Plan, target: Target) -> Iterator[str]:
    for shape in kernel_shapes(program, plan.scheduled, target.language):
        yield from _kernel(program, shape, plan.kernel(shape.statements))


def _kernel(program: Program, shape: KernelShape, plan: KernelPlan) -> Iterator[str]:
    shape = _turned(shape.ordered(plan.order), plan)
    yield f"{{{', '.join(shape.statements)}}}"
    if not shape.extents:
        yield "    no parallel loop: runs in one thread"
    if plan.order:
        order = ", ".join(map(str, plan.order))
        yield f"    its parallel dimensions in the order {order} of the schedule; the last is x"
    yield from _dimensions(shape, plan)
    if shape.shareable:
        size = shape.shared_bytes(plan.tile, plan.inner_tile, plan.padding, plan.registers, uncopied=plan.uncopied)
        twice = "twice " if plan.asynchronous else ""
        rows = f"rows of {', '.join(plan.swizzled)} swizzled" if plan.swizzled else f"rows padded by {plan.padding}"
        where = f"in shared memory ({twice}{size} bytes, {rows})" if plan.shared else \
            "left in global memory"
        yield f"    arrays worth a shared copy: {', '.join(shape.shareable)}; {where}"
        for one in shape.staged:
            box = one.sizes(plan.tile, plan.inner_tile)
            yield f"        one tile touches a box of {' x '.join(str(n) for n in box)} elements of {one.box.array}"
    if shape.computes:
        size = shape.shared_bytes(plan.tile, plan.inner_tile, plan.padding, copies=False)
        in_blocks = isinstance(shape.blocks, BlockStages)
        what = "computes stages in its blocks" if in_blocks else "runs its time steps in shared memory"
        yield f"    {what}, of several levels" if plan.levels else f"    {what}: {size} bytes of shared memory"
    yield from _loops(plan)
    if shape.kept:
        yield f"    arrays that a thread can keep in registers: {len(shape.kept)}; kept: {_yes(plan.registers)}"
    if shape.reduces:
        ways = {"atomic": "each thread updates atomically", "shared": "a block combines in shared memory",
                "shuffle": "warps combine by shuffles", "private": "a block combines in shared memory"}
        yield f"    several threads reduce into one element: {ways[plan.combine]}"
    if shape.updates:
        arrays = ", ".join(shape.updates.arrays)
        kept = "kept in shared memory" if plan.combine == "private" else "not kept"
        what = "a copy per block of what it updates of" if shape.reduces else "lines of the threads of a block of"
        yield f"    {what} {arrays}: {shape.updates.bytes(plan.tile)} bytes, {kept}"
    yield f"    decided: {', '.join(kernel_words(plan))}"


def _turned(shape: KernelShape, plan: KernelPlan) -> KernelShape:
    """Return the kernel as changed by its decisions."""
    shape = shape.walking(plan.walk) if plan.walk else shape
    shape = shape.holding(plan.whole) if plan.whole else shape
    shape = shape.along_diagonals() if plan.diagonals else shape
    shape = shape.deeper(plan.depth) if plan.depth else shape
    return shape.aligned(plan.aligned) if plan.aligned else shape


def _loops(plan: KernelPlan) -> Iterator[str]:
    """What a block does before and in its loops over steps and inner tiles."""
    if plan.whole:
        yield f"    before steps or inner tiles, a block computes all that its tile needs of {', '.join(plan.whole)}"
    for name, shared_by in plan.levels:
        yield f"    the threads of a {shared_by} compute {name} together, before each {plan.level} computes its tile"
    if plan.walk:
        yield f"    a block goes down its tile, {plan.walk} row(s) per step, and keeps rows that the next step needs"


def _dimensions(shape: KernelShape, plan: KernelPlan) -> Iterator[str]:
    """Describe the sizes of a kernel, dimension by dimension."""
    for number, (extent, tile, block) in enumerate(zip(shape.extents, plan.tile, plan.block, strict=True)):
        if plan.diagonals:
            inner = smallest_inner(plan.inner_tile)
            places = shape.inner_diagonals(inner)[number] if inner > 1 else shape.diagonals[number]
            what = f"inner tiles of {inner}" if inner > 1 else "places in the tile"
            yield (f"    parallel dimension {number}: {extent} tiles of a wavefront, one per block; {block} threads "
                   f"lie along {places} {what}")
        else:
            yield (f"    parallel dimension {number}: {extent} points, tiles of {tile}, {block} threads, "
                   f"{tile // block} point(s) per thread")


def _parallelism(program: Program, plan: Plan) -> Iterator[str]:
    """Describe how many threads have work at the same time."""
    for one in parallelism(program, plan):
        about = "" if one.exact else "at most "
        yield (f"{{{', '.join(one.statements)}}}: {about}{one.total:.0f} threads with work at the same time in each of "
               f"{one.launches} launch(es) on average, {one.threads:.1f} in each of {one.blocks:.1f} blocks")
        if (counts := one.counts) is not None and counts.least < counts.most:
            yield (f"    blocks with work per launch: {counts.least} to {counts.most}, median {counts.median:g} "
                   f"({counts.launches} launches counted)")
        if one.active is not None:
            yield f"    {one.active:.0%} of a block's threads have a point in a diagonal, on average"


def host_lines(operations: tuple[HostOp, ...], depth: int = 0) -> Iterator[str]:
    """Yield the host program as indented text."""
    pad = "  " * depth
    for operation in operations:
        match operation:
            case Launch(kernel, grid, iterators):
                arguments = ", ".join(c_text(i) for i in iterators)
                yield f"{pad}{kernel}({arguments}) on {' x '.join(map(_factor, grid))} blocks"
            case HostLoop(iterator, start, condition, step, body):
                yield f"{pad}for ({iterator} = {c_text(start)}; {c_text(condition)}; {iterator} += {step})"
                yield from host_lines(body, depth + 1)
            case HostBranch(condition, then, otherwise):
                yield f"{pad}if ({c_text(condition)})"
                yield from host_lines(then, depth + 1)
                if otherwise:
                    yield f"{pad}else"
                    yield from host_lines(otherwise, depth + 1)


def _factor(extent: Expr) -> str:
    """`8`, `(4 - j / 32)`: an extent of a grid as a factor of a product."""
    return c_text(extent) if isinstance(extent, Int | Name) else f"({c_text(extent)})"
