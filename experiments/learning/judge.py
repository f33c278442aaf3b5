"""Tells how good a model is on measured plans: `python -m experiments.learning.judge FILE... [--model MODEL.json]`.

FILES are databases of measured plans, or recordings of them; without `--model`, antune's own model is judged. Take
plans that the model has not learned from: those of other pipelines, or by newer code.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from experiments.learning.dataset import Pipeline
from experiments.learning.quality import by_sioutas, predicted_times, read_pipelines, show
from experiments.learning.recorded_device import device_of_recording
from experiments.learning.recording import by_device, gathered
from experiments.script import run
from generator.errors import InputError
from metrics.costs.device import cost_device
from metrics.costs.learned.file import Trained, read_model
from metrics.costs.learned.model import SHIPPED
from runners.base import DeviceInfo


def main(files: Annotated[list[Path], typer.Argument(metavar="FILE...", show_default=False)],
         model: Annotated[Path | None, typer.Option(metavar="MODEL.json", show_default=False)] = None) -> None:
    """Print how well a model ranks measured plans, on each device, for each kind of pipeline."""
    trained = read_model(model or SHIPPED)
    for some in by_device(files):
        key, name, measured = gathered(some)
        device = device_of_recording(key, name)
        found = read_pipelines(measured, cost_device(device.target))
        if not found:
            raise InputError(f"{', '.join(map(str, files))}: no pipeline has enough plans that the model can judge, of "
                             f"those that were measured on {device.name}")
        print(f"{device.platform}, {device.name}: {len(found)} pipelines "
              f"({sum(len(one.plans) for one in found)} plans)")
        _compare(found, trained, device)


def _compare(found: Sequence[Pipeline], trained: Trained, device: DeviceInfo) -> None:
    for source in sorted({one.origin.source for one in found}):
        those = [one for one in found if one.origin.source == source]
        show(f"{len(those)} of {source}", "learned", predicted_times(trained.members, trained.caution, those), those)
    show("all", "learned", predicted_times(trained.members, trained.caution, found), found)
    show("all", "sioutas", [by_sioutas(one, device) for one in found], found)


if __name__ == "__main__":
    run(main)
