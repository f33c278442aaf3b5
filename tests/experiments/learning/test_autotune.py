"""Autotuning: one-shot plans, rounds that learn, and that go on, on the deterministic device."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.learning import autotune as tuning
from experiments.learning import spilling
from experiments.learning.autotune import Wanted, autotune, best_of, given, one_shot, top, tuned
from experiments.learning.database import Database
from experiments.learning.folder import TuningJob, claim, keep_model, plan_files, rounds_done
from experiments.learning.samples import batch
from experiments.learning.series import Origin
from experiments.suites.image_pipelines import pipeline
from explorer.beam_pass import BeamOptions
from generator.errors import InputError
from generator.plan import plan_from_json
from generator.problem import Problem
from generator.program import Program
from metrics.costs.learned.file import Trained, read_model
from metrics.costs.learned.model import SHIPPED, Learned, shipped_model
from metrics.outcome import Outcome
from runners.base import Job, Limits
from runners.deterministic import DEVICE, DeterministicRunner
from tests.support.cli import antune_command
from tests.support.slow import in_turn

QUICK = BeamOptions(beam=2, passes=1)
BLUR = Origin(str(pipeline("blur").file), (("height", 24), ("width", 40)))


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Trained:
    """The shipped model; searches are small."""
    plain = batch
    monkeypatch.setattr(tuning, "batch", partial(plain, options=QUICK))
    return shipped_model().trained


@pytest.mark.slow
def test_batches_are_different_plans_that_the_seed_decides(start: Trained) -> None:
    one = tuned(given(BLUR, DEVICE), DEVICE, Learned(start))
    found = batch(one.space, 5, (1, 0), QUICK)
    assert len({sample.plan for sample in found}) == len(found) > 1
    assert all(sample.predicted_ms > 0 for sample in found)
    assert batch(tuned(given(BLUR, DEVICE), DEVICE, Learned(start)).space, 5, (1, 0), QUICK) == found
    wanted = Wanted((BLUR,), Path(), samples=5, seed=1)
    assert one_shot(one, wanted, DEVICE, pytest.fail) == min(found, key=lambda sample: sample.predicted_ms)


def test_one_shot_computes_no_results_of_the_program(start: Trained, tmp_path: Path,
                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    """They take longer than the search for some programs."""
    monkeypatch.setattr(tuning, "problem_of", partial(pytest.fail, "results"))
    words = ("autotune", BLUR.source, "--size", "40x24", "--samples", 1, "--out", tmp_path / "out", "--device",
             "deterministic", "--mode")  # fmt: skip
    assert antune_command(monkeypatch)(*words, "one-shot") == 0
    monkeypatch.setattr(tuning, "problem_of", refused)
    assert antune_command(monkeypatch)(*words[:-3], DEVICE.key, "--mode", "top-5") == 2


def refused(origin: Origin) -> Problem:
    raise InputError("refused")


class Stopped(Exception):
    """Somebody stops the process."""


@dataclass
class Watched:
    """Runners that count what they measure, and stop the process after `stop` plans."""

    measured: list[str]
    stop: int = 1000

    def open(self, problem: Problem, key: str, limits: Limits, folder: Path) -> Any:
        runner = DeterministicRunner(problem, limits)
        plain = runner.evaluate

        def evaluate(jobs: Sequence[Job]) -> Iterator[tuple[int, Outcome]]:
            for number, outcome in plain(jobs):
                if len(self.measured) >= self.stop:
                    raise Stopped
                self.measured.append(next(job.plan.digest for job in jobs if job.number == number))
                yield number, outcome

        runner.evaluate = evaluate  # type: ignore[method-assign, assignment]  # the same, watched
        return runner


def test_rounds_learn_and_go_on_where_they_were_stopped(tmp_path: Path, start: Trained,
                                                        monkeypatch: pytest.MonkeyPatch) -> None:
    wanted, said, watched = Wanted((BLUR,), tmp_path, samples=12, rounds=1, epochs=3), list[str](), Watched([], stop=4)
    monkeypatch.setattr(spilling, "open_runner", watched.open)
    with closing(Database(tmp_path / "plans.db", DEVICE.key, DEVICE.name)) as base:
        one = given(BLUR, DEVICE)
        with pytest.raises(Stopped):
            autotune(base, [one], wanted, DEVICE, start, said.append)
        assert (len(watched.measured), base.count(), said) == (4, 4, [])
        watched.stop = 1000
        autotune(base, [one], wanted, DEVICE, start, said.append)
        assert len(watched.measured) == len(set(watched.measured)) == base.count() > 8
        assert len(said) == 1
        first = read_model(tmp_path / "model-1.json")
        timed = sum(plan.ms is not None for plan in base.plans(one.series))
        assert first.training.plans == start.training.plans + timed
        assert not np.array_equal(first.members[0]["trunk"], start.members[0]["trunk"])
        (tmp_path / "model-1.json").unlink()  # as if it was stopped before it had a model
        with monkeypatch.context() as closed:
            closed.setattr(spilling, "open_runner", lambda *words: pytest.fail("nothing is left to measure"))
            autotune(base, [one], wanted, DEVICE, start, lambda line: None)
        autotune(base, [one], replace(wanted, rounds=2), DEVICE, start, said.append)
        assert [line.partition(":")[0] for line in said] == ["round 1", "round 2"]
        assert {plan.round for plan in base.plans(one.series)} == {1, 2}
        second, timed = read_model(tmp_path / "model-2.json"), sum(p.ms is not None for p in base.plans(one.series))
        assert second.training.plans == start.training.plans + timed, "each plan counts once"
        assert second.training.pipelines == start.training.pipelines + 1
        _, ms = top(base, tuned(one, DEVICE, Learned(first)), wanted, DEVICE, pytest.fail)
        assert ms >= 0.999 * (best_of(base, one).ms or 0.0)
    _refuses_other_jobs(wanted, start)
    _falls_back(tmp_path, start)


def _refuses_other_jobs(wanted: Wanted, start: Trained) -> None:
    """The folder is that of one job."""
    with closing(Database(wanted.out / "plans.db", DEVICE.key, DEVICE.name)) as base:
        other_model = Trained(replace(start.training, plans=1), start.members)
        larger = replace(BLUR, parameters=(("height", 25), ("width", 40)))
        for origin, job, model, message in (
            (BLUR, replace(wanted, samples=13), start, "other --samples"),
            (BLUR, replace(wanted, seed=1, epochs=4), start, "other --epochs, other --seed"),
            (BLUR, wanted, other_model, "other --model"),
            (larger, wanted, start, "programs"),
        ):
            with pytest.raises(InputError, match=f"the folder of another job, with .*{message}"):
                autotune(base, [given(origin, DEVICE)], job, DEVICE, model, lambda _: None)


def _falls_back(out: Path, start: Trained) -> None:
    """A damaged model is one less."""
    (out / "model-2.json").write_text('{"format": 1')
    said = list[str]()
    done, model = rounds_done(out, start, said.append)
    assert (done, len(said)) == (1, 1) and "round 2 is done again" in said[0]
    assert np.array_equal(model.members[0]["trunk"], read_model(out / "model-1.json").members[0]["trunk"])


def test_a_round_with_too_few_plans_says_that_the_model_learned_nothing(tmp_path: Path, start: Trained) -> None:
    said = list[str]()
    with closing(Database(tmp_path / "plans.db", DEVICE.key, DEVICE.name)) as base:
        wanted = Wanted((BLUR,), tmp_path, samples=2, rounds=1, epochs=1)
        autotune(base, [given(BLUR, DEVICE)], wanted, DEVICE, start, said.append)
    first, predicted = said[0], r"2 of 2 plans run; plan predicted fastest \S+ ms, best so far \S+ ms"
    assert re.fullmatch(rf"round 1: blur\.py: {predicted}", first)
    assert len(said) == 2 and said[1].startswith("round 1: the model stays as it was: it learns from programs with 8 ")
    assert np.array_equal(read_model(tmp_path / "model-1.json").members[0]["trunk"], start.members[0]["trunk"])


def test_models_without_a_job_are_nobodys(tmp_path: Path, start: Trained) -> None:
    keep_model(tmp_path, 3, start)
    job = TuningJob((), 1, 1, 0, "")
    with pytest.raises(InputError, match=r"without a job\.json"):
        claim(tmp_path, job)
    (tmp_path / "model-3.json").unlink()
    claim(tmp_path, job)
    claim(tmp_path, job)
    (tmp_path / "job.json").write_text("[]")
    with pytest.raises(InputError, match=r"job.json is of another version"):
        claim(tmp_path, job)


def test_plans_lie_apart_from_models_and_from_each_other(tmp_path: Path) -> None:
    files = plan_files(tmp_path, ["/a/model-1.py", "/b/model-1.py", "/a/job.py"])
    assert len(set(files.values())) == 3
    assert not {path.name for path in files.values()} & {"model-1.json", "job.json"}
    for file in files.values():
        file.write_text("{}")
    trained = shipped_model().trained
    assert rounds_done(tmp_path, trained, pytest.fail) == (0, trained)


def test_a_model_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_model(tmp_path, 1, shipped_model().trained)
    before = (tmp_path / "model-1.json").read_bytes()

    def full(path: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(InputError, match=r"model-1.json cannot be written: No space"):
        keep_model(tmp_path, 1, shipped_model().trained)
    assert [file.name for file in tmp_path.iterdir()] == ["model-1.json"]
    assert (tmp_path / "model-1.json").read_bytes() == before


@in_turn
def test_the_command_takes_the_model_that_it_is_given(tmp_path: Path, start: Trained, monkeypatch: pytest.MonkeyPatch,
                                                      capsys: pytest.CaptureFixture[str]) -> None:
    slow = Trained(start.training, tuple({**one, "scale": 1000.0 * one["scale"]} for one in start.members))
    keep_model(tmp_path, 3, slow)
    antune = antune_command(monkeypatch)
    words = ("autotune", BLUR.source, "--size", "40x24", "--mode", "one-shot", "--samples", 1, "--out", tmp_path,
             "--device", "deterministic")  # fmt: skip
    times = []
    for more in ((), ("--model", SHIPPED)):
        assert antune(*words, *more) == 0
        said = capsys.readouterr().out
        assert ("by the model of round 3" in said) == (not more)
        times.append(float(said.partition(" ms predicted")[0].split()[-1]))
    assert times[0] > 100.0 * times[1]
    assert antune(*shlex.split(said.partition("`antune ")[2].partition("`")[0]), "--device", "deterministic") == 0
    assert "40" in capsys.readouterr().out


@in_turn
def test_plans_of_other_modes_and_sizes_leave_that_of_a_tuning_alone(
        tmp_path: Path, start: Trained, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    antune, out = antune_command(monkeypatch), tmp_path / "out"
    words = ("autotune", BLUR.source, "--samples", 2, "--device", "deterministic", "--out", out)
    assert antune(*words, "--size", "40x24", "--rounds", 1, "--epochs", 1) == 0
    assert plan_from_json((out / "blur.plan.json").read_text())
    (out / "blur.plan.json").write_text("the tuned one")
    for mode, size in (("one-shot", "56x32"), ("top-5", "40x24")):
        assert antune(*words, "--size", size, "--mode", mode) == 0
        assert f"; plan in {out / f'blur.{mode}.plan.json'} (`" in capsys.readouterr().out
        assert plan_from_json((out / f"blur.{mode}.plan.json").read_text())
    assert (out / "blur.plan.json").read_text() == "the tuned one"


@in_turn
def test_ctrl_c_says_how_to_continue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                     capsys: pytest.CaptureFixture[str]) -> None:
    words = ("autotune", BLUR.source, "--size", "40x24", "--samples", "8", "--rounds", "3", "--epochs", "1", "--beam",
             "width=1,passes=1", "--device", "deterministic:0.1", "--out", str(tmp_path / "out"))  # fmt: skip
    child = subprocess.Popen([sys.executable, "-m", "antune.cli", *words], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline().startswith("round 1: blur.py: ")
    child.send_signal(signal.SIGINT)
    rest, errors = child.communicate(timeout=60)
    assert child.returncode == 130 and errors == ""
    assert rest == f"interrupted, saved in {tmp_path / 'out'}\nNext: {shlex.join(['antune', *words])}\n"
    again = shlex.split(rest.partition("Next: antune ")[2])
    assert antune_command(monkeypatch)(*again) == 0
    said = capsys.readouterr().out
    assert "round 3: blur.py: " in said and "; plan in " in said


@pytest.mark.parametrize("mode", ["one-shot", "top-5"])
def test_ctrl_c_before_anything_is_stored_says_that(mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                    capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(tuning, "program_at", stopped)
    assert antune_command(monkeypatch)("autotune", BLUR.source, "--mode", mode, "--device", "deterministic", "--out",
                                       tmp_path / "out") == 130
    assert capsys.readouterr() == ("", "antune: interrupted; nothing else was saved\n")
    assert not (tmp_path / "out").exists()


def stopped(_origin: Origin) -> Program:
    raise KeyboardInterrupt


def test_the_command_says_what_is_wrong_with_a_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                       capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "one.py"
    file.write_text("from antune import halide as hl\n\n\ndef build():\n    x, f = hl.Var('x'), hl.Func('f')\n"
                    "    image = hl.ImageParam(hl.Float(32), 1, 'image')\n    f[x] = image[x] * 2.0\n    return f\n")
    antune = antune_command(monkeypatch)
    assert antune("autotune", file, "--size", "64", "--mode", "one-shot", "--device", "deterministic", "--out",
                  tmp_path / "out") == 2
    assert "no stages to place" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_command_names_arrays_that_no_model_can_judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                          capsys: pytest.CaptureFixture[str]) -> None:
    file = Path(pipeline("iir_blur").file)
    assert antune_command(monkeypatch)("autotune", file, "--size", "24x16x3", "--mode", "one-shot", "--samples", 1,
                                       "--beam", "width=1,passes=1", "--device", "deterministic", "--out",
                                       tmp_path / "out") == 0
    assert "iir_blur.py: blur_y by kernels of its own, as the start plans have them: " in capsys.readouterr().out


NAMED = """from antune import halide as hl


