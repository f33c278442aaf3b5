"""Plans whose blocks run tiles of wavefronts along diagonals."""

from __future__ import annotations

import numpy as np

from generator.lowering.analysis.shapes import kernel_shapes
from generator.plan import KernelPlan, Plan
from generator.program import Program
from generator.schedules.hyperplanes import Hyperplanes
from graph.policies import Preferences

WAVES: Preferences = {
    ("diagonals of tiles", ()): True,
    ("several time steps per launch", ()): False,
    ("number of partitions", ()): 1,
    ("parallel reduction", ()): False,
    **{(f"tile wavefront {depth}", ()): True for depth in range(1, 5)},
}


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
