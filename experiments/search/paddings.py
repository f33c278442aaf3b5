"""Choose the padding of start plans' shared copies by the bank conflicts that the static model counts.

A search still tries all paddings on offer; only the plans that it begins with come without a guess.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias

from generator.decisions.base import Known
from generator.decisions.deciding import nearest
from generator.errors import IllegalPlan
from generator.lowering.analysis.facts import kernel_facts
from generator.lowering.analysis.shapes import kernel_shapes
from generator.plan import KernelPlan, Plan
from generator.program import Program
from generator.target import Target
from metrics.device_model import DeviceModel, device_model
from metrics.static_model import shared_efficiency

Statements: TypeAlias = tuple[str, ...]
"""The names of a kernel's statements."""
LEAST_GAIN = 0.02
"""The gain in the share of passes without conflicts for which a larger padding is chosen: it takes shared memory."""


def with_fewest_conflicts(program: Program, plan: Plan, target: Target, wide: bool) -> Plan:
    """Return `plan` with the padding of each kernel that gives the fewest bank conflicts, of those on offer.

    Unchanged: kernels on CPUs, which have no banks; kernels on tensor cores, whose fragments the model does not follow;
    kernels without a choice. `wide`: as in `Known`.
    """
    model = device_model(target)
    choices = _choices(program, plan, target, wide) if model.banks else {}
    if not choices:
        return plan
    shares = [_shares(program, plan, target, model, {name: both[n] for name, both in choices.items()}) for n in (0, 1)]
    best = dict[Statements, KernelPlan]()
    for name, both in choices.items():
        most = -1.0
        for choice, found in zip(both, shares, strict=True):
            if found.get(name, -1.0) > most + LEAST_GAIN:
                best[name], most = choice, found[name]
    return _with(plan, best)


def _choices(program: Program, plan: Plan, target: Target,
             wide: bool) -> dict[Statements, tuple[KernelPlan, KernelPlan]]:
    """Return the kernels that have a choice: without padding (or with the smallest), and with it."""
    found = {}
    for shape in kernel_shapes(program, plan.scheduled, target.dialect):
        kernel = plan.kernel(shape.statements)
        if kernel.products != "full":
            continue
        less, more = (nearest(replace(kernel, padding=n), Known(shape, target, wide))
                      for n in (0, max(1, kernel.vector)))
        if less != more and all(replace(one, padding=kernel.padding) == kernel for one in (less, more)):
            found[kernel.statements] = less, more
    return found


def _shares(program: Program, plan: Plan, target: Target, model: DeviceModel,
            chosen: Mapping[Statements, KernelPlan]) -> Mapping[Statements, float]:
    """Return the share of passes without conflicts of each of the `chosen` kernels of `plan`.

    Left out: kernels that make the plan illegal, kernels without known accesses to shared memory. The facts of a kernel
    do not depend on the others, so those of all kernels come from one plan, unless it is illegal.
    """
    try:
        facts = kernel_facts(program, _with(plan, chosen), target)
    except IllegalPlan:  # as `plan` is, or a padding takes too much room
        alone = [{name: kernel} for name, kernel in chosen.items()] if len(chosen) > 1 else []
        return ChainMap(*(dict(_shares(program, plan, target, model, one)) for one in alone))
    shares = {one.statements: shared_efficiency(one, model) for one in facts if one.statements in chosen}
    return {name: share for name, share in shares.items() if share is not None}


def _with(plan: Plan, kernels: Mapping[Statements, KernelPlan]) -> Plan:
    """Return `plan` with these kernels in place of its own."""
    return replace(plan, kernels=tuple(kernels.get(one.statements, one) for one in plan.kernels))
