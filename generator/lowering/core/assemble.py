"""`lower`: make a Variant from Program + Plan + Target."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from generator.emit.kernel import printed
from generator.emit.needs import Needs
from generator.emit.preamble import preamble
from generator.errors import IllegalPlan
from generator.lowered_kernel import LoweredKernel
from generator.lowering.core.carried import with_carried
from generator.lowering.core.host import Grid, host_of
from generator.lowering.core.idle import check_effects
from generator.lowering.core.kernel import lower_kernel
from generator.lowering.core.merged_launches import with_merged_launches
from generator.lowering.core.placement import check_used, placed_in, placements
from generator.lowering.core.texture_rows import with_texture_rows
from generator.lowering.core.time_tiles import time_kernel
from generator.nest import Barrier, Receive, Shuffle, walk
from generator.plan import KernelPlan, Plan
from generator.polyhedral.pipelines.sections import SectionKernel, kernels_of
from generator.polyhedral.pipelines.storage import laid_out
from generator.precision import LEAST_CAPABILITY
from generator.program import Array, Program
from generator.schedules.hyperplanes import Hyperplanes
from generator.schedules.time_tiles import TimeTiles
from generator.target import LANES, MOST_THREAD_BYTES, Language, Target
from generator.variant import HostOp, Kernel, Variant, kernel_name


def lower(program: Program, plan: Plan, target: Target) -> Variant:
    """Return the Variant of `program` that `plan` describes, legal by the exact check and within the target's limits.

    Raises:
        IllegalPlan: the plan does not fit the program, breaks a dependence or exceeds a limit.
    """
    lowered = launched_program(program, plan, target.language, target)
    program, _ = laid_out(program, plan.scheduled)
    placed = placements(program, plan, target)
    made = with_texture_rows(program, lowered.kernels, placed, lowered.scratch)
    kernels, needs = [], Needs()
    for number, (kernel, kernel_plan) in enumerate(zip(made.kernels, lowered.plans, strict=True)):
        name = kernel_name(number)
        _check(kernel, kernel_plan, name, target)
        here = placed_in(kernel, made.placed)
        code = printed(kernel if target.shares_host_cores else with_carried(kernel), here, target)
        needs = needs.with_those_of(code.needs)
        kernels.append(
            Kernel(
                name,
                kernel.statements,
                code.arguments,
                tuple(s.name for s in kernel.scalars),
                kernel.iterators,
                kernel.block,
                kernel.local_bytes,
                code.text,
                here,
                kernel_plan.cache,
                preamble(program, code.needs, target.dialect),
                vectors=code.vectors,
            )
        )
    check_used(placed, made.placed, needs.placements)
    first = preamble(program, needs, target.dialect)
    return Variant(plan, target.dialect, first, tuple(kernels), lowered.host, (*lowered.scratch, *made.arrays))


def _check(kernel: LoweredKernel, plan: KernelPlan, name: str, target: Target) -> None:
    """Raise IllegalPlan if a kernel needs something that the target does not have."""
    called = f"{name} ({', '.join(kernel.statements)})"
    if kernel.local_bytes > target.local_bytes:
        raise IllegalPlan(f"the shared copies of {called} need {kernel.local_bytes} bytes of local "
                          f"memory; {target.name} has {target.local_bytes}: use smaller tiles, or fewer arrays in "
                          "blocks or shared copies")
    if kernel.thread_bytes > MOST_THREAD_BYTES and not target.shares_host_cores:
        raise IllegalPlan(f"the stages and copies that a thread of {called} keeps need {kernel.thread_bytes} bytes of "
                          f"registers; a thread of {target.name} has at most {MOST_THREAD_BYTES}: use smaller tiles, "
                          "more threads, or the level `block`")
    if target.sub_group < LANES and any(isinstance(node, Shuffle) for node in walk(kernel.body)):
        raise IllegalPlan(f"{called} combines by shuffles, which {target.name} has not; use shared or atomic")
    waits = any(node == Barrier("sub-group") or isinstance(node, Receive) for node in walk(kernel.body))
    if target.sub_group < LANES and waits:
        raise IllegalPlan(f"sub-groups of {LANES} threads share the tiles of {called}; {target.name} has none")
    if plan.asynchronous and not target.copies_asynchronously:
        raise IllegalPlan(f"asynchronous copies of {called} are for NVIDIA GPUs from compute capability 8.0 on, by "
                          f"CUDA; {target.name} has none")
    if plan.products != "full" and not target.multiplies(plan.products):
        least = ".".join(map(str, LEAST_CAPABILITY[plan.products]))
        raise IllegalPlan(f"products in {plan.products} of {called} are for tensor cores of NVIDIA GPUs from compute "
                          f"capability {least} on, by CUDA; {target.name} has none")
    if plan.cache != "none" and not target.language.cache_preference:
        raise IllegalPlan(f"the cache configuration {plan.cache} of {', '.join(plan.statements)} is for CUDA devices; "
                          f"{target.name} has none")


@dataclass(frozen=True, slots=True)
class LoweredProgram:
    """All kernels of a plan in launch order, each with its part of the plan; the host program; scratch arrays."""

    kernels: tuple[LoweredKernel, ...]
    plans: tuple[KernelPlan, ...]
    host: tuple[HostOp, ...]
    scratch: tuple[Array, ...] = ()


def lowered_program(program: Program, plan: Plan, language: Language, target: Target | None = None) -> LoweredProgram:
    """Return the kernels of `plan`, every array in global memory; with a `target`, blocks are within its limits.

    Raises:
        IllegalPlan: the plan does not fit the program, breaks a dependence or has blocks that are too large.
    """
    if isinstance(plan.schedule, TimeTiles):
        return _time_tiles(program, plan, plan.schedule, language, target)
    found = kernels_of(program, plan.scheduled)
    plans = match_kernels([one.statements for one in found], plan)
    lowered = []
    for one, kernel_plan in zip(found, plans, strict=True):
        check_block(kernel_plan, target)
        lowered.append(_lowered(one, kernel_plan, language, isinstance(plan.schedule, Hyperplanes)))
    return LoweredProgram(tuple(lowered), plans, host_of(program, plan.scheduled, [k.launched_at for k in lowered]))


def some_kernels(
    program: Program, plan: Plan, language: Language, wanted: Collection[tuple[str, ...]]
) -> tuple[Mapping[int, LoweredKernel], tuple[HostOp, ...]]:
    """Return the kernels of `plan` with the statements `wanted`, by number, and the host program, in which launches of
    others have no grid.

    Raises IllegalPlan as `lowered_program`, but not for the other kernels.
    """
    if isinstance(plan.schedule, TimeTiles):
        lowered = lowered_program(program, plan, language)
        return {number: one for number, one in enumerate(lowered.kernels) if one.statements in wanted}, lowered.host
    found = kernels_of(program, plan.scheduled)
    plans = match_kernels([one.statements for one in found], plan)
    made = {number: _lowered(one, kernel_plan, language, isinstance(plan.schedule, Hyperplanes))
            for number, (one, kernel_plan) in enumerate(zip(found, plans, strict=True)) if one.statements in wanted}
    grids: list[Grid] = [made[number].launched_at if number in made else lambda _: () for number in range(len(found))]
    return made, host_of(program, plan.scheduled, grids)


def _lowered(one: SectionKernel, plan: KernelPlan, language: Language, by_matrix: bool) -> LoweredKernel:
    """Return one kernel. `by_matrix`: the plan has its schedule matrix. Raises IllegalPlan as `lowered_program`."""
    made = lower_kernel(one, plan, language)
    if by_matrix:
        check_effects(one, plan, made, lambda other: lower_kernel(one, other, language))
    return made


def launched_program(
    program: Program, plan: Plan, language: Language, target: Target | None = None
) -> LoweredProgram:
    """Return `lowered_program` with independent launches of a kernel as one launch. Raises IllegalPlan as that."""
    lowered = lowered_program(program, plan, language, target)
    if isinstance(plan.schedule, TimeTiles):
        return lowered
    kernels, host = with_merged_launches(kernels_of(program, plan.scheduled), lowered.kernels, lowered.host)
    return replace(lowered, kernels=kernels, host=host)


def _time_tiles(
    program: Program, plan: Plan, schedule: TimeTiles, language: Language, target: Target | None
) -> LoweredProgram:
    plans = match_kernels([tuple(sorted(s.name for s in program.statements))], plan)
    check_block(plans[0], target)
    made = time_kernel(program, schedule, replace(plans[0], cache="none"), language)
    return LoweredProgram((made.lowered,), plans, made.host, made.scratch)


def match_kernels(kernels: Sequence[tuple[str, ...]], plan: Plan) -> tuple[KernelPlan, ...]:
    """Return the plan of each kernel, by its statements. Raises IllegalPlan if plan and schedule have other kernels."""
    have = sorted(kernels)
    given = sorted(kernel.statements for kernel in plan.kernels)
    if have != given:
        raise IllegalPlan(f"this schedule has the kernels {_names(have)} but the plan describes {_names(given)}")
    return tuple(plan.kernel(statements) for statements in kernels)


def check_block(plan: KernelPlan, target: Target | None) -> None:
    """Raise IllegalPlan if a thread block is larger than the device allows."""
    if target is None:
        return
    threads = 1
    for size, limit in zip(reversed(plan.block), target.max_block, strict=False):
        threads *= size
        if size > limit:
            raise IllegalPlan(f"block {plan.block} of {', '.join(plan.statements)}: {size} threads in one dimension, "
                              f"{target.name} allows {limit}")
    if threads > target.max_threads:
        raise IllegalPlan(f"block {plan.block} of {', '.join(plan.statements)} has {threads} threads; "
                          f"{target.name} allows {target.max_threads}")


def _names(kernels: list[tuple[str, ...]]) -> str:
    return ", ".join("{" + ", ".join(statements) + "}" for statements in kernels)
