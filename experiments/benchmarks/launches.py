"""How much of a GPU do the launches of skewed plans fill, at LARGE? `python -m experiments.benchmarks.launches`.

Counts of the generated schedules, without a GPU and without running the programs: seidel-2d in tiles of a wavefront of
several sizes, with a tile in each thread, along diagonals and with inner tiles; and the random plan of adi at level o3
that keeps the most threads busy. Printed as Markdown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from math import prod
from typing import Annotated

import typer

from experiments.benchmarks.wavefronts import LANES_OF_A_GPU, random_plans
from experiments.script import run
from experiments.suites.polybench import program_file
from generator.frontend_c.extract import extract
from generator.frontend_c.parse import read_scop
from generator.frontend_c.probing import needed_extents
from generator.frontend_c.source import Compilation
from generator.lowering.analysis.parallelism import BlockCounts, Parallelism, mean, parallelism
from generator.plan import KernelPlan, Plan
from generator.polyhedral.dependences.expansion import expand
from generator.program import Program
from generator.schedules.hyperplanes import Hyperplanes, LoopNest

SMS = 132
"""Of an H100 or H200 (SXM): NVIDIA H100 Tensor Core GPU Architecture, table 3."""
SEIDEL, ADI = {"tsteps": 500, "n": 2000}, {"tsteps": 500, "n": 1000}
"""The LARGE sizes."""
MOST_BLOCKS, MOST_THREADS = 32, 2048
"""That an SM holds at a time (the same table); registers and shared memory may allow fewer blocks."""
ROWS = (((1, 0, 0, 0),), ((1, 1, 0, 0),), ((2, 1, 1, 0),))
TILES: tuple[tuple[tuple[int, int, int], tuple[int, int], int], ...] = (
    ((4, 16, 16), (4, 16), 1),
    ((4, 16, 32), (4, 16), 1),
    ((4, 16, 32), (2, 8), 2),
    ((8, 32, 32), (8, 32), 1),
    ((8, 32, 32), (4, 16), 2),
    ((16, 64, 64), (16, 64), 1),
    ((16, 64, 64), (8, 32), 2),
)
"""Tiles of seidel-2d, threads along their first two rows, inner tiles."""


def sized(name: str, sizes: Mapping[str, int]) -> Program:
    """Return a program of PolyBench at these sizes, without running it."""
    source = read_scop(program_file(name), Compilation(defines=("LARGE_DATASET",)))
    return expand(extract(source, sizes, needed_extents(source, sizes, {})))


def resident_share(one: Parallelism, counts: BlockCounts, block: int) -> float:
    """Return busy threads as a share of those that the GPU holds; of a launch's blocks only those that fit at once."""
    together = SMS * min(MOST_BLOCKS, MOST_THREADS // block)
    return one.total * counts.mean(together) / counts.mean() / LANES_OF_A_GPU


def cells(what: str, one: Parallelism, block: int) -> str:
    """Return a row of the table; blocks that are not counted launch by launch are "-"."""
    blocks, filled, resident = "- | - | -", "-", "-"
    if (counts := one.counts) is not None:
        blocks = f"{counts.least} | {counts.median:g} | {counts.most}"
        filled, resident = f"{min(1.0, counts.median / SMS):.0%}", f"{resident_share(one, counts, block):.1%}"
    active = "-" if one.active is None else f"{one.active:.0%}"
    return f"| {what} | {block} | {one.launches} | {blocks} | {active} | {one.total:.0f} | {filled} | {resident} |"


def seidel(program: Program) -> Iterator[str]:
    """Yield the rows of seidel-2d."""
    for sizes, block, inner in TILES:
        schedule = Hyperplanes((LoopNest(("S0",), ROWS, (), sizes),))
        kernel = KernelPlan(("S0",), (1, 1), block, diagonals=True, inner_tile=inner)
        alone = KernelPlan(("S0",), (1, 32), (1, 32))
        of = " x ".join(map(str, sizes))
        if inner == 1:
            [single] = parallelism(program, Plan(schedule, (alone,)))
            yield cells(f"seidel-2d, {of}, a tile per thread", single, 32)
        [found] = parallelism(program, Plan(schedule, (kernel,)))
        yield cells(f"seidel-2d, {of}, diagonals{f', inner tiles of {inner}' if inner > 1 else ''}", found,
                    block[0] * block[1])


def adi(program: Program, count: int) -> Iterator[str]:
    """Yield the rows of adi: the kernels in the time loop of the best of random plans."""
    plans = [(mean(parallelism(program, plan)), plan) for plan in random_plans(program, count)]
    _, best = max(plans, key=lambda one: one[0])
    for one in parallelism(program, best):
        if one.launches > 1:
            yield cells(f"adi, {' '.join(one.statements)}", one, prod(best.kernel(one.statements).block))


def main(
    count: Annotated[int, typer.Option("--count", help="Random plans of adi.")] = 12,
) -> None:
    """Count the blocks and busy threads of launches."""
    print("| plan | threads per block | launches | blocks: min | median | max | active in a diagonal | busy threads | "
          "SMs with a block | of the resident threads |\n|---|---|---|---|---|---|---|---|---|---|", flush=True)
    for row in chain(seidel(sized("seidel-2d", SEIDEL)), adi(sized("adi", ADI), count)):
        print(row, flush=True)


if __name__ == "__main__":
    run(main)
