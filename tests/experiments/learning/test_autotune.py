"""Autotuning: one-shot plans, rounds that learn, and that go on, on the deterministic device."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.learning import autotune as tuning
from experiments.learning.autotune import Wanted, autotune, batch, one_shot, top, tuned
from experiments.learning.database import Database, Origin
from experiments.suites.image_pipelines import pipeline
from explorer.beam_pass import BeamOptions
from metrics.costs.learned.file import Trained, read_model
from metrics.costs.learned.model import Learned, shipped_model
from runners.deterministic import DEVICE
from tests.support.cli import antune_command

QUICK = BeamOptions(beam=2, passes=1)
BLUR = Origin(str(pipeline("blur").file), (("height", 24), ("width", 40)))


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Trained:
    """The shipped model; searches are small."""
    plain = tuning.batch
    monkeypatch.setattr(tuning, "batch", lambda one, count, seed: plain(one, count, seed, QUICK))
    return shipped_model().trained


@pytest.mark.slow
def test_batches_are_different_plans_that_the_seed_decides(start: Trained) -> None:
    one = tuned(BLUR, DEVICE, Learned(start))
    found = batch(one, 5, (1, 0), QUICK)
    assert len({sample.plan for sample in found}) == len(found) > 1
    assert all(sample.predicted_ms > 0 for sample in found)
    assert batch(tuned(BLUR, DEVICE, Learned(start)), 5, (1, 0), QUICK) == found
    wanted = Wanted((BLUR,), Path(), samples=5, seed=1)
    assert one_shot(one, wanted) == min(found, key=lambda sample: sample.predicted_ms)


def test_rounds_learn_and_go_on_where_they_were_stopped(tmp_path: Path, start: Trained) -> None:
    wanted, said = Wanted((BLUR,), tmp_path, samples=12, rounds=1, epochs=3), list[str]()
    with closing(Database(tmp_path / "plans.db", DEVICE.key, DEVICE.name)) as base:
        first = autotune(base, wanted, DEVICE, start, said.append)
        count = base.count()
        assert count > 1
        assert len(said) == 1
        assert read_model(tmp_path / "model-1.json").training.plans == first.training.plans > start.training.plans
        autotune(base, replace(wanted, rounds=2), DEVICE, start, said.append)
        assert [line.partition(":")[0] for line in said] == ["round 1", "round 2"]
        assert {plan.round for plan in base.plans(BLUR)} == {1, 2}
        _, ms = top(base, tuned(BLUR, DEVICE, Learned(first)), wanted, DEVICE)
        assert ms > 0


def test_the_command_says_what_is_wrong_with_a_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                       capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "one.py"
    file.write_text("from antune import halide as hl\n\n\ndef build():\n    x, f = hl.Var('x'), hl.Func('f')\n"
                    "    image = hl.ImageParam(hl.Float(32), 1, 'image')\n    f[x] = image[x] * 2.0\n    return f\n")
    antune = antune_command(monkeypatch)
    assert antune("autotune", file, "--size", "64", "--mode", "one-shot", "--device", "deterministic", "--out",
                  tmp_path / "out") == 2
    assert "no stages to place" in capsys.readouterr().err
