"""Lower one kernel: map its tree, check it exactly, generate its loops, fill in the statements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from math import prod

from generator.errors import IllegalPlan
from generator.expr import Binary, Int, Name, loads_of
from generator.lowered_kernel import LoweredKernel
from generator.lowering.core.branch_names import has_branches, with_branch_names
from generator.lowering.core.diagonals import diagonal_loops
from generator.lowering.core.fill import Filler, Filling
from generator.lowering.core.fitting import check_lanes, check_places, check_walk
from generator.lowering.core.gpu_loops import for_gpus
from generator.lowering.core.grids import countable, in_parts
from generator.lowering.core.host import host_names
from generator.lowering.core.jammed import jammed_loops, outer_dims
from generator.lowering.core.keep import KeptArrays, Threads, keep, unseen_outside
from generator.lowering.core.points import over_all_points
from generator.lowering.core.same_loops import of_same_loops, with_padding
from generator.lowering.core.split_tiles import split_body
from generator.lowering.core.staged import Staged, points_of_plan, staged_kernel
from generator.lowering.core.streams import streamed_arrays
from generator.lowering.core.sums_of_points import marked_points, with_points_in_sums
from generator.lowering.core.tensor_cores import rest_plan, tensor_kernel
from generator.lowering.core.wanted_unrolls import Named, check_unrollable, with_factors, with_wanted, without_copies
from generator.lowering.memory.alone import in_a_row, noted_alone, one_thread
from generator.lowering.memory.barriers import BarrierRefused, check_barriers, in_turn, without_last
from generator.lowering.memory.box import LocalBox
from generator.lowering.memory.computed import Computing
from generator.lowering.memory.inlined import check_length
from generator.lowering.memory.lines import lines_after, lines_before
from generator.lowering.memory.outer import Surrounding, Teams, surrounded, teams_of
from generator.lowering.memory.partial_sums import BlockSums, block_sums, combined_in_blocks
from generator.lowering.memory.private import combined, filled
from generator.lowering.memory.registers import closing, opening
from generator.lowering.memory.swizzle import with_swizzles
from generator.lowering.memory.wavefront_copies import wavefront_copies, with_copies
from generator.lowering.naming import fresh_name, loop_names, point_loops
from generator.nest import (
    Assign,
    Atomic,
    Barrier,
    Declare,
    For,
    Fragments,
    If,
    Instance,
    Node,
    Receive,
    Shuffle,
    Streamed,
    walk,
)
from generator.plan import KernelPlan
from generator.polyhedral.dependences.reductions import sums
from generator.polyhedral.kit.ast import LoopName, box_context, generate, index_filter
from generator.polyhedral.kit.memoized import memoized
from generator.polyhedral.memory.accumulate import summed
from generator.polyhedral.memory.contractions import contraction_of
from generator.polyhedral.memory.coverage import MissingLoop, check_instances, values_at
from generator.polyhedral.memory.entries import entries_of
from generator.polyhedral.memory.first_vector import from_whole_vectors
from generator.polyhedral.memory.footprint import fill_points
from generator.polyhedral.memory.loop_values import loop_values
from generator.polyhedral.memory.mapped import check_mapped
from generator.polyhedral.memory.mapping import (
    MappedKernel,
    Points,
    block_names,
    check_fits,
    map_kernel,
    point_member,
    step_tile,
    thread_names,
)
from generator.polyhedral.memory.padding import Padded, padded
from generator.polyhedral.memory.used_blocks import used_blocks
from generator.polyhedral.pipelines.sections import Section, SectionKernel
from generator.polyhedral.pipelines.stages import most_terms, reached
from generator.polyhedral.schedules.kernels import KernelPart, dimension, reordered
from generator.polyhedral.schedules.legality import indices
from generator.program import Array, Program
from generator.target import Language


def lower_kernel(kernel: SectionKernel, plan: KernelPlan, language: Language) -> LoweredKernel:
    """Return the kernel for `plan`; cached by content and returned as the same object, because walks share kernels.

    Raises:
        IllegalPlan: the plan breaks a dependence, a size rule or a barrier rule.
    """
    frame = frame_of(kernel.section, kernel.part)
    _check_length(kernel.section.program, kernel.part.statements)
    return lower_part(kernel.section.program, kernel.part, frame, replace(plan, cache="none"), language)


@lru_cache(maxsize=4096)
def _check_length(program: Program, statements: tuple[str, ...]) -> None:
    """Raise IllegalPlan as `check_length` does; cached."""
    check_length(program, statements, reached(program, statements))


@dataclass(frozen=True, slots=True)
class Frame:
    """The context of a kernel in the schedule: names of host loops, statements that reduce in parallel.

    `whole`: the kernel's program is the whole program.
    """

    prefix: tuple[str, ...]
    reductions: tuple[str, ...]
    whole: bool


def frame_of(section: Section, part: KernelPart) -> Frame:
    """Return the Frame of one of the kernels of a section."""
    prefix = tuple(loop.name for loop in host_names(section.program, section.schedule)[:len(part.prefix)])
    return Frame(prefix, tuple(name for name in section.schedule.reductions if name in part.statements), section.whole)


@lru_cache(maxsize=1024)
def lower_part(program: Program, part: KernelPart, frame: Frame, plan: KernelPlan, language: Language) -> LoweredKernel:
    """Return the kernel of `part`, without shared copies if not all threads of a block would reach their barriers.

    Raises IllegalPlan as `lower_kernel`.
    """
    try:
        return lower_exactly(program, part, frame, plan, language)
    except BarrierRefused:
        if not plan.shared:
            raise
        return lower_exactly(program, part, frame, without_copies(program, part, plan), language)


def lower_exactly(program: Program, part: KernelPart, frame: Frame, plan: KernelPlan,
                  language: Language) -> LoweredKernel:
    """Return the kernel with exactly the copies of `plan`. Raises IllegalPlan as `lower_kernel`."""
    check_walk(plan, frame.reductions)
    check_places(program, part, plan)
    part, teams = from_whole_vectors(program, reordered(part, plan.order), plan), teams_of(plan, language)
    check_lanes(plan, teams.inner)
    within = teams.plan
    if plan.products != "full":
        return finished(program, plan, teams, _on_tensor_cores(program, part, frame, plan), language)
    if plan.diagonals:
        made = _diagonals(program, part, frame, within, language)
        return in_parts(finished(program, plan, teams, made, language), part, plan.tile)
    check_fits(part, within)
    made = loops_in_teams(program, part, frame, of_same_loops(plan), language)
    around = tuple(replace(one, boxes=with_padding(one.boxes, plan)) for one in made.around)
    made = replace(made, boxes=with_padding(made.boxes, plan), around=around)
    return in_parts(finished(program, plan, teams, made, language), part, plan.tile)


@memoized(maxsize=128)
def loops_in_teams(program: Program, part: KernelPart, frame: Frame, plan: KernelPlan,
                   language: Language) -> TeamKernel:
    """Return the loops of the innermost team, checked exactly; cached, because several plans have the same ones.

    Raises IllegalPlan as `lower_kernel`.
    """
    teams = teams_of(plan, language)
    within = teams.plan
    # registers that are distinguished by inner loops are shared by the iterations of outer ones
    points, outer = points_of_plan(program, part, plan), outer_dims(within)
    mapped = map_kernel(part, within, points, summed(program, part) if plan.registers else outer)
    check_mapped(part, mapped.tree)
    if plan.in_registers:
        return _split(program, part, frame, within, mapped)
    try:
        return _generated(program, part, frame, teams, mapped, True)
    except MissingLoop:  # isl has put a condition in place of the loop over a thread's points
        return _without_registers(program, part, frame, teams, mapped)


def _on_tensor_cores(program: Program, part: KernelPart, frame: Frame, plan: KernelPlan) -> TeamKernel:
    """Return a block's kernel with its sums of products on tensor cores. Raises IllegalPlan as `tensor_kernel`."""
    found = contraction_of(program, part, frame.reductions)
    taken = {*frame.prefix, *(array.name for array in program.arrays)}
    cores, rest = tensor_kernel(found, plan, frame.prefix, taken), rest_plan(plan)
    mapped = map_kernel(found.rest, rest, fill_points(found.program, found.rest))
    check_mapped(found.rest, mapped.tree)
    made = _generated(found.program, found.rest, replace(frame, whole=False), Teams.of_block(rest), mapped, False)
    used = used_blocks(found.rest, mapped.tree, mapped.blocks, found.statement, frame.prefix)
    first = cores.body if used is None else (If(used, cores.body),)
    return replace(made, boxes=(*cores.boxes, *made.boxes), body=(*first, *cores.placed(made.body)))


