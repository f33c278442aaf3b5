"""What cost models teach a search: `python -m experiments.benchmarks.taught_searches PIPELINE... [--device intel]`.

For each pipeline of the suite and each seed, an explorer searches with its usual start plans, with the best plans of
cost models before them (--models: of two plan makers, of a beam), with foretold costs as the mean function of its
screening (--foretell), as the desirability of its ants (--foresee), and with plans of plan makers and both of these,
one run right after the other. The foretold costs are those of
Sioutas' model, and once more those of the learned one. So do, for a few evaluations, the explorers that follow one
model alone. The runs are kept below --out; those that are there already are not made again, and go on where they have
fewer evaluations. Then the best plans of each search at each budget are measured again, in turns in one process: on a
machine with other work, times that were taken minutes apart say little.
Prints, at each budget, the time of the best plan without models over that with them; then how long the first plans of
the models and the best plans of the plain search take, over the best plan of all, and in parentheses how many kernels
they have. --only WAY... leaves out the others.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from experiments.run import More, resume, tune
from experiments.search.parts import PARTS, limits_of
from experiments.search.sittings import hold_sittings
from experiments.store import is_run, read_store
from experiments.suites.image_pipelines import SIZES, SizeName, pipeline
from experiments.values.options import Budget, RunOptions
from experiments.values.records import Result, RunInfo
from explorer.registry import PLAN_MAKERS
from generator.frontend_c.source import Compilation
from generator.plan import Plan
from metrics.outcome import cost_ms
from metrics.statistics import geometric_mean
from runners.base import Job

MODEL, LEARNED = "sioutas", "learned"
"""Of mean function and desirability; and of another mean function."""
ONE_SHOT = (*PLAN_MAKERS, "beam")
"""Explorers that follow one model alone."""
FIRST = 2
"""Their evaluations: their first plan is wanted, which is evaluation 1."""
FINALISTS, SITTINGS = 4, 9
"""Plans of a search at a budget that are measured again, and in how many sittings."""


@dataclass(frozen=True, slots=True)
class Way:
    """An explorer and what it is told; `name` stands in the table and names its runs."""

    name: str
    explorer: str
    models: tuple[str, ...] = ()
    foretell: str | None = None
    foresee: str | None = None


class Silent:
    """A reporter that tells nothing."""

    def note(self, text: str) -> None:
        """Nothing."""

    def begin(self, info: RunInfo, budget: Budget, stored: tuple[Result, ...], elapsed_s: float) -> None:
        """Nothing."""

    def result(self, result: Result) -> None:
        """Nothing."""


def ways(explorer: str) -> tuple[Way, ...]:
    """The explorer as it is; with plans of plan makers, of a beam, with a mean function by either model, with a
    desirability, with several of these; and those that follow one model.
    """
    return (Way(explorer, explorer), Way(f"{explorer} --models", explorer, PLAN_MAKERS),
            Way(f"{explorer} --models beam", explorer, ("beam",)),
            Way(f"{explorer} --foretell", explorer, foretell=MODEL),
            Way(f"{explorer} --foretell {LEARNED}", explorer, foretell=LEARNED),
            Way(f"{explorer} --foresee", explorer, foresee=MODEL),
            Way(f"{explorer}, all", explorer, PLAN_MAKERS, MODEL, MODEL),
            *(Way(name, name) for name in ONE_SHOT))


def options_of(name: str, size: SizeName, way: Way, budget: int, seed: int, device: str) -> RunOptions:
    """The options of a run."""
    program = pipeline(name)
    return RunOptions(str(program.file), Compilation(), Budget(evaluations=budget), explorer=way.explorer, seed=seed,
                      parameters=program.parameters_at(size), device=device, space="pipeline", models=way.models,
                      foretell=way.foretell, foresee=way.foresee)


def results_of(options: RunOptions, directory: Path) -> tuple[Result, ...]:
    """The results of a run, which is made, or goes on, unless it is there."""
    if not is_run(directory):
        tune(replace(options, timing=replace(options.timing, finalists=0)), directory, Silent())
    with read_store(directory) as store:
        results = store.results()
    wanted = options.budget.evaluations
    if wanted is not None and len(results) < wanted:
        resume(directory, options.budget, Silent(), more=More(anyway=True))
        with read_store(directory) as store:
            results = store.results()
    return results


def best_after(results: Sequence[Result], budget: int) -> tuple[Plan, ...]:
    """The plans that may be the best after `budget` evaluations, the default plan not counted: FINALISTS of them."""
    timed = ((cost_ms(result.outcome), result) for result in results if result.evaluation.number <= budget)
    found = [(ms, result.evaluation.number, result.evaluation.plan) for ms, result in timed if ms is not None]
    return tuple(plan for _, _, plan in sorted(found, key=lambda one: one[:2])[:FINALISTS])


@dataclass(frozen=True, slots=True)
class Searches:
    """The best plans of the searches of a program with a seed, by way and budget, and what they take, in turns."""

    title: str
    plans: Mapping[tuple[str, int], tuple[Plan, ...]]
    times_ms: Mapping[Plan, float]

    def ms(self, way: str, budget: int) -> float:
        """The time of the best plan of a way at a budget; infinite where it had none."""
        return self.best(way, budget)[0]

    def best(self, way: str, budget: int) -> tuple[float, int]:
        """That time, and how many kernels the plan has."""
        found = [(self.times_ms.get(plan, inf), len(plan.kernels)) for plan in self.plans[way, budget]]
        return min(found, default=(inf, 0))


def again(options: RunOptions, plans: Sequence[Plan]) -> dict[Plan, float]:
    """What each of `plans` takes when all are measured in turns: the median over sittings."""
    problem = PARTS.read_problem(options, lambda _: None)
    with (
        TemporaryDirectory(prefix="antune-taught-") as folder,
        closing(PARTS.open_runner(problem, options.place, limits_of(options), Path(folder))) as runner,
    ):
        jobs = [Job(number, plan) for number, plan in enumerate(plans)]
        sittings = hold_sittings(runner, jobs, options.seed, SITTINGS)
    times = {plan: [ms for one in sittings if number in one and (ms := cost_ms(one[number])) is not None]
             for number, plan in enumerate(plans)}  # fmt: skip
    return {plan: median(found) for plan, found in times.items() if found}


def main(arguments: Sequence[str] | None = None) -> None:
    """Search and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+", metavar="PIPELINE")
    parser.add_argument("--explorer", default="colony")
    parser.add_argument("--only", nargs="+", metavar="WAY", help="beside the plain search, as the table calls them")
    parser.add_argument("--budgets", nargs="+", type=int, default=[5, 10, 20])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--size", choices=SIZES, default="medium")
    parser.add_argument("--device", default="intel")
    parser.add_argument("--out", type=Path, default=Path("taught-searches"))
    given = parser.parse_args(arguments)
    chosen = [way for way in ways(given.explorer) if way.name in (given.explorer, *(given.only or (way.name,)))]
    found = []
    for name in given.programs:
        for seed in range(given.seeds):
            found.append(_searched(name, seed, chosen, given))
            print(f"{found[-1].title}: measured again {len(found[-1].times_ms)} plans", file=sys.stderr, flush=True)
    _print_ratios(found, given.explorer, [way for way in chosen[1:] if way.explorer == given.explorer], given.budgets)
    _print_first(found, given.explorer, [way for way in chosen if way.explorer in ONE_SHOT], given.budgets)


