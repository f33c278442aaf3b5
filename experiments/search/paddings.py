"""Choose the padding of start plans' shared copies by the bank conflicts that the static model counts.

A search still tries all paddings on offer; only the plans that it begins with come without a guess.
"""

from __future__ import annotations

from dataclasses import replace

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

LEAST_GAIN = 0.02
"""The gain in the share of passes without conflicts for which a larger padding is chosen: it takes shared memory."""


def with_fewest_conflicts(program: Program, plan: Plan, target: Target, wide: bool) -> Plan:
    """Return `plan` with the padding of each kernel that gives the fewest bank conflicts, of those on offer.

    Unchanged: kernels on CPUs, which have no banks; kernels on tensor cores, whose fragments the model does not follow;
    kernels without a choice. `wide`: as in `Known`.
    """
    model = device_model(target)
    if not model.banks:
        return plan
    for shape in kernel_shapes(program, plan.scheduled, target.dialect):
        kernel = plan.kernel(shape.statements)
        if kernel.products != "full":
            continue
        near = (nearest(replace(kernel, padding=n), Known(shape, target, wide)) for n in (0, max(1, kernel.vector)))
        choices = [one for one in dict.fromkeys(near) if replace(one, padding=kernel.padding) == kernel]
        if len(choices) > 1:
            plan = _best(program, plan, target, model, choices)
    return plan


def _best(program: Program, plan: Plan, target: Target, model: DeviceModel, choices: list[KernelPlan]) -> Plan:
    """Return `plan` with the best of the `choices` for one kernel, the smallest padding first."""
    found, most = plan, -1.0
    for choice in choices:
        changed = replace(plan, kernels=tuple(choice if one.statements == choice.statements else one
                                              for one in plan.kernels))
        try:
            facts = next(one for one in kernel_facts(program, changed, target) if one.statements == choice.statements)
        except IllegalPlan:  # as `plan` is, or the padding takes too much room
            continue
        share = shared_efficiency(facts, model)
        if share is not None and share > most + LEAST_GAIN:
            found, most = changed, share
    return found
