"""The time to plan a large image pipeline: `python -m experiments.benchmarks.pipeline_speed [NAME]
[PARAMETER=VALUE...]`.

For a pipeline of the suite at full size (by default local_laplacian, 85 statements; `stencil_chain stages=100` is
longer), the processor times: to make the search space; to draw a random plan (the first one, and the median of later
ones); to draw other kernels for stages drawn before; to lower a plan with a new schedule and with a known one; and the
same for the plan that computes every stage in its own kernel. Each is the best of three processes, because other work
on the machine also lengthens processor times.
"""

from __future__ import annotations

import json
import multiprocessing
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from experiments.script import numbers_of, plain_errors
from experiments.search.parts import PARTS
from experiments.suites.image_pipelines import pipeline
from experiments.values.options import Budget, RunOptions
from generator.frontend_c.source import Compilation
from generator.frontend_py.load import load_pipeline
from generator.frontend_py.problem import program_of
from generator.lowering import lower
from generator.lowering.heuristics.default import default_plan
from generator.plan import plan_from_json
from generator.program import Program
from generator.schedules.stages import Stages
from generator.target import Target
from graph.optimization_graph import OptimizationGraph
from graph.policies import prefer, preferences, uniform
from graph.space import Space
from graph.walk import Walk

_Made = TypeVar("_Made")
PROCESSES = 3
PLANS = 4
TARGET = Target("benchmark", "opencl", 1024, (1024, 1024, 64), 1 << 20, 8, True, True)


def _program(words: Sequence[str]) -> Program:
    """Return the program of a name, followed by parameters as on the command line."""
    found, parameters = pipeline(words[0]), numbers_of(words[1:])
    sizes = dict(found.parameters_at("full"))
    return program_of(load_pipeline(found.file, sizes | parameters), list(sizes.values()))


def _timed(make: Callable[[], _Made]) -> tuple[_Made, float]:
    """Return the result of `make` and the seconds of processor time that it took."""
    start = time.process_time()
    made = make()
    return made, time.process_time() - start


def _space(program: Program) -> Space:
    return PARTS.make_space(program, TARGET, RunOptions("pipeline.py", Compilation(), Budget(1), space="pipeline"))


def _asked(words: Sequence[str]) -> tuple[dict[str, float], list[str]]:
    """Return seconds, and the drawn plans as JSON; the last is the one with a kernel per stage."""
    program = _program(words)
    space, making = _timed(lambda: _space(program))
    graph = OptimizationGraph()
    walks: list[Walk] = []
    asking = []
    for number in range(PLANS):
        walk, seconds = _timed(lambda: graph.walk(space, uniform(np.random.default_rng(number))))  # noqa: B023 - called at once
        asking.append(seconds)
        walks += [walk] if walk is not None else []
    again = [_timed(lambda: _other_kernels(graph, space, walk, number))[1] for number in range(PLANS) for walk in walks]  # noqa: B023
    lowering = [_timed(lambda: lower(program, walk.plan, TARGET))[1] for walk in walks]  # noqa: B023
    single, default = _timed(lambda: default_plan(program, TARGET, choice=Stages()))
    found = {"make the space": making, "first plan": asking[0], "further plans": statistics.median(asking[1:]),
             "further plans, stages as before": statistics.median(again),
             "lower a plan, schedule known": statistics.median(lowering), "plan with a kernel per stage": default,
             "lower it, schedule known": _timed(lambda: lower(program, single, TARGET))[1]}
    return found, [plan.to_json() for plan in (*(walk.plan for walk in walks), single)]


def _other_kernels(graph: OptimizationGraph, space: Space, walk: Walk, number: int) -> None:
    """Draw the stages of `walk` again with other sizes."""
    stages = preferences(choice for choice in walk.choices if choice.decision.name == "stage")
    graph.walk(space, prefer(stages, uniform(np.random.default_rng(1000 + number))))


def _lowered(words: Sequence[str], plan: str) -> float:
    """Return the seconds to lower a plan with nothing cached."""
    program, read = _program(words), plan_from_json(plan)
    return _timed(lambda: lower(program, read, TARGET))[1]


def main(words: Sequence[str]) -> None:
    """Print one line per measurement. Raises InputError for another pipeline or parameter."""
    count = len(_program(words).statements)
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        rounds = [pool.apply(_asked, (words,)) for _ in range(PROCESSES)]
        found = {what: min(seconds[what] for seconds, _ in rounds) for what in rounds[0][0]}
        *plans, single = rounds[0][1]
        found["lower a plan, nothing known"] = statistics.median(
            min(pool.apply(_lowered, (words, plan)) for _ in range(PROCESSES)) for plan in plans)
        found["lower that with a kernel per stage, nothing known"] = min(
            pool.apply(_lowered, (words, single)) for _ in range(PROCESSES)
        )
    kernels = ", ".join(str(len(json.loads(plan)["kernels"])) for plan in (*plans, single))
    print(f"{' '.join(words)}: {count} statements; plans with {kernels} kernels")
    for what, seconds in found.items():
        print(f"{what:50} {seconds:7.3f} s")


if __name__ == "__main__":
    with plain_errors():
        main(sys.argv[1:] or ["local_laplacian"])
