"""The report's table of how much of a GPU the launches of a skewed plan fill."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from experiments.report import kernels
from experiments.report.facts import gather
from experiments.run import tune
from experiments.store import read_store
from generator.plan import KernelPlan, Plan
from generator.schedules.hyperplanes import Hyperplanes
from tests.support.hyperplanes import SEIDEL_TILES
from tests.support.runs import Log, ToyRunner, toy_options, toy_parts, toy_source
from tests.support.suite import polybench_program


def test_launches_of_skewed_plans_are_described(tmp_path: Path) -> None:
    """7 launches of seidel-2d with 1 to 5 blocks; the plan of the toy program has no rows of its own."""
    tune(toy_options(toy_source(tmp_path), 2, explorer="random"), tmp_path / "run", Log(), toy_parts(ToyRunner()))
    with read_store(tmp_path / "run") as store:
        facts = gather(store)
    assert facts.best is not None and "active in a diagonal" not in kernels.section(facts).body
    plan = Plan(Hyperplanes((SEIDEL_TILES,)), (KernelPlan(("S0",), (1, 1), (2, 8), diagonals=True),))
    best = replace(facts.best, evaluation=replace(facts.best.evaluation, plan=plan))
    seidel = replace(facts.info, subject=polybench_program("seidel-2d", ("TSTEPS=5", "N=20")))
    page = kernels.section(replace(facts, best=best, info=seidel)).body
    row = page[page.index("active in a diagonal"):].partition("</tbody>")[0]
    assert re.findall(r"<td[^>]*>([^<]*)</td>", row)[:6] == ["S0", "7", "1", "3", "5", "7"]
    assert row.endswith(f"{16 / 24:.0%}".replace("%", " %</td></tr>")), "a thread has 16 points in 24 diagonals"
    page = kernels.section(replace(facts, best=best)).body
    assert "launches have work is unknown: " in page, "a plan that does not fit the program leaves the rest of the page"
