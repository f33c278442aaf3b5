"""The value of cost models in a search: `python -m experiments.benchmarks.taught_searches PIPELINE... [--device
intel]`.

For each pipeline of the suite and each seed, an explorer searches in several ways, directly after each other: with its
default start plans, with the best plans of cost models before them (--models: of two plan makers, of a beam), with
predicted costs as the mean function of its screening (--foretell) or instead of it (--foretell only:MODEL), with plans
of a beam and the mean function of its model, with predictions as the desirability of its ants (--foresee), and with
plans of plan makers and both of these. The predictions are those of Sioutas' model, and also of the learned one. The
explorers that follow one model alone search, too, for a few evaluations. The runs are kept below --out; existing ones
are not repeated, but continued if they have fewer evaluations. Then the best plans of each search at each budget are
measured again, in turns in one process: on a machine with other work, times taken minutes apart are hard to compare.
Prints, at each budget, the time of the best plan without models over that with them; then the times of the models'
first plans and of the plain search's best plans, over the best plan of all, and in parentheses their numbers of
kernels. --only WAY... leaves out the others.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from math import inf
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from experiments.run import More, resume, tune
from experiments.script import plain_errors
from experiments.search.parts import PARTS
from experiments.search.places import limits_of
from experiments.search.sittings import hold_sittings
from experiments.store import is_run, read_store
from experiments.suites.image_pipelines import SIZES, pipeline
from experiments.values.options import ONLY, Budget, RunOptions, Timing
from experiments.values.records import Ending, Result, RunInfo
from explorer.registry import PLAN_MAKERS
from generator.errors import InputError
from generator.frontend_c.source import Compilation
from generator.plan import Plan
from metrics.outcome import cost_ms
from metrics.statistics import geometric_mean
from runners.base import Job

MODEL, LEARNED = "sioutas", "learned"
"""The model of mean function and desirability; and that of another mean function."""
ONE_SHOT = (*PLAN_MAKERS, "beam")
"""Explorers that follow one model alone."""
FIRST = 2
"""Their evaluations: only their first plan is needed, which is evaluation 1."""
FINALISTS, SITTINGS = 4, 9
"""The number of plans of a search at a budget that are measured again, and of sittings."""


@dataclass(frozen=True, slots=True)
class Way:
    """An explorer and its models; `name` is used in the table and for its runs."""

    name: str
    explorer: str
    models: tuple[str, ...] = ()
    foretell: str | None = None
    foresee: str | None = None


class Silent:
    """A reporter that prints nothing."""

    def note(self, text: str) -> None:
        """Do nothing."""

    def begin(self, info: RunInfo, budget: Budget, stored: tuple[Result, ...], elapsed_s: float) -> None:
        """Do nothing."""

    def result(self, result: Result) -> None:
        """Do nothing."""


def ways(explorer: str) -> tuple[Way, ...]:
    """Return the plain explorer; with plans of plan makers, of a beam, with a mean function or a desirability by either
    model, with one model in place of the process, with several of these; and those that follow one model.
    """
    return (Way(explorer, explorer), Way(f"{explorer} --models", explorer, PLAN_MAKERS),
            Way(f"{explorer} --models beam", explorer, ("beam",)),
            Way(f"{explorer} --foretell", explorer, foretell=MODEL),
            Way(f"{explorer} --foretell {LEARNED}", explorer, foretell=LEARNED),
            Way(f"{explorer} --foretell {ONLY}{LEARNED}", explorer, foretell=ONLY + LEARNED),
            Way(f"{explorer} --models beam --foretell {LEARNED}", explorer, ("beam",), LEARNED),
            Way(f"{explorer} --foresee", explorer, foresee=MODEL),
            Way(f"{explorer} --foresee {LEARNED}", explorer, foresee=LEARNED),
            Way(f"{explorer}, all", explorer, PLAN_MAKERS, MODEL, MODEL),
            *(Way(name, name) for name in ONE_SHOT))


def chosen_ways(explorer: str, only: Sequence[str] | None) -> list[Way]:
    """Return the plain explorer, and the ways that `only` names, or all. Raises InputError for another name."""
    every = ways(explorer)
    if unknown := set(only or ()) - {way.name for way in every}:
        names = ", ".join(f'"{way.name}"' for way in every)
        raise InputError(f"--only: no way is called {min(unknown)!r}; there are: {names}")
    return [way for way in every if only is None or way.name in (explorer, *only)]


def options_of(name: str, way: Way, budget: int, seed: int, given: argparse.Namespace) -> RunOptions:
    """Return the options of a run."""
    program = pipeline(name)
    return RunOptions(str(program.file), Compilation(), Budget(evaluations=budget), explorer=way.explorer, seed=seed,
                      parameters=program.parameters_at(given.size), device=given.device, space="pipeline",
                      models=way.models, foretell=way.foretell, foresee=way.foresee,
                      timing=Timing(finalists=0, realtime=given.realtime))


def results_of(options: RunOptions, directory: Path) -> tuple[Result, ...]:
    """Return the results of a run, which is made or continued if necessary. Raises KeyboardInterrupt after Ctrl-C."""
    ending: Ending = "finished"
    if not is_run(directory):
        ending = tune(options, directory, Silent()).ending
    elif len(_stored(directory)) < (options.budget.evaluations or 0):
        ending = resume(directory, options.budget, Silent(), more=More(anyway=True)).ending
    if ending == "interrupted":
        raise KeyboardInterrupt
    return _stored(directory)


def _stored(directory: Path) -> tuple[Result, ...]:
    with read_store(directory) as store:
        return store.results()


def best_after(results: Sequence[Result], budget: int) -> tuple[Plan, ...]:
    """Return FINALISTS plans that may be the best after `budget` evaluations, without the default plan."""
    timed = ((cost_ms(result.outcome), result) for result in results if result.evaluation.number <= budget)
    found = [(ms, result.evaluation.number, result.evaluation.plan) for ms, result in timed if ms is not None]
    return tuple(plan for _, _, plan in sorted(found, key=lambda one: one[:2])[:FINALISTS])


@dataclass(frozen=True, slots=True)
class Searches:
    """The best plans of the searches of a program with a seed, by way and budget, and their times, measured in turns.
    """

    title: str
    plans: Mapping[tuple[str, int], tuple[Plan, ...]]
    times_ms: Mapping[Plan, float]

    def ms(self, way: str, budget: int) -> float:
        """Return the time of the best plan of a way at a budget; infinite if there is none."""
        plan = self.best(way, budget)
        return inf if plan is None else self.times_ms[plan]

    def best(self, way: str, budget: int) -> Plan | None:
        """Return that plan."""
        measured = [plan for plan in self.plans[way, budget] if plan in self.times_ms]
        return min(measured, key=self.times_ms.__getitem__, default=None)


def again(options: RunOptions, plans: Sequence[Plan]) -> dict[Plan, float]:
    """Return the times of `plans` measured in turns: the median over sittings."""
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
    parser.add_argument("--realtime", action="store_true", help="measure at real-time priority")
    given = parser.parse_args(arguments)
    for name in given.programs:
        pipeline(name)  # a refusal comes before the first search
    PARTS.check_explorer(given.explorer)
    chosen = chosen_ways(given.explorer, given.only)
    found = []
    for name in given.programs:
        for seed in range(given.seeds):
            found.append(searched(name, seed, chosen, given))
            print(f"{found[-1].title}: measured again {len(found[-1].times_ms)} plans", file=sys.stderr, flush=True)
    _print_ratios(found, given.explorer, [way for way in chosen[1:] if way.explorer == given.explorer], given.budgets)
    _print_first(found, given.explorer, [way for way in chosen if way.explorer in ONE_SHOT], given.budgets)


def searched(name: str, seed: int, chosen: Sequence[Way], given: argparse.Namespace) -> Searches:
    """Search one program with one seed, in each of the ways; then measure their best plans in turns.

    `given` has `budgets`, `out`, `size`, `device` and `realtime`.
    """
    plans: dict[tuple[str, int], tuple[Plan, ...]] = {}
    for way in chosen:
        alone = way.explorer in ONE_SHOT
        budgets = [FIRST] if alone else given.budgets
        options = options_of(name, way, max(budgets), seed, given)
        folder = f"{name}-{way.name}-{seed}".replace(" ", "").replace("--", "-").replace(",", "-")
        try:
            results = results_of(options, given.out / folder)
        except InputError as error:
            if not alone:
                raise
            print(f"{name}: {error}", file=sys.stderr)  # a model that has no plan for a program
            results = ()
        for budget in budgets:
            counted = [one for one in results if not alone or one.evaluation.number == 1]
            plans[way.name, budget] = best_after(counted, budget)
    options = options_of(name, chosen[0], max(given.budgets), seed, given)
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
    """Print the times of the models' first plans, which no search has improved, and of the plain search's best plans.
    """
    columns = [*((way.name, FIRST) for way in makers), *((explorer, budget) for budget in budgets)]
    heads = [*(way.name for way in makers), *(f"{explorer}@{budget}" for budget in budgets)]
    print(f"\n| time / time of the best plan | {' | '.join(heads)} |\n|---|" + "---|" * len(heads))
    for one in found:
        best = min(one.times_ms.values())
        print(f"| {one.title} |", *(_cell(one, *column, best) for column in columns))


def _cell(one: Searches, way: str, budget: int, best_ms: float) -> str:
    plan = one.best(way, budget)
    return "none |" if plan is None else f"{one.times_ms[plan] / best_ms:.2f} ({len(plan.kernels)}) |"


if __name__ == "__main__":
    with plain_errors():
        main()
