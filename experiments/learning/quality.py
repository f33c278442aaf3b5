"""How well models rank measured plans: Spearman's rank correlation of predicted and measured times, and the regret (1:
none) of the plan that is predicted to be the fastest, and of the best of the five that are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from experiments.learning.collect import program_at
from experiments.learning.dataset import Pipeline, pipelines
from experiments.learning.recording import Measured
from experiments.search.costs import find_model, predicted
from metrics.costs.agreement import rank_correlation, regret
from metrics.costs.base import Cost
from metrics.costs.device import CostDevice
from metrics.costs.learned.ensemble import predicted_plans
from metrics.costs.learned.network import Weights
from runners.base import DeviceInfo

FEW = 5
"""The number of plans that are measured if the first one is not trusted."""


@dataclass(frozen=True, slots=True)
class Quality:
    """How well a model ranks the plans of some pipelines: means over these; regrets as a geometric mean.

    `regret` of the plan with the lowest cost, `of_few` of the best of the FEW lowest.
    """

    rank: float
    regret: float
    of_few: float


def read_pipelines(measured: Sequence[Measured], device: CostDevice) -> list[Pipeline]:
    """Return all pipelines; print a line for every tenth."""
    found = []
    for one in pipelines(measured, device):
        found.append(one)
        if len(found) % 10 == 0:
            print(f"{len(found)} pipelines, {sum(len(known.plans) for known in found)} plans read", flush=True)
    return found


def predicted_times(members: Sequence[Weights], caution: float, some: Sequence[Pipeline]) -> list[list[float]]:
    """Return the times of the plans of each pipeline, as the members of an ensemble predict them."""
    return [[*map(float, predicted_plans(members, caution, one.batch))] for one in some]


def by_sioutas(one: Pipeline, device: DeviceInfo) -> list[float]:
    """Return the costs by Sioutas' model; infinite if it refuses."""
    program, model = program_at(one.origin), find_model("sioutas", device.target)
    costs = [predicted(program, plan.plan, device.target, model) for plan in one.plans]
    return [cost.number if isinstance(cost, Cost) else float("inf") for cost in costs]


def quality(costs: Sequence[Sequence[float]], some: Sequence[Pipeline]) -> Quality:
    """Return how well these costs of the plans of each pipeline rank them."""
    times = [[float(ms) for ms in one.batch.plan_ms] for one in some]
    ranks = [rank_correlation(mine, ms) for mine, ms in zip(costs, times, strict=True)]
    regrets = [regret(mine, ms) for mine, ms in zip(costs, times, strict=True)]
    few = [regret_of_few(mine, ms, FEW) for mine, ms in zip(costs, times, strict=True)]
    return Quality(float(np.mean(ranks)), float(np.exp(np.mean(np.log(regrets)))), float(np.exp(np.mean(np.log(few)))))


def regret_of_few(costs: Sequence[float], times: Sequence[float], count: int) -> float:
    """Return the time of the best of the `count` plans with the lowest costs, over that of the best of all."""
    first = sorted(range(len(costs)), key=lambda k: costs[k])[:count]
    return min(times[k] for k in first) / min(times)


def show(title: str, model: str, costs: Sequence[Sequence[float]], some: Sequence[Pipeline]) -> None:
    """Print a line."""
    found = quality(costs, some)
    print(f"{title:25} {model:10} rank correlation {found.rank:5.2f}, regret {found.regret:5.2f}, of the best of {FEW} "
          f"{found.of_few:5.2f}")