def _split(program: Program, part: KernelPart, frame: Frame, plan: KernelPlan, mapped: MappedKernel) -> TeamKernel:
    """Return a warp's kernel with parts of its tile in registers. Raises IllegalPlan as `split_body`."""
    taken = {*frame.prefix, *(array.name for array in program.arrays)}
    boxes, body = split_body(program, part, plan, frame.reductions, taken)
    return TeamKernel(mapped.blocks, frame.prefix, boxes,
                      tuple(with_factors(node, plan.unroll, False) for node in body))


def _without_registers(program: Program, part: KernelPart, frame: Frame, teams: Teams,
                       mapped: MappedKernel) -> TeamKernel:
    """Return the loops without results in registers. Raises IllegalPlan as `_generated`, and for rows without loops."""
    try:
        return _generated(program, part, frame, teams, mapped, False)
    except MissingLoop as missing:
        raise IllegalPlan(f"rows together of {', '.join(part.statements)}: {missing}, because there is at most one row "
                          "per thread; use other tile or block sizes, or leave out `jam`") from missing


def _generated(program: Program, part: KernelPart, frame: Frame, teams: Teams, mapped: MappedKernel,
               registers: bool) -> TeamKernel:
    """Return the loops of the innermost team of a kernel that is known to be legal, with results in `registers` if the
    Plan uses them.

    Raises:
        MissingLoop: results cannot be kept in registers.
        IllegalPlan: a size rule or a barrier rule is broken.
    """
    plan, names = teams.plan, _loop_names(program, part, mapped, frame.prefix)
    loops = point_loops(mapped.tree, part.domain, names, mapped.several)
    taken = {*frame.prefix, *(array.name for array in program.arrays), *(n.name for n in names)}
    kept = keep(program, Threads(part, plan, mapped, frame.prefix, frame.reductions, loops, frame.whole), taken,
                registers)
    fill_up = not program.stages and unseen_outside(program, part, kept)
    whole = padded(program, part, plan, kept.elements) if fill_up else None
    larger, inside, final = program, part, mapped
    if whole:
        larger, inside = whole.program, whole.part
        final = map_kernel(inside, plan, points_of_plan(larger, inside, plan), tuple(p.dim for p in mapped.several))
    staged = staged_kernel(larger, inside, teams, taken, final, frame.prefix)
    nest = _nest(staged, plan, frame.prefix, names, jammed_loops(plan, loops, _owned(loops, kept)))
    named = Named(staged.program, staged.part, staged.mapped.tree)
    nest = with_wanted(nest, names, named, plan)
    every = bool(kept.lines) and not kept.registers
    nest = with_branch_names(nest, names, named, taken, every) if has_branches(staged.mapped.tree) else nest
    combining = block_sums(kept.registers, plan, lambda name: fresh_name(name, taken))
    computing = Computing(staged.program, (*staged.computed, *staged.around.inside(-1)), plan.block, taken)
    filling = Filling(staged.program, staged.part, plan, staged.points, staged.arrays, computing, kept.by_array,
                      kept.shared_updates, {}, sums(program, frame.reductions), kept.lines)
    nest, together = marked_points(nest, loops, plan.points_inside and most_terms(larger, part.statements) > 1)
    nodes = _full_or_partial(nest, filling, whole, plan) if whole else Filler(filling).fill(nest, {})
    nodes = with_points_in_sums(nodes, {array.name for array in program.arrays}, taken) if together else nodes
    whole_loops = plan.registers or plan.jam or bool(kept.variables) or kept.few_parts or together
    made = (with_factors(node, plan.unroll, whole_loops) for node in nodes)
    within = (*_before(kept, plan), *made, *_after(kept, plan, combining))
    body = in_turn([tuple(filled(kept.private, plan.block)), within, tuple(combined(kept.private, plan.block))],
                   [box.name for box in kept.private])
    boxes = (*staged.arrays, *staged.computed, *(one.box for one in combining), *kept.private, *kept.lines.values())
    return TeamKernel(mapped.blocks, frame.prefix, boxes, tuple(body), staged.around.filled(staged.program, taken))


