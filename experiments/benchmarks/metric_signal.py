"""The correlation of metrics and times: `python -m experiments.benchmarks.metric_signal FILE.json.gz...`.

For each recording and metric, over all timed walks: Spearman's rank correlation with the time (-1: a higher metric
always means faster; 0: no relation), for the whole program and for single kernels. For kernels, each kernel identity is
ranked among its own walks, and the correlations are averaged with the numbers of walks as weights. Below is what the
metrics, the choices, and both together explain: the fraction of the variance of the logarithm of the time that a random
forest predicts for walks it was not fitted to (mean of five folds). A metric that is equal for all walks has no
correlation.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import cross_val_score

from experiments.script import plain_errors
from graph.recorded import Answer
from graph.space import Option
from metrics.outcome import KernelTime, Timed, program_metrics
from metrics.static_model import NAMES
from runners.replay.reading import read_walks

Observation: TypeAlias = tuple[float, Mapping[str, float]]
"""A time in milliseconds, and metrics."""
ABSENT = -1.0
FEWEST = 20
"""The fewest observations for a correlation."""


def correlations(observations: Sequence[Observation]) -> dict[str, tuple[float, int]]:
    """Return, by metric, Spearman's correlation with the time and the number of observations."""
    found = {}
    for name in NAMES:
        pairs = [(ms, metrics[name]) for ms, metrics in observations if name in metrics]
        times, values = np.array(pairs).T if pairs else (np.empty(0), np.empty(0))
        if len(pairs) >= FEWEST and np.ptp(values) > 0:
            found[name] = (float(spearmanr(values, times).statistic), len(pairs))
    return found


def explained(times_ms: Sequence[float], table: NDArray[np.float64], seed: int = 0) -> float:
    """Return the cross-validated fraction of the variance of log time that a forest explains from `table`, a row per
    walk.
    """
    forest = RandomForestRegressor(200, min_samples_leaf=2, max_features=0.5, random_state=seed)
    order = np.random.default_rng(seed).permutation(len(table))
    return float(cross_val_score(forest, table[order], np.log(times_ms)[order], cv=5).mean())


def metric_table(programs: Sequence[Mapping[str, float]]) -> NDArray[np.float64]:
    """Return a row per walk and a column per metric; -1 if the metric is absent."""
    return np.array([[metrics.get(name, ABSENT) for name in NAMES] for metrics in programs])


def choice_table(walks: Sequence[Sequence[Answer]]) -> NDArray[np.float64]:
    """Return a row per walk and a column per decision: the option's index in sorted order, -1 if it was not decided."""
    options: dict[tuple[str, tuple[str, ...]], set[Option]] = defaultdict(set)
    for walk in walks:
        for name, subject, option in walk:
            options[name, subject].add(option)
    places = {key: {option: n for n, option in enumerate(sorted(found, key=_order))} for key, found in options.items()}
    columns = {key: n for n, key in enumerate(options)}
    table = np.full((len(walks), len(options)), ABSENT)
    for row, walk in enumerate(walks):
        for name, subject, option in walk:
            table[row, columns[name, subject]] = places[name, subject][option]
    return table


def _order(option: Option) -> tuple[bool, float, str]:
    return (False, float(option), "") if isinstance(option, int | float) else (True, 0.0, str(option))


def by_kernel(walks: Iterable[Sequence[KernelTime]]) -> dict[str, tuple[float, int]]:
    """Return, by metric, the mean correlation within kernel identities, weighted by observations, and their number."""
    groups: dict[tuple[str, ...], list[Observation]] = defaultdict(list)
    for kernels in walks:
        for kernel in kernels:
            groups[kernel.statements].append((kernel.median_ms, dict(kernel.metrics)))
    parts = [correlations(group) for group in groups.values()]
    having = {name: [part[name] for part in parts if name in part] for name in NAMES}
    return {name: (float(np.average([r for r, _ in found], weights=[n for _, n in found])), sum(n for _, n in found))
            for name, found in having.items() if found}


def main() -> None:
    """Print a table per recording."""
    for file in sys.argv[1:]:
        recording = read_walks(Path(file))
        rows = [(row.choices, row.outcome) for row in recording.rows if isinstance(row.outcome, Timed)]
        print(f"{recording.name} on {recording.device}: {len(rows)} timed walks\n")
        kernels, times = [timed.kernels for _, timed in rows], [timed.median_ms for _, timed in rows]
        programs = [dict(program_metrics(k)) for k in kernels]
        whole, single = correlations(list(zip(times, programs, strict=True))), by_kernel(kernels)
        print("| metric | program | walks | kernel | kernels |\n|---|---|---|---|---|")
        for name in NAMES:
            print(f"| {name} | {_cells(whole.get(name))} | {_cells(single.get(name))} |")
        metrics, choices = metric_table(programs), choice_table([choices for choices, _ in rows])
        print(f"\nexplained: metrics {explained(times, metrics):.0%}, choices {explained(times, choices):.0%}, "
              f"both {explained(times, np.hstack([metrics, choices])):.0%}\n")


def _cells(found: tuple[float, int] | None) -> str:
    return f"{found[0]:+.2f} | {found[1]}" if found else "- | -"


if __name__ == "__main__":
    with plain_errors():
        main()
