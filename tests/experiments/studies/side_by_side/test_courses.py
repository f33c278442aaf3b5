"""How far searches had come after so many evaluations: what suites say about it, beside what their runs hold."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.studies.comparison.trials import read_trial
from experiments.studies.side_by_side.entries import Course
from experiments.studies.side_by_side.polybench import PolyBench
from experiments.studies.side_by_side.table import courses, markdown, mean_after
from experiments.studies.side_by_side.wanted import SuiteOptions
from tests.support.runs import ToyRunner
from tests.support.side_by_side import suite
from tests.support.slow import in_turn

WANTED = SuiteOptions(("gemm", "mvt"), PolyBench("MINI"), evaluations=8, seeds=2)


@in_turn
def test_the_whole_search_counts_as_in_the_tables_and_its_parts_as_in_its_runs(tmp_path: Path) -> None:
    (section,), _ = suite(tmp_path, replace(WANTED, seeds=1))
    for entry in section.entries:
        way = entry.way("colony")
        assert way and way.over_default and entry.after("colony", 8) == way.over_default.middle
        trial = read_trial(tmp_path / "toy" / f"{entry.program}-mini-float-o2" / "colony-0")
        found = [entry.after("colony", n) or 0.0 for n in range(9)]
        assert found == pytest.approx([way.over_default.middle * trial.best_at(8) / trial.best_at(n) for n in range(9)])
        assert found == sorted(found) and found[0] < found[8] and entry.after("colony", 100) == found[8]
    rows = json.loads((tmp_path / "table.json").read_text())["rows"]
    assert [len(row["courses"]["random"]) for row in rows] == [9, 9]
    assert (tmp_path / "convergence.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_means_over_the_programs_after_every_fifth(tmp_path: Path) -> None:
    (section,), _ = suite(tmp_path, replace(WANTED, evaluations=10))
    one = next(entry for entry in section.entries if entry.way("colony"))
    way = one.way("colony")
    assert way and way.over_default
    two = tuple(replace(one, courses=(Course("colony", (share,) * 10 + (1.0,)),)) for share in (0.2, 0.8))
    mean = mean_after(replace(section, entries=two), "colony", 4)
    assert mean and mean.mean == pytest.approx(0.4 * way.over_default.middle)
    ((head, lines),) = courses(section)
    assert head[1:] == ("2", "4", "6", "8", "10", "programs")
    assert [(line[0], line[-1]) for line in lines] == [("random", "2"), ("colony", "2")]
    assert " | ".join(head) in markdown([section])


@pytest.mark.slow
def test_a_search_whose_run_is_gone_is_left_out(tmp_path: Path) -> None:
    suite(tmp_path, WANTED)
    for program in WANTED.programs:
        shutil.rmtree(tmp_path / "toy" / f"{program}-mini-float-o2" / "colony-1")
    (section,), _ = suite(tmp_path, replace(WANTED, programs=("gemm",), explorers=("random",)), ToyRunner())
    missing = [entry for entry in section.entries if entry.program == "mvt"]
    assert all(entry.after("colony", 8) is None and entry.after("random", 8) for entry in missing) and missing
