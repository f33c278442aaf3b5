"""The costs of measured plans by cost models: `python -m experiments.benchmarks.model_pictures RUN... --out FILE.png`.

The plans of all runs of a program are one chart per model: predicted cost over measured time, both logarithmic, with
rank correlation and regret. The model's best plan is the large dot. Runs come from `antune tune`, or from
`taught_searches`. Prints the same figures as a table. `--calibration FILE`: constants from `antune suite calibrate`.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.pictures.palette import LIGHT
from experiments.pictures.stills import blank, log_scale, plain, save
from experiments.script import plain_errors
from experiments.search.costs import find_model, predicted
from experiments.store import read_store
from experiments.studies.calibrated.results import read_calibration
from generator.errors import IllegalPlan
from generator.plan import Plan
from generator.program import Program
from generator.target import Target
from metrics.costs.agreement import rank_correlation, regret
from metrics.costs.base import Cost
from metrics.costs.constants import Calibration
from metrics.outcome import Timed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MODELS = ("sioutas", "polymage")


@dataclass(frozen=True, slots=True)
class Plans:
    """The plans of a program that were timed on a device, each with its best time in milliseconds."""

    program: Program
    target: Target
    times_ms: Mapping[Plan, float]


@dataclass(frozen=True, slots=True)
class Chart:
    """Costs and times of the plans that a model judges, out of `count`."""

    title: str
    costs: tuple[float, ...]
    times_ms: tuple[float, ...]
    count: int

    @property
    def rank(self) -> float:
        """The rank correlation of costs and times."""
        return rank_correlation(self.costs, self.times_ms)

    @property
    def regret(self) -> float:
        """The time of the model's best plan over the best time."""
        return regret(self.costs, self.times_ms)


def timed_plans(directories: Sequence[Path]) -> list[Plans]:
    """Return the plans by program, sorted by name."""
    found: dict[str, tuple[Program, Target, dict[Plan, float]]] = {}
    for directory in directories:
        with read_store(directory) as store:
            info, results = store.info(), store.results()
        _, _, times = found.setdefault(info.program.digest, (info.program, info.device.target, {}))
        for result in results:
            if isinstance(result.outcome, Timed):
                plan, ms = result.evaluation.plan, result.outcome.median_ms
                times[plan] = min(ms, times.get(plan, ms))
    return sorted((Plans(*one) for one in found.values()), key=lambda one: one.program.name)


def chart(plans: Plans, name: str, calibration: Calibration | None) -> Chart:
    """Return the costs of the model called `name`."""
    model, pairs = find_model(name, plans.target, calibration), []
    for plan, ms in plans.times_ms.items():
        try:
            cost = predicted(plans.program, plan, plans.target, model)
        except IllegalPlan:
            continue
        if isinstance(cost, Cost):
            pairs.append((cost.number, ms))
    costs, times = zip(*pairs, strict=True) if pairs else ((), ())
    return Chart(f"{plans.program.name}, {name}", costs, times, len(plans.times_ms))


def draw(axes: Axes, found: Chart) -> None:
    """Draw the chart."""
    plain(axes, "predicted cost", "measured, ms", f"{found.title}: rank {found.rank:.2f}, regret {found.regret:.2f}")
    axes.plot(found.costs, found.times_ms, "o", color=LIGHT.timed, markersize=4)
    best = found.costs.index(min(found.costs))
    axes.plot(found.costs[best], found.times_ms[best], "o", color=LIGHT.best, markersize=9)
    log_scale(axes, "x")
    log_scale(axes, "y")


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the runs, print the table and draw the charts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    parser.add_argument("--calibration", type=Path)
    parser.add_argument("--out", type=Path, default=Path("models.png"))
    given = parser.parse_args(arguments)
    constants = read_calibration(given.calibration) if given.calibration else None
    rows = [[chart(plans, name, constants) for name in MODELS] for plans in timed_plans(given.runs)]
    shown = [row for row in rows if all(len(one.costs) > 1 for one in row)]
    print("| program, model | plans judged | rank correlation | regret |\n|---|---|---|---|")
    for one in (one for row in shown for one in row):
        print(f"| {one.title} | {len(one.costs)} of {one.count} | {one.rank:.2f} | {one.regret:.2f} |")
    if shown:
        figure = blank((4.6 * len(shown), 3.6 * len(MODELS)))
        for place, one in enumerate(row[k] for k in range(len(MODELS)) for row in shown):
            draw(figure.add_subplot(len(MODELS), len(shown), place + 1), one)
        save(figure, given.out, given.out.suffix)


if __name__ == "__main__":
    with plain_errors():
        main()
