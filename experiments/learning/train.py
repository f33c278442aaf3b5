"""Trains the learned model: `python -m experiments.learning.train FILE... --out MODEL.json [--epochs N]
[--held-out K]`.

FILES are databases of measured plans, or recordings of them. They may be of several devices whose plans rank alike,
such as two drivers of a CPU: the mean of a pipeline's times counts little (`metrics/costs/learned/training.py`).

Every K-th pipeline is left out of the training, and tells how good the model is there: Spearman's rank correlation of
predicted and measured times, and the regret (1: none) of the plan that is predicted to be fastest, and of the best of
the five that are, beside those of the formula with constant coefficients and of Sioutas' model. The model is an
ensemble: each member learns from all other pipelines but a part of them, which decides how many epochs are best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from experiments.learning.collect import program_at
from experiments.learning.dataset import Pipeline, pipelines
from experiments.learning.folder import write_model
from experiments.learning.recording import Measured, by_device, gathered
from experiments.learning.series import Origin
from experiments.script import run
from experiments.search.costs import find_model, predicted
from experiments.search.places import find_device
from generator.errors import InputError
from metrics.costs.agreement import rank_correlation, regret
from metrics.costs.base import Cost
from metrics.costs.device import CostDevice, cost_device
from metrics.costs.learned.ensemble import CAUTION, MEMBERS, predicted_plans, train_members
from metrics.costs.learned.file import MOST_CAUTION, MOST_MEMBERS, Trained, Training
from metrics.costs.learned.network import Array, Weights
from metrics.costs.learned.training import constants
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


@dataclass(frozen=True, slots=True)
class Parts:
    """The pipelines of a device to learn from, and those for the evaluation."""

    device: DeviceInfo
    learned: tuple[Pipeline, ...]
    unseen: tuple[Pipeline, ...]


def main(files: Annotated[list[Path], typer.Argument(metavar="FILE...", show_default=False)],
         out: Annotated[Path, typer.Option(metavar="MODEL.json", show_default=False)],
         epochs: Annotated[int, typer.Option(min=1)] = 100,
         held_out: Annotated[int, typer.Option(min=3, help="Every so many-th pipeline is left out.")] = 5,
         seed: Annotated[int, typer.Option(min=0)] = 0,
         members: Annotated[int, typer.Option(min=2, max=MOST_MEMBERS)] = MEMBERS,
         caution: Annotated[float, typer.Option(min=0.0, max=MOST_CAUTION)] = CAUTION) -> None:
    """Train a model on measured plans, and say how good it is on pipelines that it has not seen."""
    if out.is_dir() or not out.absolute().parent.is_dir():  # before the training, which takes minutes
        raise InputError(f"--out {out} cannot be written: name a file in a folder that exists")
    found = [gathered(some) for some in by_device(files)]
    unseen = _unseen([origin for _, _, measured in found for origin, _ in measured], held_out)
    parts = [_parts(one, unseen) for one in found]
    learned = [one for some in parts for one in some.learned]
    if len(learned) < members or not all(some.unseen for some in parts):
        raise InputError(f"too few pipelines have enough plans; {held_out + members} are the fewest to train on")
    batches = [one.batch for one in learned]
    weights = train_members(batches, epochs, seed, members,
                            lambda made, ending: _rating(made, [learned[k] for k in sorted(ending)]), _say)
    plans, names = sum(len(one.plans) for one in learned), " ".join(file.name for file in files)
    command = (f"python -m experiments.learning.train {names} --epochs {epochs} --held-out {held_out} --seed "
               f"{seed} --members {members} --caution {caution:g}")
    different = len({one.origin for one in learned})
    key, name = ", ".join(some.device.key for some in parts), ", ".join(some.device.name for some in parts)
    trained = Trained(Training(key, name, plans, different, epochs, command), weights, caution)
    write_model(out, trained)
    print(f"trained on {plans} plans of {different} pipelines")
    _compare(parts, trained, constants(batches))


def _compare(parts: Sequence[Parts], model: Trained, fixed: Array) -> None:
    """Print how well the model, its first member, constant coefficients and Sioutas' model rank the plans."""
    for some in parts:
        print(f"{some.device.platform}, {some.device.name}: {len(some.unseen)} pipelines are held out "
              f"({sum(len(one.plans) for one in some.unseen)} plans)")
        for title, those in (("trained on", some.learned), ("held out", some.unseen)):
            show(title, "learned", _predicted(model.members, model.caution, those), those)
            show(title, "one member", _predicted(model.members[:1], 0.0, those), those)
            show(title, "constants", [[*map(float, one.batch.by_plan(one.batch.by_kernel(one.batch.terms @ fixed)))]
                                      for one in those], those)
        show("held out", "sioutas", [by_sioutas(one, some.device) for one in some.unseen], some.unseen)


def _unseen(origins: Sequence[Origin], every: int) -> frozenset[Origin]:
    """Return the pipelines to hold out, on all devices: of every `every` pipelines, the last one."""
    ordered = sorted(set(origins), key=lambda origin: (origin.source, origin.parameters))
    return frozenset(ordered[every - 1::every])


def _parts(found: tuple[str, str, Sequence[Measured]], unseen: frozenset[Origin]) -> Parts:
    """Return the pipelines of a device in parts."""
    key, _, measured = found
    device = find_device(key)
    known = _read(measured, cost_device(device.target))
    return Parts(device, tuple(one for one in known if one.origin not in unseen),
                 tuple(one for one in known if one.origin in unseen))


def _read(measured: Sequence[Measured], device: CostDevice) -> list[Pipeline]:
    """Return all pipelines; print a line for every tenth."""
    found = []
    for one in pipelines(measured, device):
        found.append(one)
        if len(found) % 10 == 0:
            print(f"{len(found)} pipelines, {sum(len(known.plans) for known in found)} plans read", flush=True)
    return found


def _say(member: int, epoch: int, mean: float) -> None:
    if epoch % 20 == 19:
        print(f"member {member + 1}, epoch {epoch + 1}: loss {mean:.4f}", flush=True)


def _predicted(members: Sequence[Weights], caution: float, some: Sequence[Pipeline]) -> list[list[float]]:
    return [[*map(float, predicted_plans(members, caution, one.batch))] for one in some]


def _rating(weights: Weights, some: Sequence[Pipeline]) -> float:
    found = quality(_predicted((weights,), 0.0, some), some)
    return -found.rank + float(np.log(found.regret) + np.log(found.of_few))


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
    print(f"{title:12} {model:10} rank correlation {found.rank:5.2f}, regret {found.regret:5.2f}, of the best of {FEW} "
          f"{found.of_few:5.2f}")


if __name__ == "__main__":
    run(main)
