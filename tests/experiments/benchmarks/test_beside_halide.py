"""The table of plans without measuring, of searches, and of Halide's autoschedulers."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.benchmarks import beside_halide
from experiments.benchmarks.beside_halide import main, print_ratios, print_times
from experiments.studies.side_by_side.peer_rounds import PeerTime
from tests.support.halide_wheel import wheel

FOUND = {
    "blur": (PeerTime("beam", 2.0), PeerTime("colony@20", 1.0), PeerTime("Halide Adams2019", 4.0)),
    "harris": (PeerTime("beam", 2.0), PeerTime("colony@20", 1.0), PeerTime("Halide Adams2019", None, "more than 9 s")),
    "matmul": (PeerTime("colony@20", 3.0), PeerTime("Halide Adams2019", 3.0)),
}


def test_absent_plans_and_times_are_said_and_count_in_no_mean(capsys: pytest.CaptureFixture[str]) -> None:
    print_times(FOUND, {("blur", "beam"): 3})
    print_ratios(FOUND)
    assert [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")] == [
        "| milliseconds (kernels) | beam | colony@20 | Halide Adams2019 |",
        "| blur | 2 (3) | 1 | 4 |",
        "| harris | 2 | 1 | more than 9 s |",
        "| matmul | none | 3 | 3 |",
        "| Halide's best time / time | beam | colony@20 |",
        "| blur | 2.00 | 4.00 |",
        "| matmul | none | 1.00 |",
        "| geometric mean | 2.00 | 2.00 |",
    ]


@pytest.mark.slow
def test_a_pipeline_is_searched_once_and_measured_with_halide(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """matmul has no stages to place: the plan makers say so, and have no column."""
    wheel()
    monkeypatch.setattr("experiments.studies.side_by_side.peer_rounds.SECONDS", 0.1)
    command = ["blur", "matmul", "--size", "small", "--device", "pocl", "--budgets", "1", "2", "--out",
               str(tmp_path / "runs")]
    main(command)
    first = capsys.readouterr()
    assert "matmul: " in first.err and "error" not in first.err
    times, ratios = first.out.split("\n\n")
    heads = times.splitlines()[0]
    assert all(head in heads for head in ("sioutas", "beam", "colony@2", "colony --models beam@2", "Halide Adams2019"))
    assert ratios.splitlines()[-1].startswith("| geometric mean | ")
    monkeypatch.setattr(beside_halide, "times_of", lambda name, plans, given: FOUND[name])
    before = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("run.sqlite")}
    main(command)
    assert {file: file.stat().st_mtime_ns for file in tmp_path.rglob("run.sqlite")} == before
