"""`antune suite calibrate`: from runs to a file that searches and explanations use."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiments.search.constants import check_used
from experiments.studies.calibrated.results import calibrated, read_calibration, write_calibration
from experiments.studies.calibrated.runs import Wanted, make_runs, measured_plans, read_runs, usual_constants
from experiments.suites.image_pipelines import pipeline
from experiments.values.options import Budget, RunOptions
from generator.errors import InputError
from generator.frontend_c.source import Compilation
from metrics.costs.constants import Calibration
from tests.support.cli import Antune, antune_command

FOUND = Calibration("deterministic", 40.0, 65536.0, (50.0, 0.5, 60.0, 10.0, 2.0, 100.0, 1.0))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Runs of two small pipelines on a device that computes its times."""
    wanted = Wanted(("blur", "unsharp"), "deterministic", 14, tmp_path_factory.mktemp("runs"), "small")
    return make_runs(wanted, lambda text: None)


@pytest.fixture
def run_antune(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Antune:
    monkeypatch.chdir(tmp_path)
    return antune_command(monkeypatch)


@pytest.mark.slow
def test_every_program_is_judged_by_constants_that_were_fitted_to_the_others(runs: list[Path]) -> None:
    read = read_runs(runs)
    usual = usual_constants(read, False, lambda text: None)
    programs = measured_plans(read, usual, print)
    assert read.device.key == "deterministic" and [one.program for one in programs] == ["blur", "unsharp"]
    assert usual.stages == usual.registers == ()
    found = calibrated(replace(usual, stages=(("1234", 0.5),), registers=(("1234", 9),)), programs)
    assert (found.calibration.stages, found.calibration.registers) == ((("1234", 0.5),), (("1234", 9),))
    assert [row.program for row in found.rows] == ["blur", "unsharp"]
    for row in found.rows:
        assert row.plans >= 8 and [one.model for one in row.models] == ["sioutas", "polymage"]
        for one in row.models:
            assert -1 <= one.rank_left_out <= 1 <= one.regret_left_out and one.regret_default >= 1


def test_runs_that_are_there_are_not_made_again(runs: list[Path]) -> None:
    told: list[str] = []
    assert make_runs(Wanted(("blur", "unsharp"), "deterministic", 14, runs[0].parent, "small"), told.append) == runs
    assert told == []


def test_the_command_writes_a_file_that_others_read(
    runs: list[Path], run_antune: Antune, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_antune("suite", "calibrate", *runs, "--out", "constants.json", "--json", "table.json") == 0
    out = capsys.readouterr().out
    assert re.search(r"sioutas: load cost [\d.]+, reached at [\d.]+ KiB", out) and "left out" in out
    assert {row["program"] for row in json.loads(Path("table.json").read_text())["rows"]} == {"blur", "unsharp"}
    found = read_calibration(Path("constants.json"))
    assert found.device == "deterministic" and found.file == "constants.json"
    write_calibration(Path("other.json"), FOUND)
    Path("p.py").write_text(
        "from antune import halide as hl\nx, y = hl.vars('x y')\n"
        "image = hl.ImageParam(hl.Float(32), 2, 'image')\nf, g = hl.Func('f'), hl.Func('g')\n"
        "f[x, y] = image[x, y] + image[x + 1, y]\ng[x, y] = f[x, y] + f[x, y + 1]\n"
        "def build():\n    return g\n"
    )
    costs = []
    ways: tuple[tuple[str, ...], ...] = ((), ("--calibration", "other.json"))
    for words in ways:
        assert (
            run_antune("explain", "p.py", "--size", "600x400", "--device", "deterministic", "--cost", "sioutas", *words)
            == 0
        )
        costs.append(re.findall(r"the plan: ([\d.e+]+)", capsys.readouterr().out))
    assert costs[0] != costs[1] and len(costs[1]) == 1
    tuned = ("tune", "p.py", "--size", "64x48", "--device", "deterministic", "--explorer", "sioutas")
    assert run_antune(*tuned, "--calibration", "other.json", "--evaluations", 2, "--out", "run") == 0
    assert run_antune("resume", "run", "--evaluations", 4) == 0, "the constants are stored with the run"


CONSTANTS = Path("constants.json")


@pytest.mark.parametrize(("device", "words", "message"), [
    ("intel", ("tune", "--explorer", "sioutas"), "its constants are those of the device `intel`, and this one is `det"),
    ("intel", ("explain", "--cost", "polymage"), "its constants are those of the device `intel`, and this one is `det"),
    ("deterministic", ("tune", "--explorer", "random"), "nothing in this search uses the constants of cost models"),
    ("deterministic", ("tune", "--foretell", "learned"), "nothing in this search uses the constants of cost models"),
    ("deterministic", ("explain",), "--calibration: only costs by models use it; leave it out, or use --cost MODEL"),
    ("deterministic", ("explain", "--cost", "learned"), "--calibration: the model `learned` does not use it; leave ")])
def test_constants_of_another_device_or_without_effect_are_refused(
        device: str, words: tuple[str, ...], message: str, run_antune: Antune, capsys: pytest.CaptureFixture[str]
) -> None:
    write_calibration(CONSTANTS, replace(FOUND, device=device))
    command, *others = words
    more = ("--evaluations", 2) if command == "tune" else ()
    file, size = pipeline("unsharp").file, ("--size", "64x48", "--device", "deterministic")
    assert run_antune(command, file, *size, *more, *others, "--calibration", CONSTANTS) == 2
    told = capsys.readouterr()
    assert message in told.err and "reading " not in told.out + told.err, "before the program is read and run"
    assert not list(Path("antune-runs").glob("*")), "there is no run"


@pytest.mark.parametrize("changes", [
    {"explorer": "polymage-dp"}, {"explorer": "beam"}, {"models": ("beam",)}, {"foresee": "polymage"}])
def test_constants_may_be_given_where_something_uses_them(changes: dict[str, Any]) -> None:
    options = RunOptions("test.py", Compilation(), Budget(evaluations=1), space="pipeline", calibration=FOUND)
    check_used(replace(options, **changes))
    with pytest.raises(InputError, match="nothing in this search"):
        check_used(options)


def as_text(**changed: object) -> str:
    members = {"device": "d", "load_cost": 1, "cached_bytes": 1, "file": "", "weights": [1, 2, 3, 4, 5, 6, 7]}
    return json.dumps({"is": "Calibration", **members, **changed})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[1, 2]",
        '{"is": "Goal"}',
        as_text(weights=[1, 2]),
        as_text(load_cost=0),
        as_text(load_cost="a"),
        as_text(weights=[1, 2, 3, 4, 5, 6, -7]),
        as_text(load_cost=10**400),
        as_text(load_cost=True),
        as_text(device=["x"]),
        as_text(stages=[["a"]]),
        as_text(stages=[["a", -1.0]]),
        as_text(registers=[["a", -1]]),
        "[" * 50_000,
        "1" * 5000,
    ],
)
def test_files_without_constants_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text(text)
    with pytest.raises(InputError, match=r"bad.json holds no constants of cost models; `antune suite calibrate`"):
        read_calibration(tmp_path / "bad.json")
    with pytest.raises(InputError, match=r"none.json cannot be read"):
        read_calibration(tmp_path / "none.json")