def _before(kept: KeptArrays, plan: KernelPlan) -> Iterator[Node]:
    """Yield what a thread does before its loops: it declares, loads or sets what it keeps."""
    for variable in kept.variables:
        yield variable.declared
    for register in kept.registers:
        yield from opening(register)
    for box in kept.lines.values():
        yield from lines_before(box, plan)


def _after(kept: KeptArrays, plan: KernelPlan, combining: Sequence[BlockSums]) -> Iterator[Node]:
    """Yield what it does after them: it stores or combines what it keeps."""
    in_block = [one.register for one in combining]
    yield from combined_in_blocks(combining, [node for register in kept.registers if register not in in_block
                                              for node in closing(register, plan)])
    for box in kept.lines.values():
        yield from lines_after(box, plan)


def _diagonals(program: Program, part: KernelPart, frame: Frame, plan: KernelPlan, language: Language) -> TeamKernel:
    """Return the loops of a kernel whose blocks run the diagonals of a tile. Raises IllegalPlan."""
    nest = diagonal_loops(program, part, plan, frame.prefix, language.uniform_branches)
    names = {array.name for array in program.arrays}
    iterators = {node.iterator for node in walk(nest) if isinstance(node, For)}
    boxes = wavefront_copies(program, part, plan, frame.prefix, {*frame.prefix, *iterators, *names})
    computing = Computing(program, (), plan.block, names)
    inside = Filler(Filling(program, part, plan, (), (), computing, {}, {}, {})).fill(nest, {})
    body = with_copies(program, tuple(with_factors(node, plan.unroll, False) for node in inside), boxes, plan.block)
    return TeamKernel(tuple(dimension.extent for dimension in part.parallel), frame.prefix, boxes, body)


