"""Explicit schedules for tests: programs, random walks of the O3 space, random rows."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache, partial

import numpy as np

from generator.errors import IllegalPlan
from generator.lowering.shapes import kernel_shapes
from generator.plan import Hyperplanes, KernelPlan, LoopNest, Plan, Row
from generator.polyhedral.hyperplanes import O3
from generator.polyhedral.reductions import reducible
from generator.program import Program
from graph.o3 import make_o3_space
from graph.optimization_graph import OptimizationGraph
from graph.policies import uniform
from tests.support_interpreter import run_original
from tests.support_orders import differences
from tests.support_plans import TARGET, random_kernel, run_plan
from tests.support_programs import program_of, scop

ARRAYS = "double A[16][16], B[16][16], C[16][16], x[64], y[64], s;"
PROGRAMS = {
    "seidel": "for (k = 0; k < 3; k++) for (i = 1; i < 6; i++) for (j = 1; j < 7; j++) A[i][j] = A[i-1][j-1] + A[i-1][j] "
              "+ A[i-1][j+1] + A[i][j-1] + A[i][j] + A[i][j+1] + A[i+1][j-1] + A[i+1][j] + A[i+1][j+1];",
    "jacobi": "for (k = 0; k < 4; k++) { for (i = 1; i < 9; i++) y[i] = x[i-1] + x[i] + x[i+1]; "
              "for (i = 1; i < 9; i++) x[i] = y[i-1] + y[i] + y[i+1]; }",
    "waves": "for (k = 0; k < 3; k++) { for (j = 0; j < 6; j++) A[0][j] = k; for (i = 1; i < 5; i++) for (j = 0; j < 6; j++) "
             "A[i][j] -= C[i][j] - C[i-1][j]; for (i = 0; i < 5; i++) for (j = 1; j < 6; j++) B[i][j] -= C[i][j] - C[i][j-1];"
             " for (i = 0; i < 4; i++) for (j = 0; j < 5; j++) C[i][j] -= B[i][j+1] - B[i][j] + A[i+1][j] - A[i][j]; }",
    "product": "for (i = 0; i < 5; i++) for (j = 0; j < 6; j++) { A[i][j] *= s; for (k = 0; k < 4; k++) "
               "A[i][j] += B[i][k] * C[k][j]; }",
    "triangle": "for (i = 1; i < 8; i++) for (j = 0; j < i; j++) x[i] -= A[i][j] * x[j];",
    "backwards": "for (i = 6; i >= 0; i--) { s = x[i + 1]; for (j = 5; j > 0; j--) A[i][j] = A[i+1][j] + A[i][j+1] * s; "
                 "x[i] = s + A[i][1]; }",
    "pair": "for (i = 0; i < 8; i++) for (j = 1; j < 7; j++) A[i][j] = A[i][j-1] + x[i]; "
            "for (i = 1; i < 8; i++) for (j = 0; j < 7; j++) B[i][j] = A[i-1][j] + B[i-1][j];",
}


@lru_cache
def program(name: str) -> Program:
    """One of PROGRAMS."""
    return program_of(scop(PROGRAMS[name], ARRAYS))


def random_walk_plan(found: Program, rng: np.random.Generator) -> Plan | None:
    """A plan of a random walk through the O3 space, with small tiles and random kernels; None: there is no walk."""
    space = make_o3_space(partial(kernel_shapes, found), O3(found), TARGET, reductions=reducible(found))
    walk = OptimizationGraph().walk(space, uniform(rng))
    if walk is None:
        return None
    assert isinstance(walk.plan.schedule, Hyperplanes)
    schedule = replace(walk.plan.schedule, nests=tuple(_small(nest, rng) for nest in walk.plan.schedule.nests))
    return Plan(schedule, random_kernels(found, schedule, rng))


def random_kernels(found: Program, schedule: Hyperplanes, rng: np.random.Generator) -> tuple[KernelPlan, ...]:
    """Random plans of all kernels, without shared copies, whose barriers skewed loops seldom allow. Raises IllegalPlan.

    As in the space, skewed loops have no tiles inside, and a thread runs one tile of a wavefront. In most kernels a thread
    runs one point: isl takes long for several.
    """
    kernels = []
    for shape in kernel_shapes(found, schedule):
        kernel = replace(random_kernel(shape.statements, len(shape.extents), rng), shared=False)
        if shape.skewed:
            several = not shape.coarse and len(kernel.tile) < 2
            kernel = replace(kernel, inner_tile=1, tile=kernel.tile if several else kernel.block)
        kernels.append(kernel)
    return tuple(kernels)


def _small(nest: LoopNest, rng: np.random.Generator) -> LoopNest:
    """With tiles of a few points, so that small programs have several."""
    sizes = tuple(int(rng.integers(1, 5)) for _ in nest.wavefront)
    return replace(nest, parts=tuple(_small(part, rng) for part in nest.parts), wavefront=sizes)


def random_rows(found: Program, rng: np.random.Generator) -> Hyperplanes:
    """Rows that need not be legal: iterators in any order, sometimes mixed, for all statements together or each alone."""
    names = [s.name for s in found.statements]
    together = bool(rng.integers(2))
    groups = [tuple(sorted(names))] if together else [(name,) for name in names]
    nests = []
    for group in groups:
        depth = max(len(found.statement(name).iterators) for name in group)
        rows = tuple(_random_row(found, group, k, rng) for k in range(depth))
        tiles = tuple(int(rng.integers(1, 4)) for _ in range(depth)) if depth > 1 and rng.integers(2) else ()
        nests.append(LoopNest(group, rows, (), tiles))
    return Hyperplanes(tuple(nests))


def _random_row(found: Program, group: tuple[str, ...], depth: int, rng: np.random.Generator) -> Row:
    row = []
    for name in group:
        count = len(found.statement(name).iterators)
        vector = [0] * (count + 1)
        if depth < count:
            vector[depth] = 1
            for k in range(depth):
                vector[k] = int(rng.choice([0, 0, 1, 2, -1]))
        vector[-1] = int(rng.choice([0, 0, 0, 1]))
        row.append(tuple(vector))
    return tuple(row)


def check(found: Program, plan: Plan, rng: np.random.Generator) -> str:
    """Run a plan in Python: `right`, or why it is refused. Fails where the result is wrong."""
    try:
        memory = run_plan(found, plan, rng)
    except IllegalPlan as error:
        return str(error)
    assert not differences(found, memory, run_original(found)), plan.to_json()
    return "right"
