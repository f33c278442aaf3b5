"""The plans of two learned models, measured: `python -m experiments.benchmarks.compared_models MODEL.json NAME...
[--against OTHER.json] [--size medium] [--batches 3]`.

For each pipeline of the suite, both models choose batches of five plans, as in a round of autotuning. All of these are
measured in turns in one process. Prints the time of the other model's plan (by default that of the model that comes
with antune) over that of MODEL's: of the plan with the lowest predicted time, and of the fastest of the five. Both are
geometric means over the batches, whose random samples differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Annotated

import typer

from experiments.benchmarks.autotune_curve import times_of
from experiments.learning.autotune import Tuned, given, tuned
from experiments.learning.samples import batch
from experiments.learning.series import LIMITS, Origin
from experiments.script import run
from experiments.search.places import find_device
from experiments.suites.image_pipelines import SizeName, pipeline
from explorer.beam_pass import BeamOptions
from generator.errors import InputError
from generator.plan import Plan
from metrics.costs.learned.file import read_model
from metrics.costs.learned.model import SHIPPED, Learned
from metrics.statistics import geometric_mean
from runners.base import DeviceInfo, Limits

BATCH = 5


@dataclass(frozen=True, slots=True)
class Gain:
    """The other model's times over those of the model: of one-shot plans, and of the fastest of a batch."""

    one_shot: float
    best: float


def main(model: Annotated[Path, typer.Argument(metavar="MODEL.json", show_default=False)],
         names: Annotated[list[str], typer.Argument(metavar="NAME...", show_default=False)],
         against: Path = SHIPPED, size: SizeName = "medium", device: str = "intel",
         batches: Annotated[int, typer.Option(min=1)] = 1, realtime: bool = False) -> None:
    """Measure the plans of two models in turns; with `--realtime`, at real-time priority."""
    found, limits = find_device(device), replace(LIMITS, realtime=realtime)
    models = tuple(Learned(read_model(file)) for file in (model, against))
    origins = [origin_of(name, size) for name in names]
    gains = []
    print(f"| | one-shot plan | best of {BATCH} |\n|---|---|---|")
    for name, origin in zip(names, origins, strict=True):
        gains.append(gain(origin, models, found, batches, limits))
        print(f"| {name} | {gains[-1].one_shot:.2f} | {gains[-1].best:.2f} |", flush=True)
    means = (geometric_mean([one.one_shot for one in gains]), geometric_mean([one.best for one in gains]))
    print(f"| geometric mean | {means[0]:.2f} | {means[1]:.2f} |")


def origin_of(name: str, size: SizeName) -> Origin:
    """Return a pipeline of the suite. Raises InputError if there is none of this name."""
    one = pipeline(name)
    return Origin(str(one.file), tuple(sorted(one.parameters_at(size))))


def gain(origin: Origin, models: Sequence[Learned], device: DeviceInfo, batches: int = 1, limits: Limits = LIMITS,
         options: BeamOptions | None = None) -> Gain:
    """Measure the batches of a model and of another one. Raises InputError if no plan of the model runs."""
    one = given(origin, device)
    drawn = [[_batch(tuned(one, device, model), number, options) for model in models] for number in range(batches)]
    every = tuple(dict.fromkeys(plan for both in drawn for plans in both for plan in plans))
    times = times_of(one, every, device, 0, limits)
    shots = [times.get(mine[0], inf) for mine, _ in drawn]
    if inf in shots:
        raise InputError(f"the one-shot plan of {one.name} cannot be run; see `antune doctor`")
    return Gain(geometric_mean([times.get(other[0], inf) / ms for (_, other), ms in zip(drawn, shots, strict=True)]),
                geometric_mean([_fastest(other, times) / _fastest(mine, times) for mine, other in drawn]))


def _batch(tuned: Tuned, number: int, options: BeamOptions | None) -> tuple[Plan, ...]:
    """Return the plans of a batch, that with the lowest predicted time first."""
    found = batch(tuned.space, BATCH, (number, 0), options)
    return tuple(sample.plan for sample in sorted(found, key=lambda it: it.predicted_ms))


def _fastest(plans: Sequence[Plan], times: Mapping[Plan, float]) -> float:
    return min(times.get(plan, inf) for plan in plans)


if __name__ == "__main__":
    run(main)
