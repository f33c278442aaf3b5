"""The benchmark of busy threads: the same schedule, with tiles in single threads and in blocks."""

from __future__ import annotations

import pytest

from experiments.benchmarks.inner_loops import HOPPER
from experiments.benchmarks.wavefronts import alone, main, random_plans
from generator.lowering import lower
from tests.support.suite import ODD_SIZES, polybench_program


def test_plans_without_diagonals_are_legal_and_run_the_same_tiles() -> None:
    found = polybench_program("seidel-2d", ODD_SIZES["seidel-2d"])
    plans = list(random_plans(found, 4))
    assert any(kernel.diagonals for plan in plans for kernel in plan.kernels)
    for plan in plans:
        before = alone(plan)
        assert before.schedule == plan.schedule and not any(kernel.diagonals for kernel in before.kernels)
        lower(found, before, HOPPER)


@pytest.mark.slow
def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    main(["seidel-2d"], "MINI", 3)
    header, _, row = capsys.readouterr().out.splitlines()
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert len(cells) == header.count("|") - 1 and cells[0] == "seidel-2d"
    before, after = (float(cell.split()[0]) for cell in cells[3:5])
    assert after > before
