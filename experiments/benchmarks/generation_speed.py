"""The time to generate one variant: `python -m experiments.benchmarks.generation_speed [PROGRAM...]`.

Prints the median processor time of lowering a Plan to a Variant with a cached schedule: with new kernels (every plan
has other tile sizes), and with cached kernels. Below are the median and the maximum over the programs, and the resident
memory of the process (MiB) after each quarter of all variants, which must not grow once the caches are full.
"""

from __future__ import annotations

import resource
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from experiments.script import plain_errors
from experiments.suites.polybench import program_file, programs
from generator.frontend_c.source import Compilation
from generator.lowering import lower
from generator.lowering.heuristics.default import default_plan
from generator.plan import Plan
from generator.program import Program
from generator.reading import read_problem
from generator.target import Target

VARIANTS = 2000
_BLOCKS = ((), (16,), (16, 16), (4, 8, 16))
TARGET = Target("benchmark", "opencl", 1024, (1024, 1024, 64), 1 << 20, 8, True, False)


def plans(program: Program) -> Iterator[Plan]:
    """Yield variations of the default plan that differ in every kernel."""
    base = default_plan(program, TARGET)
    for tile in (16, 32, 64, 128):
        for shared in (False, True):
            for unroll in (1, 4):
                yield Plan(base.schedule, tuple(
                    replace(k, tile=(tile,) * len(k.tile), block=_BLOCKS[len(k.block)], shared=shared,
                            inner_tile=32 if shared else 1, unroll=unroll) for k in base.kernels))


def measure(program: Program) -> tuple[float, float]:
    """Return median processor milliseconds per variant: with generated kernels, with cached kernels."""
    fresh: list[float] = []
    cached: list[float] = []
    for plan in plans(program):
        for times in (fresh, cached):
            start = time.process_time()
            lower(program, plan, TARGET)
            times.append(1e3 * (time.process_time() - start))
    return statistics.median(fresh), statistics.median(cached)


def resident_mib() -> float:
    """Return the resident memory of this process in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def memory(program: Program, count: int) -> list[float]:
    """Return resident MiB after each quarter of `count` different variants of a program."""
    base = default_plan(program, TARGET)
    held = []
    for number in range(count):
        kernels = tuple(
            replace(
                k,
                tile=(2 * len(k.block) + number,) * len(k.tile),
                block=(1,) * len(k.block),
                shared=False,
                inner_tile=1,
            )
            for k in base.kernels
        )
        lower(program, Plan(base.schedule, kernels), TARGET)
        if (number + 1) % (count // 4) == 0:
            held.append(resident_mib())
    return held


def main(names: list[str]) -> None:
    """Print one line per program."""
    files = {name: program_file(name) for name in names or programs()}
    print(f"{'program':14} {'ms/variant':>11} {'kernels cached':>15}")
    medians = []
    for name, file in files.items():
        problem = read_problem(file, Compilation(defines=("MEDIUM_DATASET",)), None, None, {}, 0)
        fresh, cached = measure(problem.program)
        medians.append(fresh)
        print(f"{name:14} {fresh:11.1f} {cached:15.2f}", flush=True)
    print(f"{'median':14} {statistics.median(medians):11.1f}\n{'worst':14} {max(medians):11.1f}")
    held = ", ".join(f"{mib:.0f}" for mib in memory(problem.program, VARIANTS))
    print(f"resident MiB after each quarter of {VARIANTS} variants of {name}: {held}")


if __name__ == "__main__":
    with plain_errors():
        main(sys.argv[1:])
