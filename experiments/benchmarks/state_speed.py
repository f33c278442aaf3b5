"""The cost of a step in the space of pipelines: `python -m experiments.benchmarks.state_speed [--stages N] [--walks
M]`.

Random walks through the states of `stencil_chain`. A step chooses an option and computes the next decision. The step
after the last stage computes the kernels with isl.
"""

from __future__ import annotations

import time
from typing import Annotated

import numpy as np
import typer

from experiments.script import run
from experiments.search.places import find_device
from experiments.search.spaces import make_reachable_space
from experiments.suites.image_pipelines import pipeline
from experiments.values.options import Budget, RunOptions
from generator.frontend_c.source import Compilation
from generator.garbage import collect_rarely
from generator.problem import program_of
from generator.reading import read_problem
from graph.space import DeadEnd
from graph.states import start_of

MS = 1000.0


def main(stages: Annotated[int, typer.Option(min=1)] = 100, walks: Annotated[int, typer.Option(min=1)] = 5,
         device: str | None = None) -> None:
    """Print milliseconds of processor time per step, by what is asked."""
    collect_rarely()  # as in antune's own processes: by default, all objects are looked through about once a run
    file = pipeline("stencil_chain").file
    problem = read_problem(file, Compilation(), None, None, {"width": 256, "height": 256, "stages": stages}, 0,
                           baselines=False)
    options = RunOptions(str(file), Compilation(), Budget(evaluations=1), space="pipeline")
    space = make_reachable_space(program_of(problem.subject), find_device(device).target, options)
    steps: dict[str, list[float]] = {}
    for seed in range(walks):
        rng, state = np.random.default_rng(seed), start_of(space)
        begin = time.process_time()
        while (decision := state.decision) is not None:
            state = state.choose(state.options[int(rng.integers(len(state.options)))])
            try:
                _ = state.decision
            except DeadEnd:
                break
            now = time.process_time()
            steps.setdefault(decision.name, []).append(MS * (now - begin))
            begin = now
    for name, taken in steps.items():
        print(f"{name:40} {len(taken):6} steps, median {np.median(taken):8.4f} ms, 99 % below "
              f"{np.quantile(taken, 0.99):8.3f}, most {max(taken):9.2f}")
    every = [one for taken in steps.values() for one in taken]
    print(f"{'all':40} {len(every):6} steps, median {np.median(every):8.4f} ms, mean {np.mean(every):8.4f}")


if __name__ == "__main__":
    run(main)
