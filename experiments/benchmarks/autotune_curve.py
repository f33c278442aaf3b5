"""One-shot plans after rounds of autotuning: `python -m experiments.benchmarks.autotune_curve DIR [--rounds 0,1,5]`.

DIR is the folder of an `antune autotune`. For each of its pipelines, the models of these rounds (0: the one that comes
with antune, with which a tuning begins) each choose the plan with the lowest predicted time, from a batch that is drawn
as in the tuning, but is not one of its batches. These plans and the fastest one that the tuning measured are measured
in turns in one process. Prints the time of each plan over that of the fastest, and their geometric means; `--out` draws
these.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.learning.autotune import Given, Wanted, best_of, given, one_shot, tuned
from experiments.learning.database import Database
from experiments.learning.folder import JOB_FILE, model_file
from experiments.learning.series import LIMITS, Origin
from experiments.pictures.palette import LIGHT
from experiments.pictures.stills import Still, log_scale, plain, write_still
from experiments.script import run
from experiments.search.places import find_device
from experiments.search.sittings import hold_sittings
from generator.errors import InputError
from generator.plain_text import shell_word
from generator.plan import Plan
from metrics.costs.learned.file import read_model
from metrics.costs.learned.model import SHIPPED, Learned
from metrics.outcome import cost_ms
from metrics.statistics import geometric_mean
from runners.base import DeviceInfo, Job, Limits
from runners.registry import open_runner

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SITTINGS = 9


@dataclass(frozen=True, slots=True)
class Row:
    """A pipeline: the time of the plan of each round over that of the fastest plan."""

    name: str
    ratios: Mapping[int, float]


def main(folder: Annotated[Path, typer.Argument(metavar="DIR", show_default=False)], rounds: str = "0,1,5,10,20",
         device: str = "intel", out: Path | None = None, realtime: bool = False) -> None:
    """Measure one-shot plans of an autotuning in turns; with `--realtime`, at real-time priority."""
    limits = replace(LIMITS, realtime=realtime)
    numbers, found = chosen_rounds(folder, rounds), find_device(device)
    rows = []
    print(f"| | {' | '.join(f'round {n}' for n in numbers)} |\n|---|{'---|' * len(numbers)}")
    with closing(Database(folder / "plans.db", found.key, found.name)) as base:
        for wanted in jobs_of(folder):
            rows.append(row(base, wanted, numbers, found, limits))
            print(line(rows[-1].name, rows[-1].ratios), flush=True)
    means = {n: geometric_mean([one.ratios[n] for one in rows]) for n in numbers}
    print(line("geometric mean", means))
    if out is not None:
        write_still(Still(out.stem, lambda axes: draw(axes, rows, means)), out.parent, ("png",))


def chosen_rounds(folder: Path, text: str) -> tuple[int, ...]:
    """Return the rounds of `text` that have a model; 0 has antune's. Raises InputError."""
    parts = text.split(",")
    if not all(part.strip().isdecimal() for part in parts):
        raise InputError(f"--rounds {text} are not numbers; write 0,1,5")
    found = tuple(n for n in map(int, parts) if n == 0 or model_file(folder, n).is_file())
    if not any(found):
        raise InputError(f"{folder} has no model of rounds {text}; `antune autotune --out {shell_word(folder)}` makes "
                         "them")
    return found


def jobs_of(folder: Path) -> tuple[Wanted, ...]:
    """Return the tuning of each pipeline of the folder's job. Raises InputError."""
    try:
        job = json.loads((folder / JOB_FILE).read_text(encoding="utf-8"))
        origins = [Origin(one["origin"]["source"], tuple((name, value) for name, value in one["origin"]["parameters"]))
                   for one in job["series"]]
        beam = job.get("beam") or ""
        return tuple(Wanted((origin,), folder, job["samples"], seed=job["seed"], beam=beam) for origin in origins)
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise InputError(f"{folder / JOB_FILE} cannot be read: {error}") from None


def row(base: Database, wanted: Wanted, rounds: Sequence[int], device: DeviceInfo, limits: Limits = LIMITS) -> Row:
    """Measure the one-shot plans of a pipeline, and the fastest plan of its tuning. Raises InputError."""
    one = given(wanted.origins[0], device)
    spaces = {n: tuned(one, device, model_of(wanted.out, n), wanted.beam) for n in rounds}
    shots = {n: one_shot(space, wanted, device, print).plan for n, space in spaces.items()}
    plans = tuple(dict.fromkeys((*shots.values(), best_of(base, one).plan)))
    times = times_of(one, plans, device, wanted.seed, limits)
    best = min(times.values())
    return Row(Path(one.name).stem, {n: times.get(plan, inf) / best for n, plan in shots.items()})


def model_of(folder: Path, number: int) -> Learned:
    """Return the model after a round. Raises InputError."""
    return Learned(read_model(model_file(folder, number) if number else SHIPPED))


def times_of(one: Given, plans: Sequence[Plan], device: DeviceInfo, seed: int, limits: Limits) -> dict[Plan, float]:
    """Return the median milliseconds of the plans that run, measured in turns. Raises InputError if none runs."""
    with tempfile.TemporaryDirectory(prefix="antune-curve-") as scratch, closing(
            open_runner(one.problem, device.key, limits, Path(scratch))) as runner:
        sittings = hold_sittings(runner, [Job(k, plan) for k, plan in enumerate(plans)], seed, SITTINGS)
    found = {plan: [ms for one in sittings if k in one and (ms := cost_ms(one[k])) is not None]
             for k, plan in enumerate(plans)}  # fmt: skip
    times = {plan: median(some) for plan, some in found.items() if some}
    if not times:
        raise InputError(f"none of the plans of {one.name} can be run; see `antune doctor`")
    return times


def line(name: str, ratios: Mapping[int, float]) -> str:
    """Return a row of the table."""
    return f"| {name} | {' | '.join(f'{ratio:.2f}' for ratio in ratios.values())} |"


def draw(axes: Axes, rows: Sequence[Row], means: Mapping[int, float]) -> None:
    """Draw the ratios of each pipeline, and their geometric means, over rounds."""
    plain(axes, "rounds of autotuning", "time of the one-shot plan over that of the fastest")
    for one in rows:
        axes.plot(list(one.ratios), list(one.ratios.values()), color=LIGHT.line, marker="o", markersize=3)
    axes.plot(list(means), list(means.values()), color=LIGHT.best, marker="o", linewidth=2)
    log_scale(axes, "y")


if __name__ == "__main__":
    run(main)
