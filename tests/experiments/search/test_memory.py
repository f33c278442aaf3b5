"""A long run fits in memory: what is kept of an evaluation is small, and nothing that is done now and then takes much
more.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tracemalloc
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from statistics import median

import pytest

from experiments.run import tune
from experiments.values.records import Result
from tests.support.paths import ROOT, SUITES
from tests.support.runs import Log, ToyRunner, toy_options, toy_parts, toy_source
from tests.support.slow import in_turn
from tests.support.spaces import large_space

LONG, MOST_MB = 10_000, 300
START_MB = 255
"""Python, the libraries, the picture of a run (245 MB after a hundred evaluations), what is remembered of a program:
that grows until a thousand evaluations or so.
"""
EVALUATIONS = 3000


def most_mb(evaluations: int) -> float:
    """What so many evaluations may take, for the line to end at MOST_MB after LONG of them."""
    return START_MB + (MOST_MB - START_MB) * evaluations / LONG


@pytest.mark.slow
@pytest.mark.parametrize("level", ["o1", "o2", "o3"])
def test_ten_thousand_evaluations_fit_in_300_mb(level: str, tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "antune",
        "tune",
        str(SUITES / "polybench" / "gemm.c"),
        "-D",
        "MINI_DATASET",
        "--device",
        "deterministic",
        "--level",
        level,
        "--evaluations",
        str(EVALUATIONS),
        "--out",
        str(tmp_path / "run"),
    ]
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, (tmp_path / "log").read_text()[-2000:]
    peak_mb = used.ru_maxrss / 1024
    print(f"{level}: {peak_mb:.0f} MB at the peak of {EVALUATIONS} evaluations, {most_mb(EVALUATIONS):.0f} allowed")
    assert peak_mb < most_mb(EVALUATIONS)


@dataclass
class Weighs(Log):
    """A reporter that looks how much memory Python has in use after some evaluations, and keeps no results."""

    at: tuple[int, ...] = (100, 200, 300, 400)
    used: list[int] = field(default_factory=list)

    def result(self, result: Result) -> None:
        """Weigh."""
        if result.evaluation.number in self.at:
            gc.collect()
            self.used.append(tracemalloc.get_traced_memory()[0])


@in_turn
def test_an_evaluation_leaves_little_behind(tmp_path: Path) -> None:
    weighs, parts = Weighs(), replace(toy_parts(ToyRunner()), make_space=large_space)
    tracemalloc.start()
    try:
        tune(toy_options(toy_source(tmp_path), 400, explorer="random"), tmp_path / "run", weighs, parts)
    finally:
        tracemalloc.stop()
    # other tests of this process may leave threads that allocate once; what evaluations leave is in each hundred
    hundreds = [(after - before) / 100 for before, after in pairwise(weighs.used)]
    growth = median(hundreds)
    print(f"{growth:.0f} bytes per evaluation ({', '.join(f'{one:.0f}' for one in hundreds)})")
    assert growth < 2000
