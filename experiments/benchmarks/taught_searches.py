"""What cost models teach a search: `python -m experiments.benchmarks.taught_searches PIPELINE... [--device intel]`.

For each pipeline of the suite and each seed, an explorer searches with its usual start plans, with the best plans of
cost models before them (--models), with foretold costs as the mean function of its screening (--foretell), as the
desirability of its ants (--foresee), and with all three, one run right after the other; so do, for a few evaluations,
the explorers that follow one model alone. The runs are kept below --out, and those that are there already are not made
again. Prints, at each budget, the best time without models over the best time with them; then how long the first plan
of each model takes, over the best plan of all.

Times are those of the searches: on a machine with other work the ratios of single programs say little, their geometric
mean a bit more.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path

from experiments.run import tune
from experiments.store import is_run, read_store
from experiments.suites.image_pipelines import SIZES, SizeName, pipeline
from experiments.values.options import Budget, RunOptions
from experiments.values.records import Result, RunInfo
from explorer.registry import PLAN_MAKERS
from generator.frontend_c.source import Compilation
from metrics.outcome import cost_ms
from metrics.statistics import geometric_mean

MODEL = "sioutas"
"""Of mean function and desirability."""
FIRST = 2
"""Evaluations after the default plan of those that follow one model alone: their first plans are wanted."""


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
    """The explorer as it is; with plans of models, with a mean function, with a desirability, with all three; and each
    plan maker.
    """
    return (Way(explorer, explorer), Way(f"{explorer} --models", explorer, PLAN_MAKERS),
            Way(f"{explorer} --foretell", explorer, foretell=MODEL),
            Way(f"{explorer} --foresee", explorer, foresee=MODEL),
            Way(f"{explorer}, all", explorer, PLAN_MAKERS, MODEL, MODEL),
            *(Way(maker, maker) for maker in PLAN_MAKERS))


def options_of(name: str, size: SizeName, way: Way, budget: int, seed: int, device: str) -> RunOptions:
    """The options of a run."""
    program = pipeline(name)
    return RunOptions(str(program.file), Compilation(), Budget(evaluations=budget), explorer=way.explorer, seed=seed,
                      parameters=program.parameters_at(size), device=device, space="pipeline", models=way.models,
                      foretell=way.foretell, foresee=way.foresee)


def results_of(options: RunOptions, directory: Path) -> tuple[Result, ...]:
    """The results of a run, which is made unless it is there."""
    if not is_run(directory):
        tune(replace(options, timing=replace(options.timing, finalists=0)), directory, Silent())
    with read_store(directory) as store:
        return store.results()


def best_after(results: Sequence[Result], budget: int) -> float:
    """The best time of the first `budget` evaluations, the default plan included, in milliseconds."""
    times = (cost_ms(result.outcome) for result in results if result.evaluation.number <= budget)
    return min((ms for ms in times if ms is not None), default=inf)


def main(arguments: Sequence[str] | None = None) -> None:
    """Search and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+", metavar="PIPELINE")
    parser.add_argument("--explorer", default="colony")
    parser.add_argument("--budgets", nargs="+", type=int, default=[5, 10, 20])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--size", choices=SIZES, default="medium")
    parser.add_argument("--device", default="intel")
    parser.add_argument("--out", type=Path, default=Path("taught-searches"))
    given = parser.parse_args(arguments)
    table: dict[tuple[str, int], dict[str, tuple[Result, ...]]] = {}
    for name in given.programs:
        for seed in range(given.seeds):
            table[name, seed] = {}
            for way in ways(given.explorer):
                budget = FIRST if way.explorer in PLAN_MAKERS else max(given.budgets)
                options = options_of(name, given.size, way, budget, seed, given.device)
                folder = f"{name}-{way.name}-{seed}".replace(" ", "").replace("--", "-").replace(",", "-")
                table[name, seed][way.name] = results_of(options, given.out / folder)
    _print_ratios(table, given.explorer, given.budgets)
    _print_first(table)


def _print_ratios(table: dict[tuple[str, int], dict[str, tuple[Result, ...]]], explorer: str,
                  budgets: Sequence[int]) -> None:
    print("| time without / with models |", *(f"after {budget} |" for budget in budgets))
    print("|---|" + "---|" * len(budgets))
    for way in [way.name for way in ways(explorer)[1:] if way.explorer == explorer]:
        ratios: dict[int, list[float]] = {budget: [] for budget in budgets}
        for (name, seed), found in table.items():
            for budget in budgets:
                ratios[budget].append(best_after(found[explorer], budget) / best_after(found[way], budget))
            print(f"| {way}, {name}, seed {seed} |", *(f"{ratios[budget][-1]:.2f} |" for budget in budgets))
        print(f"| {way}, geometric mean |", *(f"{geometric_mean(ratios[budget]):.2f} |" for budget in budgets))


def _print_first(table: dict[tuple[str, int], dict[str, tuple[Result, ...]]]) -> None:
    """The first plans of the models, which no search has improved."""
    print("\n| first plan / best plan of all |", *(f"{maker} |" for maker in PLAN_MAKERS))
    print("|---|" + "---|" * len(PLAN_MAKERS))
    for (name, seed), found in table.items():
        best = min(best_after(results, len(results)) for results in found.values())
        cells = []
        for maker in PLAN_MAKERS:
            first = [ms for result in found[maker] if result.evaluation.number == 1
                     and (ms := cost_ms(result.outcome)) is not None]
            cells.append(f"{first[0] / best:.2f} |" if first else "failed |")
        print(f"| {name}, seed {seed} |", *cells)


if __name__ == "__main__":
    main()
