"""C as people write it: every program of the suite is tuned, and its results are those of the original."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.suites.everyday import program_file, programs
from tests.support.cli import Antune, antune_command
from tests.support.slow import few


@pytest.fixture
def antune(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Antune:
    monkeypatch.chdir(tmp_path)
    return antune_command(monkeypatch)


@pytest.mark.parametrize("name", few(programs(), ("heat_swap",)))
def test_an_everyday_program_is_tuned(
    name: str, antune: Antune, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (
        "tune",
        program_file(name),
        "-D",
        "SMALL",
        "--device",
        "pocl",
        "--evaluations",
        3,
        "--finalists",
        0,
        "--out",
        "run",
    )
    assert antune(*words) == 0
    out = capsys.readouterr().out
    assert "warning" not in out
    outcomes = json.loads((tmp_path / "run" / "summary.json").read_text())["outcomes"]
    assert set(outcomes) == {"timed"} and outcomes["timed"] == 4


def test_the_suite_makes_a_table_of_what_tuning_gains(
    antune: Antune, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        antune(
            "suite",
            "everyday",
            "--programs",
            "matmul_flat",
            "--small",
            "--budget",
            2,
            "--device",
            "deterministic",
            "--json",
            "table.json",
        )
        == 0
    )
    assert "matmul_flat" in capsys.readouterr().out
    rows = json.loads((tmp_path / "table.json").read_text())["rows"]
    assert {row["program"] for row in rows} == {"matmul_flat"} and {row["suite"] for row in rows} == {"everyday"}
