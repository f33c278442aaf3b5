"""Plans that a model finds, by beam search and by greedy samples with dropout (Anderson et al. 2021, section 5)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from math import inf

import numpy as np

from experiments.search.guides.guided import GuidedSpace, guided_space
from experiments.search.guides.settings import BeamSettings
from experiments.search.spaces import make_reachable_space
from experiments.values.options import Budget, RunOptions
from explorer.beam import greedy, search
from explorer.beam_pass import BeamOptions
from generator.frontend_c.source import Compilation
from generator.plan import Plan
from generator.program import Program
from generator.target import Target
from graph.guiding import Guide, Prefix, guide_of
from graph.space import DeadEnd
from metrics.costs.learned.model import Learned

PATIENCE = 10
"""Greedy samples in a row without a lower predicted time that end a batch for one plan (ours)."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A plan, and its predicted milliseconds."""

    plan: Plan
    predicted_ms: float


def space_of(program: Program, source: str, target: Target, model: Learned,
             settings: BeamSettings | None = None) -> GuidedSpace:
    """Return the space of the plans of a pipeline, guided by a model. `source`: its file."""
    options = RunOptions(source, Compilation(), Budget(evaluations=1), space="pipeline")
    return guided_space(make_reachable_space(program, target, options), program, target, model, settings)


def batch(space: GuidedSpace, count: int, seed: tuple[int, ...], options: BeamOptions | None = None,
          least: int | None = None) -> tuple[Sample, ...]:
    """Return up to `count` different plans: that of a beam search, then greedy samples.

    `least`: only the plans with the lowest predicted times are wanted, not a variety to learn from. The greedy samples
    then keep what the beam search froze, and end after PATIENCE in a row that are no faster, once there are `least`
    plans.
    """
    found: dict[Plan, float] = {}
    fastest, idle = inf, 0
    for end in _ends(space, options or space.beam, seed, 2 * count - 1, least is not None):
        ms = inf if end is None else _guide(space).costs([end])[0]
        fastest, idle = (ms, 0) if ms < fastest else (fastest, idle + 1)
        if end is not None:
            found.setdefault(end.state.plan, ms)
        if len(found) >= count or (least is not None and len(found) >= least and idle >= PATIENCE):
            break
    return tuple(Sample(plan, ms) for plan, ms in found.items())


def _ends(space: GuidedSpace, options: BeamOptions, seed: tuple[int, ...], most: int,
          frozen: bool) -> Iterator[Prefix | None]:
    """Yield the ends of the walks of a beam search and of greedy samples; None for a search that ends nowhere."""
    guide = _guide(space)
    searched = search(space, guide, options, np.random.default_rng((*seed, 0)))
    yield searched.end
    for number in range(1, most):
        rng = np.random.default_rng((*seed, number))
        yield _sampled(space, searched.guide if frozen else guide, options, rng, searched.length)


def sampled_plans(space: GuidedSpace, rng: np.random.Generator) -> Iterator[Plan | None]:
    """Yield the plan of a greedy search, then greedy samples without end; None for a search that ends nowhere."""
    options = BeamOptions(beam=1, passes=1)
    searched = search(space, _guide(space), options, rng)
    end = searched.end
    while True:
        yield None if end is None else end.state.plan
        end = _sampled(space, _guide(space), options, rng, searched.length)


def _sampled(space: GuidedSpace, guide: Guide, options: BeamOptions, rng: np.random.Generator,
             length: int) -> Prefix | None:
    with suppress(DeadEnd):
        return greedy(space, guide, options, rng, length)
    return None


def _guide(space: GuidedSpace) -> Guide:
    guide = guide_of(space)
    assert guide is not None
    return guide
