"""The value of each part of the colony: `python -m experiments.benchmarks.ablation FILE...`.

Runs the colony without one part (or the bare ant system with one part) on recorded spaces and prints optimum / best,
mean and deviation over the seeds, at each budget. `VARIANTS` has the variants in the lines.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from types import MappingProxyType

import numpy as np

from experiments.script import plain_errors
from experiments.studies.recorded.arena import Source, open_arena
from experiments.studies.recorded.race import Trace, race
from explorer.ant_systems import MaxMinAntSystem
from explorer.colony import Colony, ColonyOptions, published
from explorer.screening import Screening

ANTS = 10
FULL, BARE = ColonyOptions(), published(MaxMinAntSystem())
VARIANTS: Mapping[str, ColonyOptions] = MappingProxyType(
    {
        "full": FULL,
        "without screening": replace(FULL, screening=None),
        "without model of kernels": replace(FULL, kernels_apart=False),
        "without tree": replace(FULL, tree=False),
        "without metrics": replace(FULL, metrics=False),
        "without rewards per kernel": replace(FULL, kernel_share=0.0),
        "without combine ant": replace(FULL, combine=False),
        "without inheritance": replace(FULL, inherit=False),
        "without moves": replace(FULL, screening=Screening(moves=0.0)),
        "without strangers": replace(FULL, screening=Screening(strangers=0.0)),
        "without ants in the crowd": replace(FULL, screening=Screening(moves=0.6, strangers=0.4)),
        "all start plans first": replace(FULL, screening=Screening(openings=1000)),
        "few long walks": replace(FULL, screening=Screening(steps=250, news=30)),
        "without restarts": replace(FULL, restart=False),
        "first iteration at random": replace(FULL, screening=Screening(spread=False)),
        "rho 0.03": replace(FULL, rule=MaxMinAntSystem(rho=0.03)),
        "rho 0.3": replace(FULL, rule=MaxMinAntSystem(rho=0.3)),
        "iteration best only": replace(FULL, rule=MaxMinAntSystem(early=10**9)),
        "best so far only": replace(FULL, rule=MaxMinAntSystem(early=0, ramp=0)),
        "bare": BARE,
        "bare + tree": replace(BARE, tree=True),
        "bare + metrics": replace(BARE, metrics=True),
        "bare + kernels": replace(BARE, kernel_share=0.5, combine=True),
        "bare + screening": replace(BARE, screening=Screening()),
    }
)


@dataclass(frozen=True, slots=True)
class Job:
    """Searches of one variant on one recording."""

    file: Path
    variant: str
    seeds: tuple[int, ...]
    budget: int


def traces(job: Job) -> list[Trace]:
    """Return the searches of a job, one per seed."""
    from threadpoolctl import threadpool_limits

    arena, options = open_arena(Source(job.file, job.file.name)), VARIANTS[job.variant]
    with threadpool_limits(1):
        return [race(arena, Colony(arena.space, seed, options), job.budget, ANTS) for seed in job.seeds]


def run(jobs: Sequence[Job], workers: int) -> Iterator[tuple[Job, list[Trace]]]:
    """Yield all jobs with their searches, in order; they run on all cores."""
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        yield from zip(jobs, pool.map(traces, jobs), strict=True)


def found(file: Path, searches: Sequence[Trace], budget: int) -> str:
    """Return mean and deviation of optimum / best at a budget; a search without a valid result counts as 0."""
    optimum = min(open_arena(Source(file, file.name)).valid_ms)
    ratios = [optimum / best if (best := trace.best_at(budget)) else 0.0 for trace in searches]
    return f"{np.mean(ratios):.3f} ± {np.std(ratios, ddof=1):.3f}"


def main() -> None:
    """Print a Markdown table per recording."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--budgets", type=int, nargs="+", default=[50, 100, 200, 400])
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS), choices=list(VARIANTS))
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    seeds = tuple(range(given.seeds))
    jobs = [Job(file, variant, seeds, max(given.budgets)) for file in given.files for variant in given.variants]
    for number, (job, searches) in enumerate(run(jobs, given.workers)):
        if number % len(given.variants) == 0:
            print(f"\n**{job.file.name}**\n\n| colony | {' | '.join(map(str, given.budgets))} |")
            print("|---" * (1 + len(given.budgets)) + "|")
        cells = [found(job.file, searches, budget) for budget in given.budgets]
        print(f"| {job.variant} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    with plain_errors():
        main()
