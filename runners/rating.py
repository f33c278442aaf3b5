"""Rates a Plan's kernels by the static model: the metrics that travel with measured times to the explorer.

Runs in a compile worker, where the kernels are lowered already (and cached). Loads isl when first called.
"""

from __future__ import annotations

from generator.plan import Plan
from generator.program import Program
from generator.target import Target
from metrics.outcome import Ratings


def static_ratings(program: Program, plan: Plan, target: Target) -> Ratings:
    """The static model's metrics per kernel, on `target`; statements are those of the lowered kernels.

    Raises:
        IllegalPlan: the plan does not fit the program or breaks a dependence.
    """
    from generator.lowering.analysis.facts import kernel_facts
    from metrics.device_model import device_model
    from metrics.static_model import metrics_by_statements, static_metrics

    return metrics_by_statements(static_metrics(kernel_facts(program, plan, target), device_model(target)))
