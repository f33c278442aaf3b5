"""The noise of a run: `python -m experiments.benchmarks.retimed_walks RUN_DIR [--walks N]`.

Measures N random evaluations of the run again on its device, and compares the medians with the stored ones: the ratio
of the greater to the lesser, and Spearman's rank correlation. Other load on the machine, then and now, is included,
because searches are subject to it, too.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from scipy.stats import spearmanr

from experiments.script import run
from experiments.search.places import selector
from experiments.store import read_store
from experiments.values.records import best_of
from generator.errors import InputError
from generator.problem import Problem
from metrics.outcome import Timed, cost_ms
from runners.base import Bounds, Job, Limits
from runners.registry import open_runner

FEWEST = 3


def main(directory: Annotated[Path, typer.Argument(metavar="RUN_DIR", show_default=False)],
         walks: Annotated[int, typer.Option(min=FEWEST)] = 40, seed: Annotated[int, typer.Option(min=0)] = 0) -> None:
    """Measure some walks of a run again."""
    pairs = remeasured(directory, walks, seed)
    old, new = np.array(pairs).T
    ratios = np.maximum(old, new) / np.minimum(old, new)
    print(f"{len(pairs)} walks: ratio median {np.median(ratios):.2f}, 90 % below {np.quantile(ratios, 0.9):.2f}, "
          f"worst {ratios.max():.2f}; new / old {np.median(new / old):.2f} (median); "
          f"rank correlation {spearmanr(old, new).statistic:.3f}")


def remeasured(directory: Path, count: int, seed: int) -> list[tuple[float, float]]:
    """Return stored and new milliseconds of up to `count` evaluations that have both."""
    with read_store(directory) as store:
        info, results, reference = store.info(), store.results(), store.reference()
    timed = [r for r in results if isinstance(r.outcome, Timed) and r.evaluation.number > 0]
    if len(timed) < FEWEST:
        raise InputError(f"{directory} has {len(timed)} timed walks; {FEWEST} are the fewest to compare")
    chosen = [timed[k] for k in np.random.default_rng(seed).permutation(len(timed))[:count]]
    best, problem = best_of(results), Problem(info.program, reference)
    with tempfile.TemporaryDirectory(prefix="antune-retimed-") as folder:
        runner = open_runner(problem, selector(info), Limits(), Path(folder))
        try:
            jobs = [Job(number, result.evaluation.plan) for number, result in enumerate(chosen)]
            outcomes = dict(runner.evaluate(jobs, Bounds(cost_ms(best.outcome) if best else None)))
        finally:
            runner.close()
    found = [(cost_ms(result.outcome), cost_ms(outcomes[number])) for number, result in enumerate(chosen)]
    return [(old, new) for old, new in found if old is not None and new is not None]


if __name__ == "__main__":
    run(main)