def _full_or_partial(nest: tuple[Node, ...], filling: Filling, whole: Padded, plan: KernelPlan) -> tuple[Node, ...]:
    """Return the loops of a padded kernel: full tiles read unguarded, partial ones with subscripts inside the arrays.
    """
    partial = Filler(replace(filling, outside=whole.outside, computing=filling.computing.apart())).fill(nest, {})
    full = Filler(filling).fill(nest, {})
    barrier = any(isinstance(node, Barrier) for node in walk(partial))  # it must not be under a condition
    if full == partial or barrier or not whole.full_tiles:
        return partial
    inside = [Binary("<", Name(block), Int(whole.full_tiles[d]))
              for d, block in enumerate(block_names(len(plan.tile))) if d in whole.full_tiles]
    return (If(reduce(lambda a, b: Binary("&&", a, b), inside), full, partial),)


@dataclass(frozen=True, slots=True)
class TeamKernel:
    """The kernel of a team: the number of tiles per dimension (outermost first), host iterators, boxes, loops; what the
    threads around the team do before (from the inside).
    """

    tiles: tuple[int, ...]
    prefix: tuple[str, ...]
    boxes: tuple[LocalBox, ...]
    body: tuple[Node, ...]
    around: tuple[Surrounding, ...] = ()


def finished(program: Program, plan: KernelPlan, teams: Teams, made: TeamKernel, language: Language) -> LoweredKernel:
    """Return the kernel in blocks.

    Raises IllegalPlan if not all threads of a team reach its barriers, loops with barriers are to be unrolled although
    the language does not allow it, or rows cannot be swizzled.
    """
    team = teams.inner
    if team.level != "thread":
        check_barriers(made.body, thread_names(len(plan.block)), language.uniform_branches)
    body, shared = team.in_blocks(made.body, made.boxes, made.tiles)
    body = noted_alone(body) if team.level == "thread" else body
    body, outer = surrounded(team, body, made.tiles, made.around)
    shared = (*outer, *shared)
    if prod(plan.block) == 1:
        body = one_thread(noted_alone(body), thread_names(len(plan.block)), (*made.boxes, *outer))
        shared = tuple(in_a_row(box) for box in shared)
    body, shared = for_gpus(program, body, shared, plan, made.prefix)
    body = with_swizzles(body, shared if prod(plan.block) > 1 else (), plan)
    if language.unrolled_barriers:  # the text for CPUs keeps them: PoCL cuts kernels into parts there
        body = without_last(body, [box.name for box in shared])
    check_unrollable(body, plan, language)
    used = _used_arrays(program, body)
    comments = tuple(program.statement(name).text for name in plan.statements)
    kernel = LoweredKernel(plan.statements, comments, tuple(a for a in used if not a.by_value),
                           tuple(a for a in used if a.by_value), made.prefix, tuple(reversed(plan.block)) or (1,),
                           teams.grid(made.tiles), body, shared, plan.columns,
                           streamed=streamed_arrays(program, plan, body),
                           thread_bytes=sum(box.bytes for box in made.boxes) if team.level == "thread" else 0)
    return countable(kernel, language.most_blocks)


