"""How many GPU threads do schedules with dependences in all loops keep busy? This needs no GPU: `python -m
experiments.benchmarks.wavefronts [--size S] [NAME ...]`.

Random walks of level o3, along wavefronts if there are any. The result is the number of threads that have work at the
same time, on average over all launches: with each tile in one thread, and with tiles along diagonals in blocks
(`generator.lowering.analysis.parallelism`), for the same schedules. The table is printed as Markdown with the median
over the plans and the maximum in brackets. Plans with too many points to count are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Annotated

import numpy as np
import typer

from experiments.benchmarks.inner_loops import HOPPER
from experiments.script import run
from experiments.search.parts import PARTS
from experiments.suites.polybench import program_file
from experiments.values.options import Budget, RunOptions
from generator.errors import IllegalPlan
from generator.frontend_c.source import Compilation
from generator.lowering import lower
from generator.lowering.analysis.parallelism import mean, parallelism
from generator.plan import Plan
from generator.program import Program
from generator.reading import read_problem
from graph.optimization_graph import OptimizationGraph
from graph.policies import Preferences, prefer, uniform

PROGRAMS = ("seidel-2d", "adi")
LANES_OF_A_GPU = 132 * 2048
"""Resident threads of an H100: NVIDIA H100 Tensor Core GPU Architecture, table 3 (132 SMs of 2048)."""
ALONG: Preferences = {
    ("several time steps per launch", ()): False,
    ("parallel reduction", ()): False,
    ("diagonals of tiles", ()): True,
    **{(f"tile wavefront {n}", ()): True for n in range(1, 6)},
}


def random_plans(program: Program, count: int) -> Iterator[Plan]:
    """Yield plans of random walks of level o3 that can be lowered."""
    options = RunOptions("program.c", Compilation(), Budget(evaluations=1), level="o3")
    space = PARTS.make_space(program, HOPPER, options)
    for seed in range(count):
        walk = OptimizationGraph().walk(space, prefer(ALONG, uniform(np.random.default_rng(seed))))
        if walk is not None:
            with suppress(IllegalPlan):
                lower(program, walk.plan, HOPPER)
                yield walk.plan


def alone(plan: Plan) -> Plan:
    """Return the same plan with each tile of a wavefront in one thread, 32 of them per block."""
    return replace(
        plan,
        kernels=tuple(
            replace(k, tile=(*k.tile[:-1], 32), block=(*k.tile[:-1], 32), diagonals=False) if k.diagonals else k
            for k in plan.kernels
        ),
    )


def row(name: str, size: str, count: int) -> str:
    """Return one row of the table."""
    compilation = Compilation(defines=(f"{size}_DATASET",))
    program = read_problem(program_file(name), compilation, None, None, {}, 0).program
    found = [(plan, parallelism(program, plan)) for plan in random_plans(program, count)]
    counted = [(plan, kernels) for plan, kernels in found if all(one.exact for one in kernels)]
    inside = [mean(kernels) for _, kernels in counted]
    single = [mean(parallelism(program, alone(plan))) for plan, _ in counted]
    several = sum(any(kernel.diagonals for kernel in plan.kernels) for plan, _ in counted)
    cells = [
        name,
        f"{len(counted)}, {several} with diagonals",
        *(
            f"{np.median(n):.0f} ({max(n):.0f})"
            for n in ([sum(one.launches for one in kernels) for _, kernels in counted], single, inside)
        ),
    ]
    return f"| {' | '.join(cells)} | {np.median(inside) / LANES_OF_A_GPU:.1%} |"


def main(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME...", show_default=False)] = None,
    size: Annotated[str, typer.Option("--size")] = "LARGE",
    count: Annotated[int, typer.Option("--count", help="Random walks per program.")] = 40,
) -> None:
    """Count busy threads of wavefronts."""
    print(
        "| program | plans | launches | threads, a tile in each | threads, along diagonals | of an H100 |\n"
        "|---|---|---|---|---|---|",
        flush=True,
    )
    for name in names or PROGRAMS:
        print(row(name, size, count), flush=True)


if __name__ == "__main__":
    run(main)