def _searched(name: str, seed: int, chosen: Sequence[Way], given: argparse.Namespace) -> Searches:
    """One program with one seed, in each of the ways."""
    plans: dict[tuple[str, int], tuple[Plan, ...]] = {}
    for way in chosen:
        alone = way.explorer in ONE_SHOT
        budgets = [FIRST] if alone else given.budgets
        options = options_of(name, given.size, way, max(budgets), seed, given.device)
        folder = f"{name}-{way.name}-{seed}".replace(" ", "").replace("--", "-").replace(",", "-")
        results = results_of(options, given.out / folder)
        for budget in budgets:
            counted = [one for one in results if not alone or one.evaluation.number == 1]
            plans[way.name, budget] = best_after(counted, budget)
    options = options_of(name, given.size, chosen[0], max(given.budgets), seed, given.device)
    every = tuple(dict.fromkeys(plan for found in plans.values() for plan in found))
    return Searches(f"{name}, seed {seed}", plans, again(options, every))


def _print_ratios(found: Sequence[Searches], explorer: str, taught: Sequence[Way], budgets: Sequence[int]) -> None:
    print("| time without / with models |", *(f"after {budget} |" for budget in budgets))
    print("|---|" + "---|" * len(budgets))
    for way in taught:
        ratios: list[list[float]] = []
        for one in found:
            ratios.append([one.ms(explorer, budget) / one.ms(way.name, budget) for budget in budgets])
            print(f"| {way.name}, {one.title} |", *(f"{ratio:.2f} |" for ratio in ratios[-1]))
        means = (geometric_mean(column) for column in zip(*ratios, strict=True))
        print(f"| {way.name}, geometric mean |", *(f"{mean:.2f} |" for mean in means))


def _print_first(found: Sequence[Searches], explorer: str, makers: Sequence[Way], budgets: Sequence[int]) -> None:
    """The first plans of the models, which no search has improved, and the best of the plain search."""
    columns = [*((way.name, FIRST) for way in makers), *((explorer, budget) for budget in budgets)]
    heads = [*(way.name for way in makers), *(f"{explorer}@{budget}" for budget in budgets)]
    print(f"\n| time / time of the best plan | {' | '.join(heads)} |\n|---|" + "---|" * len(heads))
    for one in found:
        best = min(one.times_ms.values())
        cells = [f"{ms / best:.2f} ({kernels}) |" for ms, kernels in (one.best(*column) for column in columns)]
        print(f"| {one.title} |", *cells)


if __name__ == "__main__":
    main()
