"""Plans to measure: some are random, some are those that a model takes for fast."""

from __future__ import annotations

import time
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.learning import samples
from experiments.learning.collect import Sampler, collect, program_at
from experiments.learning.database import Database
from experiments.learning.samples import sampled_plans, space_of
from experiments.learning.series import Origin
from experiments.search.costs import predicted
from experiments.search.guides.settings import BeamSettings
from experiments.search.guides.stage_guide import StageGuide
from experiments.suites.image_pipelines import pipeline
from explorer import beam
from explorer.beam_pass import BeamOptions
from generator.plan import Plan
from graph.guiding import Guide, Prefix
from graph.space import Space
from metrics.costs.base import Cost
from metrics.costs.learned.model import Learned, shipped_model
from runners.deterministic import DEVICE
from tests.support.slow import in_turn

BLUR = Origin(str(pipeline("blur").file), (("height", 24), ("width", 40)))
UNSHARP = Origin(str(pipeline("unsharp").file), (("height", 192), ("width", 256)))
LARGE = Origin(BLUR.source, (("height", 768), ("width", 1024)))


def drawn(guided: float, model: Learned) -> list[Plan]:
    sampler, program = Sampler(guided, model if guided else None), program_at(LARGE)
    plans = islice(sampler.plans(program, LARGE.source, DEVICE.target, np.random.default_rng(1)), 30)
    return [one.plan for one in plans]


@pytest.mark.slow
def test_plans_that_a_model_finds_are_faster_for_it_than_random_ones() -> None:
    model = Learned(shipped_model().trained)
    random, found = drawn(0.0, model), drawn(0.9, model)
    assert len(set(random)) > 20 and len(set(found)) > 3
    times = [[predicted_ms(plan, model) for plan in plans] for plans in (random, found)]
    assert np.median(times[1]) < 0.7 * np.median(times[0])


def predicted_ms(plan: Plan, model: Learned) -> float:
    cost = predicted(program_at(LARGE), plan, DEVICE.target, model)
    assert isinstance(cost, Cost)
    return cost.number


def test_a_batch_for_one_plan_ends_early_and_keeps_what_the_beam_froze(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch to learn from is drawn from the whole space, and is larger."""
    quick, plain = BeamOptions(beam=2, passes=2), beam.greedy
    drawn: dict[int | None, list[bool]] = {None: [], 1: [], 8: []}
    found = {}
    for least, settled in drawn.items():
        def greedy(space: Space, guide: Guide, *others: Any, settled: list[bool] = settled) -> Prefix | None:
            assert isinstance(guide, StageGuide)
            settled.append(bool(guide.settled))
            return plain(space, guide, *others)

        monkeypatch.setattr(samples, "greedy", greedy)
        freezing = BeamSettings(many=0)
        space = space_of(program_at(UNSHARP), UNSHARP.source, DEVICE.target, shipped_model(), freezing)
        found[least] = samples.batch(space, 24, (3, 0), quick, least)
    assert not any(drawn[None]) and all(drawn[1]) and all(drawn[8])
    assert samples.PATIENCE <= len(drawn[1]) <= len(drawn[8]) and len(drawn[1]) < len(drawn[None])
    assert len(found[1]) < len(found[None])
    assert min(one.predicted_ms for one in found[1]) <= found[None][0].predicted_ms


@in_turn
def test_found_plans_are_measured_with_the_random_ones(tmp_path: Path) -> None:
    model = Learned(shipped_model().trained)
    space = space_of(program_at(BLUR), BLUR.source, DEVICE.target, model)
    found = {plan.digest for plan in islice(sampled_plans(space, np.random.default_rng(2)), 60) if plan is not None}
    shares = []
    for guided in (0.0, 0.9):
        with closing(Database(tmp_path / f"{guided}.db", DEVICE.key, DEVICE.name)) as base:
            sampler = Sampler(guided, model if guided else None)
            assert collect(base, BLUR, DEVICE, 8, time.monotonic() + 60, sampler) == 8
            [series] = base.series()
            stored = {one.guided for one in base.plans(series)}
            assert (True in stored) if guided else (stored == {False})
            shares.append(len(found & base.digests(series)))
    assert shares[0] < shares[1], "random plans may be among the samples by chance"
