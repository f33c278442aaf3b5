"""Measured plans as batches for training: the features and times of their kernels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from experiments.learning.collect import program_at
from experiments.learning.database import MeasuredPlan
from experiments.learning.series import Origin
from experiments.search.costs import planned
from generator.errors import IllegalPlan
from generator.program import Program
from metrics.costs.base import PlannedKernel
from metrics.costs.device import CostDevice
from metrics.costs.learned.features import kernel_features
from metrics.costs.learned.formula import terms
from metrics.costs.learned.layout import Layout, layout_of
from metrics.costs.learned.model import counts_of
from metrics.costs.learned.training import Array, Batch

FEWEST = 8
"""The least number of plans of a pipeline in a batch (as in the paper)."""
SLOWEST = 50.0
"""Plans that take more than this times the time of their pipeline's fastest plan are left out: they say nothing about
fast plans.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """A kernel of a plan: its features, counts and terms."""

    features: Array
    counts: Array
    terms: Array


@dataclass(frozen=True, slots=True, eq=False)
class Pipeline:
    """The measured plans of a pipeline that a model can judge; `batch` has them in this order."""

    origin: Origin
    plans: tuple[MeasuredPlan, ...]
    batch: Batch


def pipelines(measured: Iterable[tuple[Origin, Sequence[MeasuredPlan]]], device: CostDevice) -> Iterator[Pipeline]:
    """Yield all pipelines with enough plans, one by one."""
    for origin, plans in measured:
        fastest = min((plan.ms for plan in plans if plan.ms is not None), default=0.0)
        near = [plan for plan in plans if plan.ms is not None and plan.ms <= SLOWEST * fastest]
        if len(near) < FEWEST:
            continue
        made = pipeline_of(program_at(origin), origin, near, device)
        if made is not None:
            yield made


def pipeline_of(program: Program, origin: Origin, plans: Sequence[MeasuredPlan], device: CostDevice) -> Pipeline | None:
    """Return the plans that can be judged, as a batch; None if there are too few."""
    known: dict[PlannedKernel, Known] = {}
    kept, kernels, times = list[MeasuredPlan](), list[tuple[int, Known]](), list[float]()
    for plan in plans:
        taken = dict(plan.kernels)
        try:
            found = planned(program, plan.plan)
        except IllegalPlan:  # of an older version
            continue
        layouts = {kernel: layout_of(kernel, device) for kernel in found if kernel not in known}
        if any(not isinstance(made, Layout) for made in layouts.values()) or {k.statements for k in found} - set(taken):
            continue
        known |= {kernel: _known(made) for kernel, made in layouts.items() if isinstance(made, Layout)}
        kernels += [(len(kept), known[kernel]) for kernel in found]
        times += [taken[kernel.statements] for kernel in found]
        kept.append(plan)
    if len(kept) < FEWEST:
        return None
    return Pipeline(origin, tuple(kept), _batch(origin, kernels, times, [plan.ms or 0.0 for plan in kept]))


def _known(made: Layout) -> Known:
    features = kernel_features(made)[0]
    return Known(features, counts_of(made), terms(features, made.device.units))


def _batch(origin: Origin, kernels: Sequence[tuple[int, Known]], times: Sequence[float],
           plan_ms: Sequence[float]) -> Batch:
    of = [np.full(len(known.features), k) for k, (_, known) in enumerate(kernels)]
    counts, kind = np.unique(np.concatenate([known.counts for _, known in kernels]), axis=0, return_inverse=True)
    return Batch(
        f"{origin.source} {origin.text}",
        counts,
        kind.reshape(-1),
        np.concatenate([known.features for _, known in kernels]),
        np.concatenate([known.terms for _, known in kernels]),
        np.concatenate(of),
        np.array([plan for plan, _ in kernels]),
        np.array(times),
        np.array(plan_ms),
    )
