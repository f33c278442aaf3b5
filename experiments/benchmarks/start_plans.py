"""The time until a search on a GPU has its first walks: `python -m experiments.benchmarks.start_plans [NAME ...]`.

For PolyBench programs (in floats, LARGE) and pipelines (at full size), it prints the processor seconds of all start
plans for an H100, their number and a digest of them, which shows whether a change of the generator changed plans. Then
the median processor seconds in which the colony chooses 10 more walks, as in each iteration of a search, and a digest
of the last ones. No GPU is needed, and nothing is compiled.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import sha256
from statistics import median
from typing import Annotated, TypeVar

import numpy as np
import typer

from experiments.benchmarks.inner_loops import HOPPER, options_of, read
from experiments.script import run
from experiments.search.parts import PARTS
from experiments.values.options import RunOptions
from generator.garbage import collect_rarely
from generator.program import Program
from graph.walk import Walk
from metrics.outcome import Durations, Timed

NAMES = ("gemm", "mvt", "correlation", "deriche", "stencil_chain", "local_laplacian", "interpolate", "pyramid_blend",
         "lens_blur", "bilateral_upsample")
ANTS, ITERATIONS = 10, 5
T = TypeVar("T")


def main(names: Annotated[list[str] | None, typer.Argument(help="PolyBench programs and pipelines")] = None,
         ask: Annotated[bool, typer.Option(help="time the colony, too")] = True) -> None:
    """Print a row per program."""
    collect_rarely()  # as in antune's own processes
    programs = {name: read(name) for name in names or NAMES}  # a refusal comes before the first row
    print(f"{'program':20}{'starts':>7}{'s':>7}  {'digest':10}" + (f"{'ask, s':>7}  digest" if ask else ""))
    for name, program in programs.items():
        options = options_of(name)
        starts, seconds = timed(partial(PARTS.starts, program, HOPPER, options))
        row = f"{name:20}{len(starts):7}{seconds:7.2f}  {digest(starts):10}"
        print(row + (asked(program, options, starts) if ask else ""), flush=True)


def asked(program: Program, options: RunOptions, starts: Sequence[Walk]) -> str:
    """Return the end of a row: the colony's time per iteration after the start plans, with random costs."""
    explorer = PARTS.make_explorer("colony", PARTS.make_space(program, HOPPER, options), 0, starts)
    rng, times, walks = np.random.default_rng(1), list[float](), list[Walk]()
    for _ in range(len(starts) // ANTS + 1 + ITERATIONS):
        found, seconds = timed(partial(explorer.ask, ANTS))
        times.append(seconds)
        walks = list(found)
        for walk in walks:
            ms = float(rng.lognormal()) + 0.1
            explorer.tell(walk, Timed(ms, ms, ms, (ms,), ms, (), walk.identity, False, Durations()))
    return f"{median(times[-ITERATIONS:]):7.3f}  {digest(walks)}"


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """Return the result of `work` and its processor seconds."""
    begin = time.process_time()
    return work(), time.process_time() - begin


def digest(walks: Sequence[Walk]) -> str:
    """Return eight digits that differ for other walks."""
    return sha256(" ".join(walk.identity for walk in walks).encode()).hexdigest()[:8]


if __name__ == "__main__":
    run(main)