def _loop_names(program: Program, part: KernelPart, mapped: MappedKernel,
                prefix: tuple[str, ...]) -> tuple[LoopName, ...]:
    count = len(part.parallel)
    return loop_names(mapped.tree, program, (*prefix, *block_names(count), *thread_names(count)))


def _nest(staged: Staged, plan: KernelPlan, prefix: tuple[str, ...], names: tuple[LoopName, ...],
          points: Mapping[str, Mapping[Points, str]]) -> tuple[Node, ...]:
    """Return the loops of one thread, for given host iterators, block and thread indices.

    `points` (by statement): names of loops whose values must be those of the points, which is checked.
    """
    part, mapped = staged.part, staged.mapped
    ranges = [dimension(member, part.domain) for member in part.prefix]
    bounds = [(name, d.low, d.high) for name, d in zip(prefix, ranges, strict=True)]
    count = len(part.parallel)
    bounds += [(name, 0, n - 1) for name, n in zip(block_names(count), mapped.blocks, strict=True)]
    bounds += [(name, 0, b - 1) for name, b in zip(thread_names(count), plan.block, strict=True)]
    domain = part.domain
    if prefix:
        domain = domain.intersect(index_filter(part.prefix, prefix))
    nest = over_all_points(generate(mapped.tree, domain, box_context(bounds), names, part.coarse), points)
    numbers = [p for p in mapped.several if any(p in loops for loops in points.values())]
    places = (*part.prefix, *indices(mapped.tree, "block"), *indices(mapped.tree, "thread"),
              *(point_member(part.parallel[p.dim], step_tile(plan.tile, plan.walk)[p.dim], p) for p in numbers))
    checked = {name: tuple(loops[p] for p in numbers) for name, loops in points.items()}
    check_instances(nest, bounds, values_at(places, part.domain), checked,
                    loop_values(mapped.tree, part.domain, names), entries_of(part, plan, staged.points))
    return nest


def _used_arrays(program: Program, nodes: tuple[Node, ...]) -> list[Array]:
    """Return the program's arrays and scalars that the loops mention, in its order."""
    used: set[str] = set()
    for node in walk(nodes):
        match node:
            case Assign(target, _, value) | Atomic(target, _, value):
                used |= {load.array for expr in (target, value) for load in loads_of(expr)}
            case If(condition):
                used |= {load.array for load in loads_of(condition)}
            case For() | Barrier() | Declare() | Shuffle() | Receive() | Fragments() | Instance() | Streamed():
                pass
    return [array for array in program.arrays if array.name in used]


def _owned(loops: Mapping[str, Mapping[Points, str]], kept: KeptArrays) -> Mapping[str, Mapping[Points, str]]:
    """Return the loops over points that distinguish registers."""
    if not kept.registers and not any(variable.points for variable in kept.variables):
        return {}
    dims = {*(d for register in kept.registers for d in register.kept.owned),
            *(p.dim for variable in kept.variables for p in variable.points)}
    return {statement: {p: name for p, name in names.items() if p.dim in dims} for statement, names in loops.items()}
