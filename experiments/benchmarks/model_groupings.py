"""Kernels as grouped by cost models: `python -m experiments.benchmarks.model_groupings [PIPELINE...]`.

For the pipelines of the suite at full size, on a CPU and on GPUs of compute capability 9.0 (as far as a Target
describes them): the number of kernels in the best plan of each plan maker, how many of them compute several stages, how
many stages are inlined, and the processor time of grouping; the same of the plan of a beam search, with its own
processor time. Nothing is compiled or run.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence

from experiments.script import plain_errors
from experiments.search.costs import planned
from experiments.search.guides.beam_plans import Asked, beam_plans
from experiments.search.guides.settings import BeamSettings
from experiments.search.modelled import MAKERS
from experiments.search.spaces import make_reachable_space
from experiments.suites.image_pipelines import PIPELINES, Pipeline, pipeline
from experiments.values.options import Budget, RunOptions
from explorer.plan_makers.choices import Made
from generator.errors import InputError
from generator.frontend_c.source import Compilation
from generator.frontend_py.load import load_pipeline
from generator.frontend_py.problem import program_of, sizes_of
from generator.polyhedral.pipelines.dataflow import dataflow
from generator.program import Program
from generator.target import Target
from metrics.costs.base import PlannedKernel
from metrics.costs.groups import Group

CPU = Target("CPU", "opencl", 4096, (4096, 4096, 4096), 256 * 1024, 16, True, True)
GPU = Target("H100", "cuda", 1024, (1024, 1024, 64), 227 * 1024, 132, True, False, sub_group=32, capability=(9, 0))


def program_at_full_size(one: Pipeline) -> Program:
    """Return the Program at full size, without running anything."""
    parameters = dict(one.parameters_at("full"))
    return program_of(load_pipeline(one.file, parameters), sizes_of(parameters), one.name)


def described(made: Made) -> str:
    """Return a grouping in words, `3 (2), 5 inlined`: kernels, those of several stages, inlined stages."""
    if not made.groupings:
        return "none"
    kernels = made.groupings[0].kernels
    fused = sum(bool(kernel.group.members) for kernel in kernels)
    inlined = len(set().union(*(kernel.group.inlined for kernel in kernels)))
    return f"{len(kernels) + len(made.left)} ({fused}), {inlined}"


def described_plan(kernels: Sequence[PlannedKernel]) -> str:
    """Return the kernels of a plan in the same words."""
    groups = [kernel.group for kernel in kernels if isinstance(kernel.group, Group)]
    inlined = set[str]().union(*(group.inlined for group in groups))
    return f"{len(kernels)} ({sum(bool(group.members) for group in groups)}), {len(inlined)}"


def beam(program: Program, target: Target) -> str:
    """Return what the one-shot plan of a beam search makes of a program, in words."""
    options = RunOptions(program.name, Compilation(), Budget(evaluations=1), space="pipeline")
    asked = Asked(program, target, 1, 0, None, BeamSettings(), make_reachable_space(program, target, options))
    try:
        return described_plan(planned(program, beam_plans(asked).plans[0]))
    except InputError:
        return "none"


def rows(pipelines: Sequence[Pipeline]) -> Iterator[str]:
    """Yield a row per pipeline."""
    for one in pipelines:
        program = program_at_full_size(one)
        cells, seconds = [], 0.0
        for target in (CPU, GPU):
            for maker in MAKERS.values():
                before = time.process_time()
                cells.append(described(maker(program, target, 1, None)))
                seconds = max(seconds, time.process_time() - before)
        before = time.process_time()
        cells += [f"{seconds:.1f}", *(beam(program, target) for target in (CPU, GPU))]
        took = time.process_time() - before
        yield f"| {one.name} | {len(dataflow(program).nodes)} | {' | '.join(cells)} | {took:.0f} |"


def main(names: Sequence[str]) -> None:
    """Print the table, of all pipelines if `names` is empty. Raises InputError for another name."""
    chosen = [pipeline(name) for name in names] or PIPELINES
    heads = [f"{maker}, {target.name}" for target in (CPU, GPU) for maker in MAKERS]
    heads += ["most seconds", *(f"beam, {target.name}" for target in (CPU, GPU)), "seconds of both beams"]
    print(f"| pipeline | stages | {' | '.join(heads)} |")
    print("|---|---|" + "---|" * len(heads))
    for row in rows(chosen):
        print(row, flush=True)


if __name__ == "__main__":
    with plain_errors():
        main(sys.argv[1:])
