"""A run that was stopped and resumed is the run that was never stopped."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from experiments.run import More, resume, tune
from experiments.store import reserve
from experiments.values.options import Budget
from generator.errors import InputError
from runners.base import Job
from tests.support.paths import ROOT
from tests.support.runs import DEVICE, Log, ToyRunner, history, toy_options, toy_parts
from tests.support.slow import few

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


class Dies(BaseException):
    """Stands for a crash: nothing in the project catches it."""


def stopped_at(number: int, source: Path, directory: Path, how: str) -> None:
    """Run until evaluation `number`, then stop by a signal or by a crash."""

    def stop(job: Job) -> None:
        if job.number == number:
            if how == "crash":
                raise Dies
            os.kill(os.getpid(), signal.SIGINT)

    try:
        tune(toy_options(source), directory, Log(), toy_parts(ToyRunner(stop)))
    except Dies:
        return


@pytest.mark.parametrize("how", ["crash", "signal"])
@pytest.mark.parametrize("number", few([0, 1, 4, 6, 7, 13, 25], (0, 7)))
def test_resumed_equals_uninterrupted(number: int, how: str, source: Path, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    tune(toy_options(source), whole, Log(), toy_parts(ToyRunner()))
    stopped_at(number, source, tmp_path / "run", how)
    before = history(tmp_path / "run")
    runner = ToyRunner()
    finish = resume(tmp_path / "run", None, Log(), toy_parts(runner))
    assert history(tmp_path / "run") == history(whole)
    assert finish.ending == "finished"
    assert sorted([*runner.evaluated, *(entry[0] for entry in before)]) == list(range(26))
    summaries = [(d / "results.csv").read_text() for d in (whole, tmp_path / "run")]
    assert summaries[0] == summaries[1]


def test_the_best_for_the_early_stop_is_the_same_after_a_resume(source: Path, tmp_path: Path) -> None:
    whole, resumed = ToyRunner(), ToyRunner()
    tune(toy_options(source), tmp_path / "whole", Log(), toy_parts(whole))
    stopped_at(9, source, tmp_path / "run", "crash")
    resume(tmp_path / "run", None, Log(), toy_parts(resumed))
    assert resumed.bounds == whole.bounds[-len(resumed.bounds):]


def test_finished_run_is_left_alone_and_can_be_extended(source: Path, tmp_path: Path) -> None:
    directory, runner = tmp_path / "run", ToyRunner()
    tune(toy_options(source, 10), directory, Log(), toy_parts(ToyRunner()))
    assert resume(directory, None, Log(), toy_parts(runner)).ending == "finished"
    assert runner.evaluated == []
    first = history(directory)
    finish = resume(directory, Budget(evaluations=25), Log(), toy_parts(runner))
    assert finish.summary.evaluations == 25
    assert history(directory)[:11] == first
    assert len({entry[4] for entry in history(directory)}) == 26


def test_the_tuned_file_is_not_needed_and_a_change_is_told(source: Path, tmp_path: Path) -> None:
    stopped_at(8, source, tmp_path / "run", "signal")
    source.write_text("int other;\n")
    log = Log()
    resume(tmp_path / "run", Budget(evaluations=12), log, toy_parts(ToyRunner()))
    assert any("changed since this run began" in note and "antune tune" in note for note in log.notes)
    source.unlink()
    log = Log()
    resume(tmp_path / "run", Budget(evaluations=20), log, toy_parts(ToyRunner()))
    assert not any("changed since this run began" in note for note in log.notes)


def test_what_drivers_are_told_otherwise_is_said(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POCL_AFFINITY", "1")
    stopped_at(8, source, tmp_path / "run", "signal")
    log = Log()
    monkeypatch.setenv("POCL_AFFINITY", "0")
    monkeypatch.setenv("POCL_DEBUG", "err")
    resume(tmp_path / "run", Budget(evaluations=12), log, toy_parts(ToyRunner()))
    assert "changed since this run was last worked on: POCL_AFFINITY 1 -> 0" in log.notes


def test_another_device_is_refused_and_another_driver_needs_a_word(source: Path, tmp_path: Path) -> None:
    stopped_at(8, source, tmp_path / "run", "signal")
    other = ToyRunner(device=replace(DEVICE, target=replace(DEVICE.target, local_bytes=1)))
    with pytest.raises(InputError, match="the run was made on Toy device"):
        resume(tmp_path / "run", None, Log(), toy_parts(other))
    newer, log = toy_parts(ToyRunner(device=replace(DEVICE, driver="2.0"))), Log()
    with pytest.raises(InputError, match=r"the driver changed from 1.0 to 2.0") as refused:
        resume(tmp_path / "run", None, log, newer)
    assert f"go on with `antune resume {tmp_path / 'run'} --anyway`" in str(refused.value)
    resume(tmp_path / "run", None, log, newer, more=More(anyway=True))
    assert any("the driver changed from 1.0 to 2.0" in note for note in log.notes)
    log = Log()
    resume(tmp_path / "run", Budget(evaluations=30), log, newer)  # said and accepted once
    assert not any("driver" in note for note in log.notes)


def test_a_history_that_these_parts_would_not_make_is_refused(source: Path, tmp_path: Path) -> None:
    stopped_at(8, source, tmp_path / "run", "signal")
    with sqlite3.connect(tmp_path / "run" / "run.sqlite") as db:
        db.execute(
            "UPDATE evaluation SET (plan, plan_digest) = (SELECT plan, plan_digest FROM evaluation WHERE number = 1) "
            "WHERE number = 3"
        )
    with pytest.raises(InputError, match="evaluation 3 would now be another plan"):
        resume(tmp_path / "run", None, Log(), toy_parts(ToyRunner()))


def test_a_run_in_use_is_refused(source: Path, tmp_path: Path) -> None:
    stopped_at(8, source, tmp_path / "run", "signal")
    with pytest.raises(InputError, match="already holds a run"):
        tune(toy_options(source), tmp_path / "run", Log(), toy_parts(ToyRunner()))
    reserved = reserve(tmp_path / "new", "abc")
    with reserved.lock, pytest.raises(InputError, match="in use by another antune"):
        tune(toy_options(source), tmp_path / "new", Log(), toy_parts(ToyRunner()))


def antune(*words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "antune.cli", *words], cwd=ROOT, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)


def killed_and_resumed(kills: int, tmp_path: Path, evaluations: int, explorer: str) -> None:
    """Kill `antune` again and again at random moments; the end must be that of a run left in peace."""
    source, whole, run = tmp_path / "scale.c", tmp_path / "whole", tmp_path / "run"
    source.write_text(SOURCE)
    words = ("tune", str(source), "--param", "n=64", "--param", "m=48", "--evaluations", str(evaluations),
             "--explorer", explorer, "--device")
    assert antune(*words, "deterministic", "--out", str(whole)).wait(60) == 0
    rng, kept = np.random.default_rng(1), 0
    for number in range(kills):
        started = (run / "run.sqlite").exists()
        child = antune("resume", str(run)) if started else antune(*words, "deterministic:0.1", "--out", str(run))
        if not started:
            wait_until((run / "run.sqlite").exists)
        if number == kills - 1:
            wait_until(lambda: bool(history(run)))  # on a busy machine all kills may come before the first result
        time.sleep(rng.uniform(0.2, 1.6))
        child.kill()
        child.wait(10)
        done = len(history(run))
        assert done >= kept
        kept = done
    assert antune("resume", str(run)).wait(60) == 0
    assert history(run) == history(whole)
    assert not (run / "work").exists()
    assert kept > 0


def wait_until(happened: object, limit_s: float = 30) -> None:
    assert callable(happened)
    end_s = time.monotonic() + limit_s
    while not happened():
        assert time.monotonic() < end_s
        time.sleep(0.02)


@pytest.mark.parametrize("kills", few([1, 2], 1))
def test_killed_nothing_is_lost(kills: int, tmp_path: Path) -> None:
    killed_and_resumed(kills, tmp_path, 24, "genetic")  # which loads little; in-process tests above resume colonies


@pytest.mark.slow
def test_killed_twenty_times_nothing_is_lost(tmp_path: Path) -> None:
    killed_and_resumed(20, tmp_path, 60, "colony")


