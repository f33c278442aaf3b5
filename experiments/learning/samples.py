"""Plans that a model finds, by beam search and by greedy samples with dropout (Anderson et al. 2021, section 5)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from experiments.search.guides.guided import GuidedSpace, guided_space
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


@dataclass(frozen=True, slots=True)
class Sample:
    """A plan, and its predicted milliseconds."""

    plan: Plan
    predicted_ms: float


def space_of(program: Program, source: str, target: Target, model: Learned) -> GuidedSpace:
    """Return the space of the plans of a pipeline, guided by a model. `source`: its file."""
    options = RunOptions(source, Compilation(), Budget(evaluations=1), space="pipeline")
    return guided_space(make_reachable_space(program, target, options), program, target, model)


def batch(space: GuidedSpace, count: int, seed: tuple[int, ...],
          options: BeamOptions | None = None) -> tuple[Sample, ...]:
    """Return up to `count` different plans: that of a beam search, then greedy samples."""
    given, guide = options or BeamOptions(), _guide(space)
    found: dict[Plan, float] = {}
    searched = search(space, guide, given, np.random.default_rng((*seed, 0)))
    end = searched.end
    for number in range(1, 2 * count):
        if end is not None:
            found.setdefault(end.state.plan, guide.costs([end])[0])
        if len(found) >= count:
            break
        end = _sampled(space, given, np.random.default_rng((*seed, number)), searched.length)
    return tuple(Sample(plan, ms) for plan, ms in found.items())


def sampled_plans(space: GuidedSpace, rng: np.random.Generator) -> Iterator[Plan | None]:
    """Yield the plan of a greedy search, then greedy samples without end; None for a search that ends nowhere."""
    options = BeamOptions(beam=1, passes=1)
    searched = search(space, _guide(space), options, rng)
    end = searched.end
    while True:
        yield None if end is None else end.state.plan
        end = _sampled(space, options, rng, searched.length)


def _sampled(space: GuidedSpace, options: BeamOptions, rng: np.random.Generator, length: int) -> Prefix | None:
    with suppress(DeadEnd):
        return greedy(space, _guide(space), options, rng, length)
    return None


def _guide(space: GuidedSpace) -> Guide:
    guide = guide_of(space)
    assert guide is not None
    return guide
