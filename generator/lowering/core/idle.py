"""Options of a plan by hand that change nothing in a kernel with mixed loops: refused, with the reason.

They are refused only where no search offers them and the code is the same without them. Kernels of other schedules may
have options without effect: random plans and those of earlier versions do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import TypeAlias

from generator.errors import IllegalPlan
from generator.lowered_kernel import LoweredKernel
from generator.lowering.core.wanted_unrolls import without_copies
from generator.plan import KERNEL_DECISIONS, KernelPlan
from generator.polyhedral.memory.accumulate import keepable
from generator.polyhedral.pipelines.sections import SectionKernel
from generator.polyhedral.schedules.kernels import is_skewed

Lower: TypeAlias = Callable[[KernelPlan], LoweredKernel]

_OF_COPIES = ("shared", "uncopied", "padding", "ahead", "asynchronous", "swizzled", "prologue", "depth", "aligned")
_DEFAULTS = {decision.key: decision.default for decision in KERNEL_DECISIONS}


def check_effects(one: SectionKernel, plan: KernelPlan, made: LoweredKernel, lower: Lower) -> None:
    """Raise IllegalPlan if options of `plan` have no effect on `made`, the kernel `one` of a schedule matrix."""
    if plan.diagonals or not is_skewed(one.part):
        return
    for keys, why in _never_offered(one, plan):
        wanted = [key for key in keys if getattr(plan, key) != _DEFAULTS[key]]
        if wanted and _are_idle(wanted, one, plan, made, lower):
            has, them = ("have", "them") if len(wanted) > 1 else ("has", "it")
            raise IllegalPlan(f"{', '.join(f'`{key}`' for key in wanted)} of {', '.join(plan.statements)} {has} no "
                              f"effect: {why}; leave {them} out")


def _are_idle(wanted: list[str], one: SectionKernel, plan: KernelPlan, made: LoweredKernel, lower: Lower) -> bool:
    """Return whether the kernel of `plan` is the same with the defaults of `wanted`; not if there is none with these:
    then these options make the kernel possible.
    """
    plain = without_copies(one.section.program, one.part, plan) if "shared" in wanted else plan
    try:
        return _same(made, lower(replace(plain, **{key: _DEFAULTS[key] for key in wanted})))
    except IllegalPlan:
        return False


def _same(one: LoweredKernel, other: LoweredKernel) -> bool:
    return all(getattr(one, field.name) == getattr(other, field.name) for field in fields(one))


def _never_offered(one: SectionKernel, plan: KernelPlan) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield options that no search offers for a kernel with mixed loops and these sizes, and why they may be idle."""
    yield _OF_COPIES, "with loops whose bounds depend on each other, it copies nothing to shared memory"
    yield ("inner_tile",), "a thread has no loop that could be tiled"
    if not keepable(one.section.program, one.part):
        yield ("registers",), "a thread has no elements that it could keep until its end"
    if not any(name in plan.statements for name in one.section.schedule.reductions):
        yield ("combine",), "it has no updates in any order, whose values threads could combine"
    if plan.tile == plan.block:
        yield ("points_inside",), "a thread has one point"
    if plan.vector > max(plan.run, plan.unroll):
        yield ("vector",), "a thread accesses no neighbours (`run`, `unroll`) that could be a vector"
