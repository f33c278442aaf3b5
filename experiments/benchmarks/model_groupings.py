"""Kernels as grouped by cost models: `python -m experiments.benchmarks.model_groupings [PIPELINE...]`.

For the pipelines of the suite at full size, on a CPU and on GPUs of compute capability 9.0 (as far as a Target
describes them): the number of kernels in the best plan of each plan maker, how many of them compute several stages, how
many stages are inlined, and the processor time of grouping. Nothing is compiled or run.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence

from experiments.search.modelled import MAKERS
from experiments.suites.image_pipelines import PIPELINES, Pipeline
from explorer.plan_makers.choices import Made
from generator.frontend_py.load import load_pipeline
from generator.frontend_py.problem import program_of, sizes_of
from generator.polyhedral.pipelines.dataflow import dataflow
from generator.program import Program
from generator.target import Target

CPU = Target("CPU", "opencl", 4096, (4096, 4096, 4096), 256 * 1024, 16, True, True)
GPU = Target("H100", "cuda", 1024, (1024, 1024, 64), 227 * 1024, 132, True, False, sub_group=32, capability=(9, 0))


def program_at_full_size(pipeline: Pipeline) -> Program:
    """Return the Program at full size, without running anything."""
    parameters = dict(pipeline.parameters_at("full"))
    return program_of(load_pipeline(pipeline.file, parameters), sizes_of(parameters), pipeline.name)


def described(made: Made) -> str:
    """Return a grouping in words, `3 (2), 5 inlined`: kernels, those of several stages, inlined stages."""
    if not made.groupings:
        return "none"
    kernels = made.groupings[0].kernels
    fused = sum(bool(kernel.group.members) for kernel in kernels)
    inlined = len(set().union(*(kernel.group.inlined for kernel in kernels)))
    return f"{len(kernels) + len(made.left)} ({fused}), {inlined}"


def rows(pipelines: Sequence[Pipeline]) -> Iterator[str]:
    """Yield a row per pipeline."""
    for pipeline in pipelines:
        program = program_at_full_size(pipeline)
        cells, seconds = [], 0.0
        for target in (CPU, GPU):
            for maker in MAKERS.values():
                before = time.process_time()
                cells.append(described(maker(program, target, 1, None)))
                seconds = max(seconds, time.process_time() - before)
        yield f"| {pipeline.name} | {len(dataflow(program).nodes)} | {' | '.join(cells)} | {seconds:.1f} |"


def main(names: Sequence[str]) -> None:
    """Print the table."""
    chosen = [one for one in PIPELINES if not names or one.name in names]
    heads = [f"{maker}, {target.name}" for target in (CPU, GPU) for maker in MAKERS]
    print(f"| pipeline | stages | {' | '.join(heads)} | most seconds |")
    print("|---|---|" + "---|" * (len(heads) + 1))
    for row in rows(chosen):
        print(row, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
