"""Computes the metrics of a Plan's kernels with the static model; explorers get them with the measured times.

Runs in a compile worker, which has lowered the kernels already. Loads isl on the first call.
"""

from __future__ import annotations

from generator.plan import Plan
from generator.program import Program
from generator.target import Target
from metrics.outcome import Ratings


def static_ratings(program: Program, plan: Plan, target: Target) -> Ratings:
    """Return the static model's metrics per kernel on `target`; the statements are those of the lowered kernels.

    Raises:
        IllegalPlan: the plan does not fit the program or breaks a dependence.
    """
    from generator.lowering.analysis.facts import kernel_facts
    from metrics.device_model import device_model
    from metrics.static_model import metrics_by_statements, static_metrics

    return metrics_by_statements(static_metrics(kernel_facts(program, plan, target), device_model(target)))
