"""Plans whose blocks run tiles of wavefronts along diagonals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from experiments.search.parts import PARTS
from experiments.values.options import Budget, RunOptions
from generator.frontend_c.source import Compilation
from generator.lowering.analysis.shapes import kernel_shapes
from generator.plan import KernelPlan, Plan
from generator.program import Program
from generator.schedules.hyperplanes import Hyperplanes
from generator.target import Target
from graph.optimization_graph import OptimizationGraph
from graph.policies import Preferences, prefer, uniform

WAVES: Preferences = {
    ("diagonals of tiles", ()): True,
    ("several time steps per launch", ()): False,
    ("number of partitions", ()): 1,
    ("parallel reduction", ()): False,
    **{(f"tile wavefront {depth}", ()): True for depth in range(1, 5)},
}
COPIED: Preferences = {**WAVES, ("shared memory", ()): True}


def some_diagonals(found: Program, schedule: Hyperplanes, rng: np.random.Generator) -> Plan:
    """A plan in which all tiles of wavefronts run along diagonals, in random blocks."""
    kernels = []
    for shape in kernel_shapes(found, schedule):
        count = len(shape.extents)
        block = tuple(int(rng.integers(1, 5)) for _ in range(count))
        kernels.append(
            KernelPlan(
                shape.statements,
                (1,) * count,
                block,
                unroll=int(rng.choice([1, 2])),
                order=tuple(int(d) for d in rng.permutation(count)) if count > 1 else (),
                diagonals=bool(shape.diagonals),
            )
        )
    return Plan(schedule, tuple(kernels))


def diagonal_plans(found: Program, target: Target, count: int, preferred: Preferences = WAVES) -> list[Plan]:
    """Random plans of level o3 of a GPU's space with the limits of `target`, as `preferred`: with diagonals."""
    options = RunOptions("program.c", Compilation(), Budget(evaluations=1), level="o3")
    space = PARTS.make_space(found, replace(target, shares_host_cores=False, max_threads=64), options)
    rngs = (np.random.default_rng(seed) for seed in range(count))
    walks = [OptimizationGraph().walk(space, prefer(preferred, uniform(rng))) for rng in rngs]
    return [walk.plan for walk in walks if walk is not None]
