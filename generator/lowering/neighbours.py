"""Which parallel dimension of a kernel should be x, so that neighbouring threads touch neighbours in memory.

PPCG takes the innermost one, and so does every schedule here. That is wrong where the source runs along columns, as in
gramschmidt and symm.
"""

from __future__ import annotations

from dataclasses import replace

from generator.errors import IllegalPlan
from generator.facts import KernelFacts
from generator.lowering.facts import kernel_facts
from generator.plan import KernelPlan, Plan
from generator.program import Program
from generator.target import Target


def neighbours_along_x(program: Program, plan: Plan, target: Target) -> Plan:
    """`plan` with the x dimension of each kernel that spreads the fewest transfers.

    Only kernels that spread any are looked at, and only a dimension that is better than the schedule's own is taken.
    Any parallel dimension may be x, so that every one that fits the device is tried. An illegal plan is left as it is.
    """
    try:
        every = kernel_facts(program, plan, target)
    except IllegalPlan:
        return plan
    for facts in every:
        kernel = plan.kernel(facts.statements)
        least = spread(facts)
        for order in _orders(len(kernel.tile)) if least else ():
            other = _with_kernel(plan, replace(kernel, order=order))
            found = _spread_of(program, other, target, kernel.statements)
            if found is not None and found < least:
                plan, least = other, found
    return plan


def spread(facts: KernelFacts) -> float:
    """Transfers per thread between the kernel and global memory that neighbours along x do not share."""
    return sum(a.transfers for a in facts.accesses if a.space == "global" and not a.coalesced)


def _spread_of(program: Program, plan: Plan, target: Target, statements: tuple[str, ...]) -> float | None:
    """`spread` of one kernel; None if it cannot be had."""
    try:
        [facts] = [f for f in kernel_facts(program, plan, target) if f.statements == statements]
    except IllegalPlan:  # other arrays want shared copies, whose barriers the loops do not allow
        return None
    return spread(facts) if facts.local_bytes <= target.local_bytes else None


def _orders(count: int) -> tuple[tuple[int, ...], ...]:
    """Permutations that put another dimension than the last one last and leave the rest as it is."""
    return tuple((*(d for d in range(count) if d != x), x) for x in reversed(range(count - 1)))


def _with_kernel(plan: Plan, kernel: KernelPlan) -> Plan:
    return replace(plan, kernels=tuple(kernel if k.statements == kernel.statements else k for k in plan.kernels))
