"""`lower`: the door from Program + Plan + Target to a Variant."""

from __future__ import annotations

from generator.emit.kernel import preamble
from generator.errors import IllegalPlan
from generator.lowering.host import host_of
from generator.lowering.kernel import LoweredKernel, lower_kernel
from generator.lowering.placement import place, placements
from generator.lowering.registers import LANES
from generator.nest import Shuffle, walk
from generator.plan import KernelPlan, Plan
from generator.polyhedral.sections import SectionKernel, kernels_of
from generator.program import Program
from generator.target import Target
from generator.variant import Variant


def lower(program: Program, plan: Plan, target: Target) -> Variant:
    """The Variant of `program` that `plan` describes, legal by the exact check and within the target's limits.

    Raises:
        IllegalPlan: the plan does not fit the program, breaks a dependence or exceeds a limit.
    """
    found = kernels_of(program, plan.schedule)
    placed = placements(program, plan, target)
    lowered = []
    for number, (one, kernel_plan) in enumerate(zip(found, match_kernels(found, plan), strict=True)):
        check_block(kernel_plan, target)
        kernel = lower_kernel(one, number, kernel_plan, target.dialect)
        if kernel.kernel.local_bytes > target.local_bytes:
            raise IllegalPlan(f"the shared copies of {_called(kernel)} need {kernel.kernel.local_bytes} bytes of local "
                              f"memory; {target.name} has {target.local_bytes}")
        if target.sub_group < LANES and any(isinstance(node, Shuffle) for node in walk(kernel.body)):
            raise IllegalPlan(f"{_called(kernel)} combines by shuffles, which {target.name} has not; use shared or atomic")
        lowered.append(place(kernel, program, placed, kernel_plan, target))
    host = host_of(program, plan.schedule, [k.grid for k in lowered])
    used = [p for p in placed if any(p in k.kernel.placements for k in lowered)]
    text = preamble(program, [k.body for k in lowered], target.dialect, used)
    return Variant(plan, target.dialect, text, tuple(k.kernel for k in lowered), host)


def match_kernels(parts: tuple[SectionKernel, ...], plan: Plan) -> tuple[KernelPlan, ...]:
    """The plan of each kernel in launch order. Raises IllegalPlan when plan and schedule name other kernels."""
    have = sorted(part.statements for part in parts)
    given = sorted(kernel.statements for kernel in plan.kernels)
    if have != given:
        raise IllegalPlan(f"this schedule has the kernels {_names(have)} but the plan describes {_names(given)}")
    return tuple(plan.kernel(part.statements) for part in parts)


def check_block(plan: KernelPlan, target: Target) -> None:
    """Raise IllegalPlan when a thread block is larger than the device allows."""
    threads = 1
    for size, limit in zip(reversed(plan.block), target.max_block, strict=False):
        threads *= size
        if size > limit:
            raise IllegalPlan(f"block {plan.block} of {', '.join(plan.statements)}: {size} threads in one dimension, "
                              f"{target.name} allows {limit}")
    if threads > target.max_threads:
        raise IllegalPlan(f"block {plan.block} of {', '.join(plan.statements)} has {threads} threads; "
                          f"{target.name} allows {target.max_threads}")


def _called(kernel: LoweredKernel) -> str:
    return f"{kernel.kernel.name} ({', '.join(kernel.kernel.statements)})"


def _names(kernels: list[tuple[str, ...]]) -> str:
    return ", ".join("{" + ", ".join(statements) + "}" for statements in kernels)
