"""What is not decided yet, or open again, in a beam: costs of prefixes, and the stages that freezing leaves open."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import spearmanr

from experiments.search.guides.guided import sioutas_scorer
from experiments.search.guides.stage_guide import STAGE, StageGuide
from explorer.beam import greedy
from explorer.beam_pass import BeamOptions
from graph.guiding import Prefix
from graph.states import start_of
from metrics.costs.learned.model import shipped_model
from metrics.costs.scoring import Scorer
from tests.support.guides import CPU, guided


@pytest.mark.parametrize("scorer", [sioutas_scorer(CPU, None), shipped_model()], ids=["sioutas", "learned"])
def test_prefixes_of_good_walks_are_cheap(scorer: Scorer) -> None:
    """At each step, the order of prefixes by cost is near that by the cheapest way to place the other stages."""
    space, guide = guided("unsharp", CPU, scorer=scorer)
    steps = [[Prefix(start_of(space))]]
    while longer := [one for prefix in steps[-1] for one in placed(guide, prefix)]:
        steps.append(longer)
    least = dict(zip(steps[-1], guide.costs(steps[-1]), strict=True))
    for step in reversed(steps[1:]):
        for prefix in step:
            assert prefix.parent is not None
            least[prefix.parent] = min(least[prefix], least.get(prefix.parent, math.inf))
    assert guide.costs(steps[0])[0] <= least[steps[0][0]] < math.inf
    for step in steps[2:-1]:
        assert spearmanr(guide.costs(step), [least[prefix] for prefix in step]).statistic >= 0.5


def placed(guide: StageGuide, prefix: Prefix) -> list[Prefix]:
    """Return the prefix with each place of the next stage; none if all have places."""
    decision = prefix.state.decision
    return [prefix.extended(one) for one in guide.offered(prefix)] if decision and decision.name == STAGE else []


def test_frozen_stages_keep_their_places() -> None:
    space, guide = guided("harris", CPU)
    coarse = StageGuide(guide.program, guide.tables, coarse_only=True)
    end = greedy(space, coarse, BeamOptions(dropout=1.0), np.random.default_rng(0), 20)
    assert end is not None
    frozen = guide.frozen(end)
    places = {c.decision.subject: c.option for c in end.choices if c.decision.name == "stage"}
    assert set(places.values()) <= {"root", "inline"}
    again = greedy(space, frozen, BeamOptions(dropout=1e-9), np.random.default_rng(5), 5)
    assert again is not None
    kept = [c for c in again.choices if c.decision.name == "stage" and places[c.decision.subject] == c.option]
    assert len(kept) >= len(places) - math.ceil(math.log2(len(places) + 1))


def test_each_stage_is_open_in_some_turn() -> None:
    """Turn 0 is that of the paper: log2(N) stages. The others have twice as many, and begin again after the last."""
    space, guide = guided("harris", CPU)
    end = greedy(space, guide, BeamOptions(dropout=1.0), np.random.default_rng(0), 20)
    assert end is not None
    stages = {c.decision.subject[0] for c in end.choices if c.decision.name == STAGE}
    is_open = []
    for turn in range(4):
        frozen = guide.frozen(end, turn)
        assert isinstance(frozen, StageGuide)
        is_open.append({stage for stage in stages if (STAGE, (stage,)) not in frozen.settled})
    assert len(is_open[0]) == math.ceil(math.log2(len(stages)))
    assert is_open[0] < is_open[2] and is_open[1] | is_open[2] == stages and is_open[1] == is_open[3]
