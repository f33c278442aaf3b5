"""Save memory when tens of thousands of results are loaded: equal parts become one object."""

from __future__ import annotations

from dataclasses import fields, replace

from generator.plan import KernelPlan, Plan
from graph.interning import Interning
from metrics.outcome import KernelTime, Outcome, Timed


def compact_plan(plan: Plan, interning: Interning) -> Plan:
    """Return an equal plan that shares its schedule, its placement and the parts of its kernels with other plans."""
    return replace(plan, schedule=interning.shared(plan.schedule), placement=interning.shared(plan.placement),
                   kernels=tuple(_kernel(kernel, interning) for kernel in plan.kernels))


def _kernel(kernel: KernelPlan, interning: Interning) -> KernelPlan:
    return KernelPlan(**{field.name: interning.shared(getattr(kernel, field.name)) for field in fields(kernel)})


def compact_outcome(outcome: Outcome, interning: Interning) -> Outcome:
    """Return an equal outcome that shares the names of kernels and metrics with other outcomes."""
    if not isinstance(outcome, Timed):
        return outcome
    return replace(outcome, kernels=tuple(_time(kernel, interning) for kernel in outcome.kernels))


def _time(kernel: KernelTime, interning: Interning) -> KernelTime:
    metrics = tuple((interning.shared(name), value) for name, value in kernel.metrics)
    return replace(kernel, statements=interning.shared(kernel.statements), metrics=metrics)
