"""Times of fusion by dynamic programming: `python -m experiments.benchmarks.fusion_times [PIPELINE...]`.

For the pipelines of the table of Jangda & Guha 2020 at full size, on targets for a CPU and GPUs, as far as a Target
describes them: the processor time in seconds to group the stages, best of three, and that of finding the data flow once
for all of them. Nothing is compiled or run.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from experiments.benchmarks.model_groupings import CPU, GPU, program_at_full_size
from experiments.script import plain_errors
from experiments.suites.image_pipelines import pipeline
from explorer.plan_makers.dynamic import dynamic_plans
from generator.errors import InputError
from generator.polyhedral.pipelines.dataflow import dataflow
from generator.target import Target
from metrics.costs.device import cost_device
from metrics.costs.polymage import PolyMage

PAPER = {"unsharp": 0.05, "harris": 0.15, "bilateral_grid": 0.02, "interpolate": 10.0, "camera_pipe": 17.0,
         "pyramid_blend": 28.0}
"""The seconds in the paper."""
GTX_1080_TI = Target("GTX 1080 Ti", "cuda", 1024, (1024, 1024, 64), 48 * 1024, 28, True, False, 32, capability=(6, 1))
TARGETS = (CPU, GTX_1080_TI, GPU)
TIMES = 3


def seconds(work: Callable[[], object], times: int = TIMES) -> float:
    """Return the least processor time of `work`."""
    found = []
    for _ in range(times):
        before = time.process_time()
        work()
        found.append(time.process_time() - before)
    return min(found)


def rows(names: Sequence[str]) -> Iterator[str]:
    """Yield a row per pipeline."""
    for name in names:
        program = program_at_full_size(pipeline(name))
        before = time.process_time()
        flow = dataflow(program)
        found = time.process_time() - before
        work = [partial(dynamic_plans, flow, cost_device(one), PolyMage()) for one in TARGETS]
        cells = [f"{seconds(one):.3f}" for one in work]
        yield f"| {name} | {len(flow.nodes)} | {' | '.join(cells)} | {found:.3f} | {PAPER[name]:g} |"


def main(names: Sequence[str]) -> None:
    """Print the table. Raises InputError for a pipeline that is not in the paper's."""
    if unknown := [name for name in names if name not in PAPER]:
        raise InputError(f"the paper's table has no pipeline {unknown[0]!r}; use {', '.join(PAPER)}")
    print(f"| pipeline | stages | {' | '.join(one.name for one in TARGETS)} | data flow | paper |")
    print("|---|---|" + "---|" * (len(TARGETS) + 2))
    for row in rows(names or [*PAPER]):
        print(row, flush=True)


if __name__ == "__main__":
    with plain_errors():
        main(sys.argv[1:])