def test_stages_are_measured_on_the_device_of_the_runs_only(runs: list[Path]) -> None:
    with pytest.raises(InputError, match="--stages measures on the device of the runs, `deterministic`: no device is"):
        usual_constants(read_runs(runs), True, lambda text: None)


def test_too_few_programs_and_several_devices_are_refused(runs: list[Path]) -> None:
    with pytest.raises(InputError, match=r"1 of these has so many: blur \(.*blur-local, .*blur-random\): \d+ of"):
        measured_plans(read_runs(runs[:2], "deterministic"), FOUND, print)
    with pytest.raises(InputError, match="the runs are of 0 devices"):
        read_runs([])


def test_programs_with_few_plans_are_left_out_by_name(runs: list[Path]) -> None:
    read, told = read_runs(runs), list[str]()
    few = replace(read.programs[0], program=replace(read.programs[0].program, name="third"),
                  plans=read.programs[0].plans[:3])
    found = measured_plans(replace(read, programs=(*read.programs, few)), FOUND, told.append)
    assert [one.program for one in found] == ["blur", "unsharp"]
    [line] = told
    assert line.startswith("left out, with fewer than 8 timed plans that both models can judge: third (")
    assert f"{runs[0]}, {runs[1]}): " in line and line.endswith(" of 3 timed plans")


@pytest.mark.parametrize(("words", "message"), [
    (("--device", "intel"), "--device intel: the given runs are of the device `deterministic`"),
    (("--budget", 9, "--programs", "blur"), "--programs, --budget: only new runs use them"),
    (("--runs", "there"), "--runs: only new runs use it, and these are given; leave it out, or give no runs")])
def test_options_of_new_runs_are_refused_with_given_ones(
        words: tuple[object, ...], message: str, runs: list[Path], run_antune: Antune,
        capsys: pytest.CaptureFixture[str]) -> None:
    assert run_antune("suite", "calibrate", *runs, *words) == 2
    assert message in capsys.readouterr().err and not Path("calibration.json").exists()


@pytest.mark.parametrize(("programs", "device", "message"), [
    (("blur", "oracle"), "deterministic", "no pipeline is called 'oracle'; there are: blur"),
    (("blur",), "nowhere", "no device is called 'nowhere'")])
def test_unknown_pipelines_and_devices_are_refused_before_anything_is_measured(
        programs: tuple[str, ...], device: str, message: str, tmp_path: Path) -> None:
    told = list[str]()
    with pytest.raises(InputError, match=message):
        make_runs(Wanted(programs, device, 2, tmp_path), told.append)
    assert not told and not list(tmp_path.iterdir())
