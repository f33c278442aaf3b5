"""Costs and gains of schedule matrices: `python -m experiments.benchmarks.hyperplanes [--device D] [--size S]
[NAME...]`.

For each program: the processor time (with child processes) to find all rows of its largest component, and of a random
walk of level o3. Then, all on one device, the times of the original C program, of the default plan, and of the best of
a few random plans of level o3 in three families: at most reordered loops (permute), loops that mix iterators (skew),
tiles along wavefronts. The table is printed as Markdown; `-` means that a family has no valid member.
"""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from experiments.script import run
from experiments.search.parts import PARTS
from experiments.values.options import Budget, RunOptions
from experiments.words import describe_ms, describe_ratio, describe_schedule
from generator.frontend_c.source import Compilation
from generator.lowering.heuristics.default import default_plan
from generator.plan import Plan
from generator.polyhedral.schedules.hyperplanes import O3
from generator.program import Program
from generator.reading import read_problem
from generator.schedules.hyperplanes import Hyperplanes, LoopNest
from generator.target import Target
from graph.o1 import TIME_TILES
from graph.optimization_graph import OptimizationGraph
from graph.policies import Preferences, prefer, preferences, uniform
from metrics.outcome import Timed
from runners.base import Job, Limits
from runners.registry import open_runner

SUITE = Path(__file__).parents[1] / "suites" / "polybench"
PROGRAMS = ("seidel-2d", "jacobi-1d", "jacobi-2d", "fdtd-2d", "adi")
FAMILIES = ("permute", "skew", "wavefront")
LEVELS = range(1, 6)


def wanted(family: str) -> Preferences:
    """Return the choices that lead to a family, where the space offers them."""
    kind = "permute" if family == "permute" else "skew"
    result: dict[tuple[str, tuple[str, ...]], str | int | bool] = {
        ("number of partitions", ()): 1,
        (TIME_TILES, ()): False,
    }
    for level in LEVELS:
        result |= {(f"schedule kind {level}", ()): kind, (f"tile wavefront {level}", ()): family == "wavefront",
                   (f"sweeps along diagonals {level}", ()): family == "skew"}
    return result


def family_of(plan: Plan) -> str:
    """Return the family in FAMILIES of a plan of level o3."""
    assert isinstance(plan.schedule, Hyperplanes)
    nests = list(_all_nests(plan.schedule.nests))
    if any(nest.wavefront for nest in nests):
        return "wavefront"
    mixed = any(sum(map(abs, v[:-1])) > 1 for nest in nests for row in nest.rows for v in row)
    return "skew" if mixed else "permute"


def _all_nests(nests: tuple[LoopNest, ...]) -> list[LoopNest]:
    return [found for nest in nests for found in (nest, *_all_nests(nest.parts))]


def _processor_s() -> float:
    """Return the processor time of this process and of the children that it waited for, because isl runs in some of
    them.
    """
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


@dataclass(frozen=True, slots=True)
class Searched:
    """Processor seconds for the rows of the largest component and for a walk (median), and plans by family."""

    rows_s: float
    rows: int
    walk_s: float
    plans: Mapping[str, list[Plan]]


def search(program: Program, target: Target, count: int) -> Searched:
    """Return rows and random walks of one program; `count` plans per family, with the kernels of a search's start
    plans.
    """
    begin = _processor_s()
    largest = max(O3(program).inside((), (), ()).components, key=lambda part: (len(part.statements), part.left))
    offer = O3(program).offer((), (), largest.statements, True)
    rows_s = _processor_s() - begin
    options = RunOptions("", Compilation(), Budget(evaluations=1), level="o3")
    space, starts = PARTS.make_space(program, target, options), PARTS.starts(program, target, options)
    plans: dict[str, list[Plan]] = {family: [] for family in FAMILIES}
    seconds = []
    for number in range(count * len(FAMILIES)):
        family = FAMILIES[number % len(FAMILIES)]
        kernels = {
            key: option for key, option in preferences(starts[number // len(FAMILIES) % 2].choices).items() if key[1]
        }
        begin = _processor_s()
        policy = prefer(dict(wanted(family)), prefer(kernels, uniform(np.random.default_rng(number))))
        walk = OptimizationGraph().walk(space, policy)
        seconds.append(_processor_s() - begin)
        if walk is not None and family_of(walk.plan) == family and walk.plan not in plans[family]:
            plans[family].append(walk.plan)
    return Searched(rows_s, len(offer.permute) + len(offer.skew), float(np.median(seconds)), plans)


def measure(name: str, defines: tuple[str, ...], device: str | None, count: int) -> str:
    """Return one row of the table; the fastest schedule is printed below it."""
    problem = read_problem(SUITE / f"{name}.c", Compilation(defines=defines), None, None, {}, 0)
    with tempfile.TemporaryDirectory(prefix="antune-benchmark-") as folder:
        runner = open_runner(problem, device, Limits(compile_s=120, run_s=60, max_repeats=10), Path(folder))
        try:
            target = runner.device.target
            found = search(problem.program, target, count)
            jobs = [("default", default_plan(problem.program, target)),
                    *((family, plan) for family, plans in found.plans.items() for plan in plans)]
            outcomes = dict(runner.evaluate([Job(n, plan) for n, (_, plan) in enumerate(jobs)]))
        finally:
            runner.close()
    times = [(outcome.median_ms, *jobs[n]) for n, outcome in outcomes.items() if isinstance(outcome, Timed)]
    best = {family: min((ms for ms, f, _ in times if f == family), default=None) for family in ("default", *FAMILIES)}
    sequential = min(problem.reference.sequential_ms)
    cells = [
        name,
        f"{found.rows} in {1e3 * found.rows_s:.0f} ms",
        f"{1e3 * found.walk_s:.0f} ms",
        describe_ms(sequential),
    ]
    cells += [f"{describe_ms(ms)} ({describe_ratio(sequential / ms)})" if ms else "-" for ms in best.values()]
    _, _, fastest = min(times, key=lambda entry: entry[0])
    return f"| {' | '.join(cells)} | {len(times)} of {len(jobs)} | {describe_schedule(fastest.scheduled)} |"


def main(names: Annotated[list[str] | None, typer.Argument(metavar="NAME...", show_default=False)] = None,
         device: Annotated[str | None, typer.Option("--device")] = None,
         size: Annotated[str, typer.Option("--size")] = "MEDIUM",
         count: Annotated[int, typer.Option("--count", help="Plans per family.")] = 4) -> None:
    """Measure schedule matrices of PolyBench programs."""
    print(
        "| program | rows of the largest component | walk | sequential C | default plan | permute | skew | wavefront | "
        "valid plans | the fastest |\n|---|---|---|---|---|---|---|---|---|---|",
        flush=True,
    )
    for name in names or PROGRAMS:
        print(measure(name, (f"{size}_DATASET", "DATA_TYPE_IS_FLOAT"), device, count), flush=True)


if __name__ == "__main__":
    run(main)
