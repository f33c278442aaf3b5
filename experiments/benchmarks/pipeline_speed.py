"""How long plans of a large image pipeline take: `python -m experiments.benchmarks.pipeline_speed [NAME]`.

For a pipeline of the suite at its full size (local_laplacian, 85 statements, unless another is named): processor time to make the
search space, to ask it for a random plan (the first one, and the median of those after it), to lower such a plan when nothing is
known of its schedule and when its schedule has been asked for before, and the same for the plan that computes every stage in a
kernel of its own. The best of three processes each, since other work on the machine lengthens processor time, too.
"""

from __future__ import annotations

import json
import multiprocessing
import statistics
import sys
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from experiments.options import Budget, RunOptions
from experiments.parts import PARTS
from experiments.suites.pipelines import PIPELINES, Pipeline
from generator.frontend_c.source import Compilation
from generator.frontend_py.load import load_pipeline
from generator.frontend_py.problem import program_of
from generator.lowering import lower
from generator.lowering.default import default_plan
from generator.plan import Plan, Stages, plan_from_json
from generator.program import Program
from generator.target import Target
from graph.optimization_graph import OptimizationGraph
from graph.policies import uniform
from graph.space import Space

_Made = TypeVar("_Made")
PROCESSES = 3
PLANS = 4
TARGET = Target("benchmark", "opencl", 1024, (1024, 1024, 64), 1 << 20, 8, True, True)


def _program(pipeline: Pipeline) -> Program:
    sizes = dict(pipeline.parameters_at("full"))
    return program_of(load_pipeline(pipeline.file, None, sizes), list(sizes.values()))


def _timed(make: Callable[[], _Made]) -> tuple[_Made, float]:
    """What `make` returns, and the seconds of processor time that it took."""
    start = time.process_time()
    made = make()
    return made, time.process_time() - start


def _space(program: Program) -> Space:
    return PARTS.make_space(program, TARGET, RunOptions("pipeline.py", Compilation(), Budget(1), space="pipeline"))


def _asked(name: str) -> tuple[dict[str, float], list[str]]:
    """Seconds, and the plans (as JSON) that were asked for; the last is the one with a kernel per stage."""
    program = _program(_named(name))
    space, making = _timed(lambda: _space(program))
    graph = OptimizationGraph()
    plans: list[Plan] = []
    asking = []
    for number in range(PLANS):
        walk, seconds = _timed(lambda: graph.walk(space, uniform(np.random.default_rng(number))))  # noqa: B023 - called at once
        asking.append(seconds)
        plans += [walk.plan] if walk is not None else []
    lowering = [_timed(lambda: lower(program, plan, TARGET))[1] for plan in plans]  # noqa: B023
    single, default = _timed(lambda: default_plan(program, TARGET, choice=Stages()))
    found = {"make the space": making, "first plan": asking[0], "further plans": statistics.median(asking[1:]),
             "lower a plan, schedule known": statistics.median(lowering), "plan with a kernel per stage": default,
             "lower it, schedule known": _timed(lambda: lower(program, single, TARGET))[1]}
    return found, [plan.to_json() for plan in (*plans, single)]


def _lowered(name: str, plan: str) -> float:
    """Seconds to lower a plan of which nothing is known."""
    program, read = _program(_named(name)), plan_from_json(plan)
    return _timed(lambda: lower(program, read, TARGET))[1]


def _named(name: str) -> Pipeline:
    return next(p for p in PIPELINES if p.name == name)


def main(name: str) -> None:
    """Print one line per measurement."""
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        rounds = [pool.apply(_asked, (name,)) for _ in range(PROCESSES)]
        found = {what: min(seconds[what] for seconds, _ in rounds) for what in rounds[0][0]}
        *plans, single = rounds[0][1]
        found["lower a plan, nothing known"] = statistics.median(
            min(pool.apply(_lowered, (name, plan)) for _ in range(PROCESSES)) for plan in plans)
        found["lower that with a kernel per stage, nothing known"] = min(pool.apply(_lowered, (name, single)) for _ in range(PROCESSES))
    kernels = ", ".join(str(len(json.loads(plan)["kernels"])) for plan in (*plans, single))
    print(f"{name}: {len(_program(_named(name)).statements)} statements; plans with {kernels} kernels")
    for what, seconds in found.items():
        print(f"{what:50} {seconds:6.2f} s")


if __name__ == "__main__":
    main(*sys.argv[1:] or ["local_laplacian"])
