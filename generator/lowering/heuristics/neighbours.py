"""The parallel dimension of a kernel that should be x, so that neighbouring threads access neighbours in memory.

PPCG takes the innermost one, and so does every schedule here. That is wrong if the source runs along columns, as in
gramschmidt and symm.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

from generator.decisions.size_lists import Sizes
from generator.errors import IllegalPlan
from generator.facts import KernelFacts
from generator.lowering.analysis.along_rows import distances_in
from generator.lowering.analysis.facts import some_facts
from generator.lowering.analysis.shapes import kernel_shapes
from generator.plan import KernelPlan, Plan
from generator.program import Program
from generator.target import LANES, Language, Target

Statements: TypeAlias = tuple[str, ...]
Orders: TypeAlias = tuple[Sizes, ...]


def neighbours_along_x(program: Program, plan: Plan, target: Target,
                       wanted: Collection[Statements] | None = None) -> Plan:
    """Return `plan` with the x dimension of each kernel (in `wanted`, if given) that has the fewest uncoalesced
    transfers.

    Only kernels with uncoalesced transfers are examined, and only a dimension that is better than the schedule's is
    taken. Any parallel dimension that fills half a warp may be x, so all that fit the device are tried; also a shorter
    one, unless the schedule's is longer: lanes would be idle, and three colours share few transfers. Not tried are
    those along which no transfer can be closer, as subscripts tell. If one of these kernels is illegal, the plan is
    returned unchanged.
    """
    extents = {shape.statements: shape.extents for shape in kernel_shapes(program, plan.scheduled, target.language)}
    orders = _promising(program, plan, target.language, {
        statements: found for statements, sizes in extents.items()
        if (wanted is None or statements in wanted) and (found := _orders(sizes))})
    if not orders:
        return plan
    try:
        every = some_facts(program, plan, target, orders)
    except IllegalPlan:
        return plan
    best = {facts.statements: (spread(facts), plan.kernel(facts.statements)) for facts in every if spread(facts)}
    for others in _mapped(plan, {statements: orders[statements] for statements in best}):
        for statements, facts in _facts_of(program, plan, target, others).items():
            if spread(facts) < best[statements][0]:
                best[statements] = spread(facts), others[statements]
    return _with_kernels(plan, {statements: kernel for statements, (_, kernel) in best.items()})


def _promising(program: Program, plan: Plan, language: Language, orders: Mapping[Statements, Orders]
               ) -> Mapping[Statements, Orders]:
    """Return those of the `orders` in which transfers may be closer than in the kernels of `plan`; none of those whose
    neighbours are close already.
    """
    near = distances_in(program, plan, language, orders)
    left = {statements: found for statements, found in orders.items()
            if statements not in near or near[statements].in_global > 1}
    closer: dict[Statements, Orders] = {}
    for others in _mapped(plan, left):
        there = distances_in(program, _with_kernels(plan, others), language, others)
        for statements, kernel in others.items():
            if statements not in there or there[statements].may_be_closer(near[statements]):
                closer[statements] = (*closer.get(statements, ()), kernel.order)
    return {statements: closer[statements] for statements in orders if statements in closer}


def _mapped(plan: Plan, orders: Mapping[Statements, Orders]) -> Iterator[Mapping[Statements, KernelPlan]]:
    """Yield the kernels of `plan` with their first orders, then those that have a second one with that, and so on."""
    for place in range(max(map(len, orders.values()), default=0)):
        yield {statements: replace(plan.kernel(statements), order=found[place])
               for statements, found in orders.items() if place < len(found)}


def spread(facts: KernelFacts) -> float:
    """Return transfers per thread between the kernel and global memory that neighbours along x do not share."""
    return sum(a.transfers for a in facts.accesses if a.space == "global" and not a.coalesced)


def _facts_of(program: Program, plan: Plan, target: Target,
              others: Mapping[Statements, KernelPlan]) -> Mapping[Statements, KernelFacts]:
    """Return the facts of the kernels `others` in `plan`, as far as they fit the device.

    The orders of kernels are independent, so all are lowered at once. If one is illegal (shared copies of other arrays,
    whose barriers its loops do not allow), the others are lowered one by one.
    """
    try:
        found = some_facts(program, _with_kernels(plan, others), target, others)
    except IllegalPlan:
        alone = [_facts_of(program, plan, target, {one: others[one]}) for one in others] if len(others) > 1 else []
        return {statements: facts for known in alone for statements, facts in known.items()}
    return {facts.statements: facts for facts in found if facts.local_bytes <= target.local_bytes}


def _orders(extents: tuple[int, ...]) -> Orders:
    """Return permutations that move another dimension of these to the end and keep the order of the rest."""
    count = len(extents)
    return tuple((*(d for d in range(count) if d != x), x) for x in reversed(range(count - 1))
                 if extents[x] >= min(LANES // 2, extents[-1]))


def _with_kernels(plan: Plan, others: Mapping[Statements, KernelPlan]) -> Plan:
    return replace(plan, kernels=tuple(others.get(kernel.statements, kernel) for kernel in plan.kernels))
