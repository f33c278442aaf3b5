"""Plans without measuring, plans of searches, and Halide's autoschedulers in one table: `python -m
experiments.benchmarks.beside_halide PIPELINE... --out DIR`.

For each pipeline of the suite: the plans of `sioutas`, `polymage-dp` and a beam, which nothing measured before, and the
best plans of a colony without models after each budget, and with the plans of a beam after the last one, all from runs
of `taught_searches` below --out, which are made if they are not there. They are measured in rounds with the code of
Halide's autoschedulers for CPUs on the same definitions, extents and inputs (the extra `peers`), by the wall clock. On
a machine with other work, run the command at real-time priority (`chrt -r 1 python -m ..`). Prints the times in
milliseconds, and the numbers of kernels in parentheses; then the time over that of the fastest of Halide's schedulers.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from experiments.benchmarks.taught_searches import FIRST, ONE_SHOT, chosen_ways, options_of, searched, ways
from experiments.script import plain_errors
from experiments.search.parts import PARTS
from experiments.search.places import limits_of
from experiments.studies.side_by_side.halide_peer import HALIDE, check_peers, halide_turns
from experiments.studies.side_by_side.peer_rounds import PeerTime, Turn, hold_rounds, turn_of
from experiments.suites.image_pipelines import SIZES, pipeline
from generator.plan import Plan
from metrics.statistics import geometric_mean
from runners.base import Job
from runners.locks import timing_lock

PLAIN, TAUGHT = "colony", "colony --models beam"
LIMIT_S = 120.0
"""The time limit in seconds for a scheduler of Halide to plan, compile and run."""


def plans_of(name: str, given: argparse.Namespace) -> Mapping[str, Plan]:
    """Return the plans to measure, by the heads of their columns; without those that do not exist."""
    found = searched(name, 0, chosen_ways(PLAIN, (*ONE_SHOT, TAUGHT)), given)
    columns = [*((maker, maker, FIRST) for maker in ONE_SHOT),
               *((f"{PLAIN}@{budget}", PLAIN, budget) for budget in given.budgets),
               (f"{TAUGHT}@{max(given.budgets)}", TAUGHT, max(given.budgets))]
    return {head: plan for head, way, budget in columns if (plan := found.best(way, budget))}


def times_of(name: str, plans: Mapping[str, Plan], given: argparse.Namespace) -> tuple[PeerTime, ...]:
    """Measure the plans and Halide's code in rounds."""
    options = options_of(name, ways(PLAIN)[0], max(given.budgets), 0, given)
    problem = PARTS.read_problem(options, lambda _: None)
    with (
        TemporaryDirectory(prefix="antune-halide-") as folder,
        closing(PARTS.open_runner(problem, options.place, limits_of(options), Path(folder))) as runner,
    ):
        device, numbers = runner.device, {plan: number for number, plan in enumerate(dict.fromkeys(plans.values()))}
        ours: dict[str, Turn] = {f"{number}": turn_of(runner, Job(number, plan)) for plan, number in numbers.items()}
        lock = timing_lock(device.key, device.target)
        with halide_turns(pipeline(name).file, options.parameters, problem, device.target, lock,
                          limit_s=LIMIT_S) as theirs:
            times = {time.name: time for time in hold_rounds({**ours, **theirs})}
    of_plans = (PeerTime(head, *_figures(times[f"{numbers[plan]}"])) for head, plan in plans.items())
    return (*of_plans, *(times[head] for head in theirs))


def _figures(time: PeerTime) -> tuple[float | None, str, tuple[float, ...]]:
    return time.ms, time.detail, time.rounds


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+", metavar="PIPELINE")
    parser.add_argument("--budgets", nargs="+", type=int, default=[20, 100])
    parser.add_argument("--size", choices=SIZES, default="medium")
    parser.add_argument("--device", default="intel")
    parser.add_argument("--out", type=Path, default=Path("taught-searches"))
    parser.add_argument("--realtime", action="store_true", help="measure the searches at real-time priority")
    given = parser.parse_args(arguments)
    for name in given.programs:
        pipeline(name)  # a refusal comes before the first search
    check_peers([HALIDE])
    found: dict[str, tuple[PeerTime, ...]] = {}
    kernels: dict[tuple[str, str], int] = {}
    for name in given.programs:
        plans = plans_of(name, given)
        kernels |= {(name, head): len(plan.kernels) for head, plan in plans.items()}
        found[name] = times_of(name, plans, given)
        for time in found[name]:
            print(f"{name}: {time.name}: {time.detail or f'{time.ms:.3g} ms'}", file=sys.stderr, flush=True)
    print_times(found, kernels)
    print_ratios(found)


def heads_of(found: Mapping[str, Sequence[PeerTime]]) -> list[str]:
    """Return the columns of the table, in the order in which they come first."""
    return list(dict.fromkeys(time.name for times in found.values() for time in times))


def print_times(found: Mapping[str, Sequence[PeerTime]], kernels: Mapping[tuple[str, str], int]) -> None:
    """Print the table of times, and of kernels by pipeline and column."""
    heads = heads_of(found)
    print(f"| milliseconds (kernels) | {' | '.join(heads)} |\n|---|" + "---|" * len(heads))
    for name, times in found.items():
        by_head = {time.name: time for time in times}
        print(f"| {name} |", *(f"{_cell(by_head.get(head), kernels.get((name, head)))} |" for head in heads))


def _cell(time: PeerTime | None, kernels: int | None) -> str:
    if time is None or time.ms is None:
        return "none" if time is None else time.detail
    return f"{time.ms:.3g}" + (f" ({kernels})" if kernels else "")


def print_ratios(found: Mapping[str, Sequence[PeerTime]]) -> None:
    """Print, per column of ours, Halide's least time over its time: above 1, ours is faster; with geometric means."""
    heads = [head for head in heads_of(found) if not head.startswith("Halide")]
    rows: dict[str, dict[str, float]] = {}
    for name, times in found.items():
        theirs = min((time.ms for time in times if time.ms and time.name not in heads), default=None)
        if theirs is not None:
            rows[name] = {time.name: theirs / time.ms for time in times if time.ms and time.name in heads}
    print(f"\n| Halide's best time / time | {' | '.join(heads)} |\n|---|" + "---|" * len(heads))
    for name, row in rows.items():
        print(f"| {name} |", *(f"{row[head]:.2f} |" if head in row else "none |" for head in heads))
    means = [[row[head] for row in rows.values() if head in row] for head in heads]
    print("| geometric mean |", *(f"{geometric_mean(mean):.2f} |" if mean else "none |" for mean in means))


if __name__ == "__main__":
    with plain_errors():
        main()
