"""Exports of results: what is written can be read again, by our readers and by those of others."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, get_args

import pytest
from typer.testing import CliRunner

from antune.cli import app
from experiments.exports.flat import rows_of
from experiments.exports.kinds import Kind
from experiments.exports.write import export
from experiments.store import read_store
from experiments.values.options import LevelName
from generator.errors import InputError
from generator.plan import Plan, plan_from_json
from generator.schedules.partition import Group, Partition
from metrics.outcome import CompileFailed, Illegal, LaunchFailed, Outcome, Timed, WrongResult
from runners.replay.reading import read_recording
from runners.replay.recording import Recording
from tests.support import exports as support
from tests.support.paths import ROOT
from tests.support.slow import few
from tests.support.space_plans import random_plans
from tests.support.suite import TARGET, polybench_program


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two timed plans, of 4 and 2 ms, and one of each of four failures."""
    return support.with_failures(tmp_path_factory.mktemp("runs") / "run")


def written(run: Path, kind: Kind, folder: Path) -> Path:
    with read_store(run) as store:
        (path,) = export(store, kind, None, folder)
    return path


def outcomes(recording: Recording) -> list[type[Outcome]]:
    return [type(row.outcome) for row in recording.rows]


def test_t4_is_valid_and_reads_back(run: Path, tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    path = written(run, Kind.t4, tmp_path)
    schema, data = json.loads(support.schema_text()), json.loads(path.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(data, schema)
    damages: tuple[dict[str, Any], ...] = ({"invalidity": "fine"}, {"correctness": 1}, {"configuration": {"a": None}},
                                           {"times": {}})
    for damage in damages:
        bad = {**data, "results": [*data["results"][:2], data["results"][2] | damage]}
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(bad, schema)
    recording = read_recording(path)
    assert outcomes(recording) == [Timed, Timed, CompileFailed, WrongResult, LaunchFailed, LaunchFailed]
    assert recording.optimum_ms == 2.0 and recording.device == "Test GPU"
    first = recording.rows[0].outcome
    assert isinstance(first, Timed) and first.samples_ms == (4.0, 3.6, 4.4)
    assert recording.rows[2].outcome.durations.compile_s == 0.5


def test_a_cache_file_reads_back(run: Path, tmp_path: Path) -> None:
    path = written(run, Kind.kernel_tuner, tmp_path)
    recording = read_recording(path)
    assert outcomes(recording) == [Timed, Timed, CompileFailed, Illegal, LaunchFailed, LaunchFailed]
    assert (recording.optimum_ms, recording.device) == (2.0, "Test GPU")
    assert recording.origin.program == "kernel_gemm" and recording.origin.size == "20 x 25 x 30"
    assert {name: value for name, _, value in recording.rows[2].choices}["S0_S1_unroll"] == 4


def test_kernel_tuner_reads_its_cache_file(run: Path, tmp_path: Path) -> None:
    util = pytest.importorskip("kernel_tuner.util")
    path = written(run, Kind.kernel_tuner, tmp_path)
    entries = list(util.read_cache(str(path), open_cache=False)["cache"].values())
    assert [entry["time"] for entry in entries[:2]] == [4.0, 2.0]
    failure = entries[2].get("__error__", entries[2]["time"])  # the former from 1.5 on
    assert isinstance(failure, util.CompilationFailedConfig)


def unrolled(plan: Plan, by: int) -> Plan:
    return replace(plan, kernels=tuple(replace(kernel, unroll=by) for kernel in plan.kernels))


def test_explorers_race_on_an_exported_run(tmp_path: Path) -> None:
    """`antune suite recorded` takes what was exported."""
    run = support.suite_run(tmp_path / "run", "gemm", *(partial(unrolled, by=factor) for factor in (2, 4, 8)))
    for kind in (Kind.t4, Kind.kernel_tuner):
        file = written(run, kind, tmp_path)
        done = CliRunner().invoke(app, ["suite", "recorded", str(file), "--explorers", "random", "--budgets", "2",
                                        "--seeds", "2", "--workers", "1"])
        assert done.exit_code == 0, done.output


def test_the_table_has_every_evaluation_and_decision(run: Path, tmp_path: Path) -> None:
    with written(run, Kind.csv, tmp_path).open(newline="") as file:
        rows = list(csv.DictReader(file))
    kinds = ["timed", "timed", "compile_failed", "wrong_result", "timed_out", "crashed"]
    assert [row["status"] for row in rows] == kinds
    assert [row["S0_S1_unroll"] for row in rows] == ["1", "2", "4", "8", "16", "32"]
    assert (rows[1]["median_ms"], rows[1]["metric_occupancy"], rows[1]["message"]) == ("2.0", "0.5", "")
    assert (rows[2]["median_ms"], rows[2]["message"]) == ("", "no registers, sorry")


def test_facts_hold_the_plan(run: Path, tmp_path: Path) -> None:
    data = json.loads(written(run, Kind.json, tmp_path).read_text())
    with read_store(run) as store:
        best = store.results()[1].evaluation
    assert plan_from_json(json.dumps(data["plan"])) == best.plan and data["evaluation"] == 1
    assert data["outcome"]["samples_ms"] == [2.0, 1.8, 2.2]
    assert data["program"]["sizes"] == {"ni": 20, "nj": 25, "nk": 30}
    assert "kernel0" in data["kernels"][0]["source"] and data["device"]["name"] == "Test GPU"


@pytest.mark.parametrize("name", few(["jacobi-2d", "2mm"], 1))
def test_different_plans_have_different_rows(name: str) -> None:
    program = polybench_program(name)
    plans = {plan for level in get_args(LevelName) for plan in random_plans(program, TARGET, level, 12, 3)}
    listed = sorted(plans, key=lambda plan: plan.digest)
    rows = rows_of([*listed, *(replace(plan, placement=(("A", "constant"),)) for plan in listed)])
    assert len({tuple(row.items()) for row in rows}) == 2 * len(listed)
    assert len({tuple(row) for row in rows}) == 1
    assert not any("," in str(value) for row in rows for value in row.values())


def test_the_order_of_groups_is_part_of_a_row() -> None:
    inner, outer = Group(("S0", "S1"), (Group(("S0",)), Group(("S1",)))), Group(("S0", "S1"))
    rows = rows_of([Plan(Partition((group,)), ()) for group in (inner, outer)])
    assert [row["schedule_groups"] for row in rows] == ["[S0 S1[S0][S1]]", "[S0 S1]"]


def test_the_command(run: Path, tmp_path: Path) -> None:
    words = ["export", str(run), "--to", "opencl", "--plan", "0", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert f"Next: make -C {tmp_path / 'out'} check" in done.output
    assert {"kernels.cl", "kernel_gemm.c", "kernel_gemm.h", "Makefile", "CMakeLists.txt", "selfcheck.c", "sequential.c",
            "data.bin"} <= {path.name for path in (tmp_path / "out").iterdir()}
    refused = CliRunner().invoke(app, ["export", str(run), "--to", "fortran", "--out", str(tmp_path)])
    assert refused.exit_code == 2 and "'cuda', 'hip', 'opencl', 'c-header', 'python', 'json', 't4'" in refused.output


def test_lost_inputs_are_an_error_for_code_only(tmp_path: Path) -> None:
    run = support.with_failures(tmp_path / "run")
    (run / "reference.npz").unlink()
    assert written(run, Kind.csv, tmp_path).exists()
    with read_store(run) as store, pytest.raises(InputError, match=r"reference.npz cannot be read"):
        export(store, Kind.opencl, None, tmp_path / "out")


def test_a_reader_of_help_does_not_wait() -> None:
    """The kinds are listed without what writes them."""
    code = "import sys, antune.cli; print([m for m in ('numpy', 'sqlite3', 'experiments.store') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "[]\n"
