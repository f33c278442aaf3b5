"""Explorers on image pipelines under a model: `python -m experiments.benchmarks.modelled_pipelines PROGRAM...
[--learned]`.

The cost of a plan is computed by the static model (metrics.static_model): operations and bytes on a GPU with 108 units,
over occupancy, balance and tail, where a launch costs LAUNCH operations; programs have their medium sizes. With
`--learned`, it is the time on a CPU that the learned model predicts, plus two microseconds per kernel; decisions that
this model does not know cost nothing, but shared copies double the time of a kernel. No device is needed, and load on
the machine does not matter. It shows how well explorers search for the places of stages, not how fast the plans are.

--explorers takes the names of explorers, and of the colonies of `experiments.benchmarks.ablation`. Prints the best cost
of any search over the best of each, mean and deviation over the seeds, at each budget; then the median of the cost of a
walk over the best one before it, from evaluation SETTLED on.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from math import exp, inf
from multiprocessing import get_context

import numpy as np

from experiments.benchmarks.ablation import VARIANTS
from experiments.learning.random_plans import without_unknown
from experiments.script import plain_errors
from experiments.search.foretold import Judge
from experiments.search.parts import PARTS
from experiments.suites.image_pipelines import pipeline
from experiments.values.options import Budget, RunOptions
from explorer.attributes import Array
from explorer.base import Explorer
from explorer.colony import Colony
from generator.errors import IllegalPlan
from generator.frontend_c.source import Compilation
from generator.lowering.analysis.facts import kernel_facts
from generator.plan import Plan
from generator.problem import Problem
from generator.target import Target
from metrics.costs.learned.model import shipped_model
from metrics.costs.static import LAUNCH, slowed
from metrics.device_model import device_model
from metrics.outcome import Durations, Illegal, KernelTime, Outcome, Timed
from metrics.static_model import static_metrics

ANTS, SETTLED = 10, 30
TARGET = Target("model", "cuda", 1024, (1024, 1024, 64), 48 * 1024, 108, True, False, sub_group=32)
CPU = Target("model", "opencl", 4096, (4096, 4096, 4096), 256 * 1024, 2, True, True)
PER_KERNEL_MS, COPIES = 0.002, 2.0
"""What a kernel takes at least, and the factor of its time with shared copies, for the learned model."""


@dataclass(frozen=True, slots=True)
class Search:
    """An explorer on a program."""

    program: str
    explorer: str
    seed: int
    evaluations: int
    learned: bool = False


@lru_cache(maxsize=4)
def _options(name: str) -> RunOptions:
    program = pipeline(name)
    return RunOptions(str(program.file), Compilation(), Budget(evaluations=1), space="pipeline",
                      parameters=program.parameters_at("medium"))


@lru_cache(maxsize=4)
def _problem(name: str) -> Problem:
    return PARTS.read_problem(_options(name), lambda _: None)


def outcome_of(problem: Problem, plan: Plan) -> Outcome:
    """Return the outcome by the static model; a plan that cannot be lowered fails."""
    try:
        metrics = static_metrics(kernel_facts(problem.program, plan, TARGET), device_model(TARGET))
    except IllegalPlan as error:
        return Illegal(str(error), Durations())
    return _timed([KernelTime(one.statements, (LAUNCH + slowed(one)) / 1e9, one.values) for one in metrics.kernels])


def learned_outcome(judge: Judge, plan: Plan) -> Outcome:
    """Return the outcome by the learned model; a plan with kernels that it cannot judge fails."""
    known = replace(plan, kernels=tuple(map(without_unknown, plan.kernels)))
    costs = judge.foresee(known).kernels
    if len(costs) < len(plan.kernels):
        return Illegal("the model cannot judge all kernels", Durations())
    factors = [COPIES if kernel.shared else 1.0 for kernel in plan.kernels]
    return _timed([KernelTime(one.statements, PER_KERNEL_MS + factor * exp(costs[one.statements]))
                   for one, factor in zip(plan.kernels, factors, strict=True)])


def _timed(kernels: Sequence[KernelTime]) -> Timed:
    total = sum(kernel.median_ms for kernel in kernels)
    return Timed(total, total, total, (total,), total, tuple(kernels), "", False, Durations())


def costs_of(search: Search) -> list[float]:
    """Return the cost of each evaluation."""
    problem, options = _problem(search.program), _options(search.program)
    target = CPU if search.learned else TARGET
    rated = (partial(learned_outcome, Judge(problem.program, target, shipped_model())) if search.learned else
             partial(outcome_of, problem))
    explorer = _explorer(search, problem, target, options)
    costs = list[float]()
    while len(costs) < search.evaluations:
        for walk in explorer.ask(min(ANTS, search.evaluations - len(costs))):
            outcome = rated(walk.plan)
            explorer.tell(walk, outcome)
            costs.append(outcome.median_ms if isinstance(outcome, Timed) else inf)
    return costs


def _explorer(search: Search, problem: Problem, target: Target, options: RunOptions) -> Explorer:
    starts, space = PARTS.starts(problem.program, target, options), PARTS.make_space(problem.program, target, options)
    if search.explorer in VARIANTS:
        return Colony(space, search.seed, VARIANTS[search.explorer], starts)
    return PARTS.make_explorer(search.explorer, space, search.seed, starts)


def main(arguments: Sequence[str] | None = None) -> None:
    """Search and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+", metavar="PROGRAM")
    parser.add_argument("--explorers", nargs="+", default=["halide-ga", "genetic", "colony", "random"])
    parser.add_argument("--budgets", nargs="+", type=int, default=[100, 400])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--learned", action="store_true")
    given = parser.parse_args(arguments)
    for name in given.programs:
        pipeline(name)  # a refusal comes before the first search
    searches = [Search(program, explorer, seed, max(given.budgets), given.learned) for program in given.programs
                for explorer in given.explorers for seed in range(given.seeds)]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        found = dict(zip(searches, map(np.array, pool.map(costs_of, searches)), strict=True))
    print("| program | budget |", *(f"{name} |" for name in given.explorers))
    print("|---|---|" + "---|" * len(given.explorers))
    for program in given.programs:
        own = {search: costs for search, costs in found.items() if search.program == program}
        least = min(costs.min() for costs in own.values())
        for budget in given.budgets:
            shares = [[least / costs[:budget].min() for search, costs in own.items() if search.explorer == name]
                      for name in given.explorers]
            print(f"| {program} | {budget} |", *(f"{np.mean(some):.3f} ± {np.std(some):.3f} |" for some in shares))
        walks = [[_walk(costs) for search, costs in own.items() if search.explorer == name] for name in given.explorers]
        print(f"| {program} | a walk |", *(f"{np.mean(some):.2f} |" for some in walks))


def _walk(costs: Array) -> float:
    """Return the median of the cost of a walk over the best one before it, from SETTLED on."""
    best = np.minimum.accumulate(costs)
    ratios = costs[SETTLED:] / best[SETTLED - 1:-1]
    return float(np.median(ratios)) if ratios.size else 1.0


if __name__ == "__main__":
    with plain_errors():
        main()
