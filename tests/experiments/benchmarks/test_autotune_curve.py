"""The curve of one-shot plans over rounds of autotuning."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from experiments.benchmarks.autotune_curve import chosen_rounds, main
from experiments.learning import autotune as tuning
from experiments.learning.autotune import Wanted, autotune, given
from experiments.learning.database import Database
from experiments.learning.samples import batch
from experiments.learning.series import Origin
from experiments.suites.image_pipelines import pipeline
from explorer.beam_pass import BeamOptions
from generator.errors import InputError
from metrics.costs.learned.model import shipped_model
from runners.deterministic import DEVICE
from tests.support.slow import in_turn


@in_turn
def test_plans_of_each_round_are_measured_beside_the_fastest(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    quick = BeamOptions(beam=2, passes=1)
    monkeypatch.setattr(tuning, "batch", partial(batch, options=quick))
    blur = Origin(str(pipeline("blur").file), (("height", 24), ("width", 40)))
    with closing(Database(tmp_path / "plans.db", DEVICE.key, DEVICE.name)) as base:
        wanted = Wanted((blur,), tmp_path, samples=3, rounds=1, epochs=1)
        autotune(base, [given(blur, DEVICE)], wanted, DEVICE, shipped_model().trained, lambda _: None)
    main(tmp_path, "0,1,7", "deterministic", tmp_path / "curve.png")
    head, _, row, mean = capsys.readouterr().out.splitlines()
    assert head == "| | round 0 | round 1 |"
    ratios = [float(cell) for cell in row.split("|")[2:-1]]
    assert row.startswith("| blur |") and len(ratios) == 2 and min(ratios) >= 1.0
    assert mean == row.replace("blur", "geometric mean")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("text", "message"), [("1", "no model of rounds 1"), ("one", "write 0,1,5")])
def test_rounds_that_are_not_there_are_an_error(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        chosen_rounds(tmp_path, text)