def spread(width, height, distance):
    x, y, image = hl.Var("x"), hl.Var("y"), hl.ImageParam(hl.Float(32), 2, "image")
    twice, out = hl.Func("twice"), hl.Func("out")
    twice[x, y] = image[x, y] * 2.0
    out[x, y] = twice[x, y] + twice[x + distance, y]
    return out
"""


def test_the_command_takes_any_function_of_a_file_and_its_arguments(tmp_path: Path, start: Trained,
                                                                    monkeypatch: pytest.MonkeyPatch,
                                                                    capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "two.py").write_text(NAMED)
    antune = antune_command(monkeypatch)
    words = ("autotune", f"{tmp_path / 'two.py'}:spread", "--size", "24x16", "--mode", "one-shot", "--samples", 1,
             "--device", "deterministic", "--out", tmp_path / "out")  # fmt: skip
    assert antune(*words) == 2
    assert "`spread` needs a value for `distance`" in capsys.readouterr().err
    assert antune(*words, "--param", "distance=3") == 0
    said = capsys.readouterr().out
    assert (tmp_path / "out" / "two.one-shot.plan.json").is_file()
    assert antune(*shlex.split(said.partition("`antune ")[2].partition("`")[0]), "--device", "deterministic") == 0
    assert "float image[16][27]: read only" in capsys.readouterr().out, "3 more than the 24 columns of the output"


@pytest.mark.parametrize("name", ["none.py", "none.py:spread", "."])
def test_the_command_names_a_file_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                    capsys: pytest.CaptureFixture[str], name: str) -> None:
    monkeypatch.chdir(tmp_path)
    assert antune_command(monkeypatch)("autotune", name, "--device", "deterministic") == 2
    assert f"{name.partition(':')[0]} is not a file; give" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_the_parameters_of_the_beam_belong_to_the_job(start: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                      capsys: pytest.CaptureFixture[str]) -> None:
    space = tuned(given(BLUR, DEVICE), DEVICE, Learned(start), "width=2,passes=1").space
    assert space.beam == QUICK
    assert batch(space, 3, (1, 0)) == batch(space, 3, (1, 0), QUICK)
    claim(tmp_path, TuningJob((), 1, 1, 0, ""))
    claim(tmp_path, TuningJob((), 1, 1, 0, "", None))
    with pytest.raises(InputError, match="with other --beam"):
        claim(tmp_path, TuningJob((), 1, 1, 0, "", "width=2"))
    out = tmp_path / "none"
    assert antune_command(monkeypatch)("autotune", BLUR.source, "--beam", "speed=2", "--out", out) == 2
    assert "--beam: 'speed=2' is none of width=N" in capsys.readouterr().err and not out.exists()
