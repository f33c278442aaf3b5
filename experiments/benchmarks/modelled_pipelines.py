"""Explorers on image pipelines under a model: `python -m experiments.benchmarks.modelled_pipelines PROGRAM...`.

The cost of a plan is computed by the static model (metrics.static_model): operations and bytes on a GPU with 108 units,
over occupancy, balance and tail, where a launch costs LAUNCH operations; programs have their medium sizes. No device is
needed, and load on the machine does not matter. It shows how well explorers search for the places of stages, not how
fast the plans are.

Prints the best cost of any search over the best of each, mean and deviation over the seeds, at each budget.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from multiprocessing import get_context

import numpy as np

from experiments.search.parts import PARTS
from experiments.suites.image_pipelines import PIPELINES
from experiments.values.options import Budget, RunOptions
from generator.errors import IllegalPlan
from generator.frontend_c.source import Compilation
from generator.lowering.analysis.facts import kernel_facts
from generator.plan import Plan
from generator.problem import Problem
from generator.target import Target
from metrics.costs.static import LAUNCH, slowed
from metrics.device_model import device_model
from metrics.outcome import Durations, Illegal, KernelTime, Outcome, Timed
from metrics.static_model import static_metrics

ANTS = 10
TARGET = Target("model", "cuda", 1024, (1024, 1024, 64), 48 * 1024, 108, True, False, sub_group=32)


@dataclass(frozen=True, slots=True)
class Search:
    """An explorer on a program."""

    program: str
    explorer: str
    seed: int
    evaluations: int


@lru_cache(maxsize=4)
def _options(name: str) -> RunOptions:
    program = next(one for one in PIPELINES if one.name == name)
    return RunOptions(str(program.file), Compilation(), Budget(evaluations=1), space="pipeline",
                      parameters=program.parameters_at("medium"))


@lru_cache(maxsize=4)
def _problem(name: str) -> Problem:
    return PARTS.read_problem(_options(name), lambda _: None)


def outcome_of(problem: Problem, plan: Plan) -> Outcome:
    """Return the model's outcome; a plan that cannot be lowered fails."""
    try:
        metrics = static_metrics(kernel_facts(problem.program, plan, TARGET), device_model(TARGET))
    except IllegalPlan as error:
        return Illegal(str(error), Durations())
    kernels = []
    for kernel in metrics.kernels:
        kernels.append(KernelTime(kernel.statements, (LAUNCH + slowed(kernel)) / 1e9, kernel.values))
    total = sum(kernel.median_ms for kernel in kernels)
    return Timed(total, total, total, (total,), total, tuple(kernels), "", False, Durations())


def best_so_far(search: Search) -> list[float]:
    """Return the best cost after each evaluation."""
    problem, options = _problem(search.program), _options(search.program)
    starts = PARTS.starts(problem.program, TARGET, options)
    space = PARTS.make_space(problem.program, TARGET, options)
    explorer = PARTS.make_explorer(search.explorer, space, search.seed, starts)
    best = [inf]
    while len(best) <= search.evaluations:
        for walk in explorer.ask(min(ANTS, search.evaluations + 1 - len(best))):
            outcome = outcome_of(problem, walk.plan)
            explorer.tell(walk, outcome)
            best.append(min(best[-1], outcome.median_ms if isinstance(outcome, Timed) else inf))
    return best[1:]


def main(arguments: Sequence[str] | None = None) -> None:
    """Search and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+", metavar="PROGRAM")
    parser.add_argument("--explorers", nargs="+", default=["halide-ga", "genetic", "colony", "random"])
    parser.add_argument("--budgets", nargs="+", type=int, default=[100, 400])
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args(arguments)
    searches = [Search(program, explorer, seed, max(given.budgets)) for program in given.programs
                for explorer in given.explorers for seed in range(given.seeds)]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        found = dict(zip(searches, pool.map(best_so_far, searches), strict=True))
    print("| program | budget |", *(f"{name} |" for name in given.explorers))
    print("|---|---|" + "---|" * len(given.explorers))
    for program in given.programs:
        least = min(best[-1] for search, best in found.items() if search.program == program)
        for budget in given.budgets:
            cells = []
            for name in given.explorers:
                shares = [least / best[budget - 1] for search, best in found.items()
                          if (search.program, search.explorer) == (program, name)]
                cells.append(f"{np.mean(shares):.3f} ± {np.std(shares):.3f} |")
            print(f"| {program} | {budget} |", *cells)


if __name__ == "__main__":
    main()
