"""Trains the learned model: `python -m experiments.learning.train FILE... --out MODEL.json [--epochs N]
[--held-out K]`.

FILES are databases of measured plans, or recordings of them. They may be of several devices whose plans rank alike,
such as two drivers of a CPU: the mean of a pipeline's times counts little (`metrics/costs/learned/training.py`).

Every K-th pipeline is left out of the training, and tells how good the model is there (`quality`), beside the formula
with constant coefficients and Sioutas' model. The model is an ensemble: each member learns from all other pipelines but
a part of them, which decides how many epochs are best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from experiments.learning.dataset import Pipeline
from experiments.learning.folder import write_model
from experiments.learning.quality import by_sioutas, predicted_times, quality, read_pipelines, show
from experiments.learning.recorded_device import device_of_recording
from experiments.learning.recording import Measured, by_device, gathered
from experiments.learning.series import Origin
from experiments.script import run
from generator.errors import InputError
from metrics.costs.device import cost_device
from metrics.costs.learned.ensemble import CAUTION, MEMBERS, train_members
from metrics.costs.learned.file import MOST_CAUTION, MOST_MEMBERS, Trained, Training
from metrics.costs.learned.network import Array, Weights
from metrics.costs.learned.training import constants
from runners.base import DeviceInfo


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
            show(title, "learned", predicted_times(model.members, model.caution, those), those)
            show(title, "one member", predicted_times(model.members[:1], 0.0, those), those)
            show(title, "constants", [[*map(float, one.batch.by_plan(one.batch.by_kernel(one.batch.terms @ fixed)))]
                                      for one in those], those)
        show("held out", "sioutas", [by_sioutas(one, some.device) for one in some.unseen], some.unseen)


def _unseen(origins: Sequence[Origin], every: int) -> frozenset[Origin]:
    """Return the pipelines to hold out, on all devices: of every `every` pipelines, the last one."""
    ordered = sorted(set(origins), key=lambda origin: (origin.source, origin.parameters))
    return frozenset(ordered[every - 1::every])


def _parts(found: tuple[str, str, Sequence[Measured]], unseen: frozenset[Origin]) -> Parts:
    """Return the pipelines of a device in parts."""
    key, name, measured = found
    device = device_of_recording(key, name)
    known = read_pipelines(measured, cost_device(device.target))
    return Parts(device, tuple(one for one in known if one.origin not in unseen),
                 tuple(one for one in known if one.origin in unseen))


def _say(member: int, epoch: int, mean: float) -> None:
    if epoch % 20 == 19:
        print(f"member {member + 1}, epoch {epoch + 1}: loss {mean:.4f}", flush=True)


def _rating(weights: Weights, some: Sequence[Pipeline]) -> float:
    found = quality(predicted_times((weights,), 0.0, some), some)
    return -found.rank + float(np.log(found.regret) + np.log(found.of_few))


if __name__ == "__main__":
    run(main)
