"""Two models are compared by the times of their plans."""

from __future__ import annotations

import pytest

from experiments.benchmarks import compared_models
from experiments.benchmarks.compared_models import Gain, gain, main, origin_of
from explorer.beam_pass import BeamOptions
from metrics.costs.learned.model import SHIPPED, shipped_model
from runners.deterministic import DEVICE

QUICK = BeamOptions(beam=2, passes=1)


@pytest.mark.slow
def test_a_model_gains_nothing_over_itself() -> None:
    both = (shipped_model(), shipped_model())
    assert gain(origin_of("unsharp", "small"), both, DEVICE, batches=2, options=QUICK) == Gain(1.0, 1.0)


def test_the_table_has_a_row_per_pipeline_and_means(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    found = {"blur": Gain(4.0, 1.0), "harris": Gain(1.0, 0.25)}
    monkeypatch.setattr(compared_models, "gain", lambda origin, *_: next(
        one for name, one in found.items() if name in origin.source))
    main(SHIPPED, ["blur", "harris"], device="deterministic")
    assert capsys.readouterr().out.splitlines()[2:] == [
        "| blur | 4.00 | 1.00 |", "| harris | 1.00 | 0.25 |", "| geometric mean | 2.00 | 0.50 |"]
