"""A run becomes a recording: its walks with outcomes and metrics, the same bytes every time."""

from __future__ import annotations

import gzip
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from experiments.benchmarks.record_walks import main
from experiments.run import tune
from experiments.store import read_store
from experiments.values.options import Budget, RunOptions
from experiments.values.outcome_rows import kind_of
from experiments.values.records import best_of
from generator.errors import InputError
from generator.frontend_c.source import Compilation
from graph.walk import choices_from_json
from metrics.outcome import KernelTime, Timed, program_metrics
from runners.rating import static_ratings
from runners.replay.reading import read_walks
from tests.support.runs import Log, ToyRunner, toy_options, toy_parts, toy_source
from tests.support.slow import in_turn

SOURCE = """
void scale(int n, int m, double A[n][m], double B[n][m])
{
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      B[i][j] = 2.0 * A[i][j] + B[i][j];
#pragma endscop
}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("record")
    (folder / "scale.c").write_text(SOURCE)
    options = RunOptions(str(folder / "scale.c"), Compilation(), Budget(evaluations=60), explorer="random", level="o2",
                         parameters=(("n", 100), ("m", 90)), device="deterministic")
    tune(options, folder / "run", Log())
    return folder / "run"


def recorded(run: Path, out: Path, most: int | None = None) -> dict[str, Any]:
    main(run, out, most)
    assert read_walks(out).name == out.name.partition(".")[0]
    found: dict[str, Any] = json.loads(gzip.decompress(out.read_bytes()))
    assert (found["device"], found["size"]) == (read_walks(out).device, "")
    return found


def test_every_walk_is_there_with_its_outcome(run: Path, tmp_path: Path) -> None:
    recording = recorded(run, tmp_path / "out.json.gz")
    with read_store(run) as store:
        results, walks = [r for r in store.results() if r.evaluation.number > 0], store.walks()
    assert len(recording["rows"]) == len(results) == 60
    assert [row["status"] for row in recording["rows"]] == [kind_of(result.outcome) for result in results]
    for row, result in zip(recording["rows"], results, strict=True):
        choices = choices_from_json(walks[result.evaluation.number])
        assert [[*recording["decisions"][d], option] for d, option in row["c"]] == [
            [c.decision.name, list(c.decision.subject), c.option] for c in choices]
        if isinstance(result.outcome, Timed):
            assert row["ms"] == pytest.approx(result.outcome.median_ms, rel=1e-4)
            assert [statements for statements, _, _ in row["kernels"]] == [
                list(k.statements) for k in result.outcome.kernels
            ]
            assert [m for _, _, m in row["kernels"]] == [
                {name: pytest.approx(value, abs=1e-4) for name, value in k.metrics} for k in result.outcome.kernels]
        else:
            assert row["message"]


@pytest.mark.slow
def test_failures_are_walks_too(tmp_path: Path) -> None:
    tune(toy_options(toy_source(tmp_path), 120), tmp_path / "run", Log(), toy_parts(ToyRunner()))
    rows = recorded(tmp_path / "run", tmp_path / "out.json.gz")["rows"]
    assert len(rows) == 120
    failed = {(row["status"], row["message"]) for row in rows if row["status"] != "timed"}
    assert failed == {("compile_failed", "out of registers"), ("wrong_result", "A[3] is 1.5, expected 7")}
    assert all("ms" not in row and row["s"] == 0.18 for row in rows if row["status"] != "timed")


def test_the_bytes_are_reproducible_and_the_first_walks_can_be_taken(run: Path, tmp_path: Path) -> None:
    whole = recorded(run, tmp_path / "one.json.gz")
    (tmp_path / "again").mkdir()
    recorded(run, tmp_path / "again" / "one.json.gz")
    assert (tmp_path / "one.json.gz").read_bytes() == (tmp_path / "again" / "one.json.gz").read_bytes()
    assert recorded(run, tmp_path / "few.json.gz", 7)["rows"] == whole["rows"][:7]


@in_turn
def test_runs_without_metrics_get_those_of_the_static_model(run: Path, tmp_path: Path) -> None:
    with read_store(run) as store:
        info, results = store.info(), store.results()
    old = tmp_path / "old"
    old.mkdir()
    with sqlite3.connect(run / "run.sqlite") as stored, sqlite3.connect(old / "run.sqlite") as copy:
        stored.backup(copy)
        copy.execute("""UPDATE outcome SET kernels = (SELECT json_group_array(json_array(json_extract(value, '$[0]'),
                        json_extract(value, '$[1]'))) FROM json_each(kernels)) WHERE kernels IS NOT NULL""")
    with read_store(old) as store:
        assert all(isinstance(k, KernelTime) and not k.metrics for r in store.results()
                   if isinstance(r.outcome, Timed) for k in r.outcome.kernels)
    rows = [row for row in recorded(old, tmp_path / "out.json.gz")["rows"] if row["status"] == "timed"]
    plans = [r.evaluation.plan for r in results if r.evaluation.number > 0 and isinstance(r.outcome, Timed)]
    for row, plan in zip(rows, plans, strict=True):
        ratings = dict(static_ratings(info.program, plan, info.device.target))
        for statements, _, metrics in row["kernels"]:
            assert metrics == {name: pytest.approx(value, abs=1e-4) for name, value in ratings[tuple(statements)]}


def test_a_run_without_walks_is_refused(tmp_path: Path) -> None:
    runner = ToyRunner()
    tune(toy_options(toy_source(tmp_path), 1), tmp_path / "run", Log(), toy_parts(runner))
    with sqlite3.connect(tmp_path / "run" / "run.sqlite") as db:
        db.execute("DELETE FROM outcome WHERE evaluation > 0")
    with pytest.raises(InputError, match="no finished evaluation but the default plan"):
        main(tmp_path / "run", tmp_path / "out.json.gz", None)
    assert not (tmp_path / "out.json.gz").exists()
    with pytest.raises(InputError, match="not a run directory"):
        main(tmp_path, tmp_path / "out.json.gz", None)


def test_the_summary_has_the_metrics_of_the_best_and_the_default(run: Path) -> None:
    summary = json.loads((run / "summary.json").read_text())
    with read_store(run) as store:
        results = store.results()
    best = best_of(results)
    assert best is not None and isinstance(best.outcome, Timed)
    assert summary["best_metrics"] == dict(program_metrics(best.outcome.kernels)) != {}
    default = results[0].outcome
    assert summary["default_metrics"] == (dict(program_metrics(default.kernels)) if isinstance(default, Timed) else {})
