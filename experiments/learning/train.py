"""Trains the learned model: `python -m experiments.learning.train DATABASE --out MODEL.json [--epochs N] [--held-out
K]`.

Every K-th pipeline is left out of the training, and tells how good the model is there: Spearman's rank correlation of
predicted and measured times, and the regret of the plan that is predicted to be fastest (1: it is), beside those of the
formula with constant coefficients and of Sioutas' model.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from experiments.learning.collect import program_at
from experiments.learning.database import Database, device_of
from experiments.learning.dataset import Pipeline, pipelines
from experiments.learning.folder import write_model
from experiments.search.costs import find_model, predicted
from experiments.search.parts import find_device
from generator.errors import AntuneError, InputError
from metrics.costs.agreement import rank_correlation, regret
from metrics.costs.base import Cost
from metrics.costs.device import cost_device
from metrics.costs.learned.file import Trained, Training
from metrics.costs.learned.training import constants, train
from metrics.costs.learned.training import predicted as predicted_ms
from runners.base import DeviceInfo


@dataclass(frozen=True, slots=True)
class Quality:
    """How well a model ranks the plans of some pipelines: means over these; regrets as a geometric mean."""

    rank: float
    regret: float


def main(database: Annotated[Path, typer.Argument(show_default=False)],
         out: Annotated[Path, typer.Option(metavar="MODEL.json", show_default=False)],
         epochs: Annotated[int, typer.Option(min=1)] = 200,
         held_out: Annotated[int, typer.Option(min=2, help="Every so many-th pipeline is left out.")] = 5,
         seed: Annotated[int, typer.Option(min=0)] = 0) -> None:
    """Train a model on measured plans, and say how good it is on pipelines that it has not seen."""
    key, name = device_of(database)
    device = find_device(key)
    with closing(Database(database, key, name)) as base:
        found = list(pipelines(base, cost_device(device.target)))
    learned, unseen = parted(found, held_out)
    if not learned or not unseen:
        raise InputError(f"{database} has plans of {len(found)} pipelines; {held_out} are the fewest to train on")
    batches = [one.batch for one in learned]
    weights = train(batches, epochs, np.random.default_rng(seed))
    plans = sum(len(one.plans) for one in learned)
    command = f"python -m experiments.learning.train {database.name} --epochs {epochs} --held-out {held_out}"
    write_model(out, Trained(Training(key, name, plans, len(learned), epochs, command), weights))
    fixed = constants(batches)
    print(f"trained on {plans} plans of {len(learned)} pipelines; {len(unseen)} others held out "
          f"({sum(len(one.plans) for one in unseen)} plans)")
    for title, some in (("trained on", learned), ("held out", unseen)):
        show(title, "learned", [[*map(float, predicted_ms(weights, one.batch))] for one in some], some)
        show(title, "constants", [[*map(float, one.batch.by_plan(one.batch.by_kernel(one.batch.terms @ fixed)))]
                                  for one in some], some)
    show("held out", "sioutas", [by_sioutas(one, device) for one in unseen], unseen)


def parted(found: Sequence[Pipeline], every: int) -> tuple[list[Pipeline], list[Pipeline]]:
    """Pipelines to learn from, and every so many-th, which is left out."""
    return ([one for k, one in enumerate(found) if k % every != every - 1],
            [one for k, one in enumerate(found) if k % every == every - 1])


def by_sioutas(one: Pipeline, device: DeviceInfo) -> list[float]:
    """The costs of Sioutas' model; infinite where it refuses."""
    program, model = program_at(one.origin), find_model("sioutas", device.target)
    costs = [predicted(program, plan.plan, device.target, model) for plan in one.plans]
    return [cost.number if isinstance(cost, Cost) else float("inf") for cost in costs]


def quality(costs: Sequence[Sequence[float]], some: Sequence[Pipeline]) -> Quality:
    """How well these costs of the plans of each pipeline rank them."""
    times = [[float(ms) for ms in one.batch.plan_ms] for one in some]
    ranks = [rank_correlation(mine, ms) for mine, ms in zip(costs, times, strict=True)]
    regrets = [regret(mine, ms) for mine, ms in zip(costs, times, strict=True)]
    return Quality(float(np.mean(ranks)), float(np.exp(np.mean(np.log(regrets)))))


def show(title: str, model: str, costs: Sequence[Sequence[float]], some: Sequence[Pipeline]) -> None:
    """A line."""
    found = quality(costs, some)
    print(f"{title:12} {model:10} rank correlation {found.rank:5.2f}, regret {found.regret:5.2f}")


if __name__ == "__main__":
    try:
        typer.run(main)
    except AntuneError as error:
        raise SystemExit(f"error: {error}") from None
