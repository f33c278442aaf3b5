"""The space of a single tile size: the default plan and its relatives."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.search.parts import PARTS
from experiments.values.options import Budget, RunOptions
from explorer.exhaustive import Exhaustive
from generator.errors import IllegalPlan
from generator.frontend_c.source import Compilation
from generator.lowering.core.assemble import lower
from generator.lowering.heuristics.default import TILE, default_plan
from generator.plan import Plan
from graph.tiles import TILE_SIZES, make_tiles_space
from tests.support.suite import TARGET, polybench_program


@pytest.mark.parametrize("name", ["mvt", "gemm", "jacobi-2d"])
def test_every_plan_has_one_tile_size_and_is_legal(name: str) -> None:
    program = polybench_program(name)
    options = RunOptions("x.c", Compilation(), Budget(evaluations=1), space="tiles", level="o2")
    walks = Exhaustive(PARTS.make_space(program, TARGET, options)).ask(100)
    assert 1 < len(walks) <= len(TILE_SIZES) and not PARTS.starts(program, TARGET, options)
    for walk in walks:
        (size,) = {size for kernel in walk.plan.kernels for size in kernel.tile}
        assert walk.choices[0].option == size
        assert all(threads <= size for kernel in walk.plan.kernels for threads in kernel.block)
        assert lower(program, walk.plan, TARGET).kernels
    assert default_plan(program, TARGET) in [walk.plan for walk in walks]
    assert default_plan(program, TARGET, TILE) == default_plan(program, TARGET)


def test_sizes_that_are_illegal_are_left_out(tmp_path: Path) -> None:
    def plan_of(size: int) -> Plan:
        if size > 16:
            raise IllegalPlan("too large")
        return default_plan(polybench_program("mvt"), TARGET, size)

    assert len(Exhaustive(make_tiles_space(plan_of)).ask(100)) == 3
