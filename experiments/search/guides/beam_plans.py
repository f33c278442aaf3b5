"""Plans that beam search finds with a cost model alone, as start plans for other searches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from experiments.search.guides.guided import guided_space, scorer_of
from experiments.search.guides.settings import BeamSettings
from experiments.search.modelled import ModelPlans
from explorer.beam import greedy, search
from explorer.plan_makers.choices import Unjudged
from explorer.plan_makers.words import unjudged_words
from generator.errors import InputError
from generator.polyhedral.pipelines.dataflow import dataflow
from generator.program import Program
from generator.target import Target
from graph.guiding import Prefix, guide_of
from graph.reaching import Reachable
from metrics.costs.constants import Calibration

SAMPLES = 8
"""Greedy runs for each plan after the first."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request for `count` plans of `program`; `settings` as in --beam; `space` follows from the other fields."""

    program: Program
    target: Target
    count: int
    seed: int
    calibration: Calibration | None
    settings: BeamSettings
    space: Reachable = field(compare=False)


@lru_cache(maxsize=8)
def beam_plans(asked: Asked) -> ModelPlans:
    """Return the plan of a full beam search and the best plans of greedy runs with dropout.

    Raises:
        InputError: the beam search finds no plan that the model can judge.
    """
    scorer = scorer_of(asked.target, asked.calibration)
    guided = guided_space(asked.space, asked.program, asked.target, scorer, asked.settings)
    guide, rng = guide_of(guided), np.random.default_rng(asked.seed)
    assert guide is not None
    found = search(guided, guide, guided.beam, rng)
    if found.end is None:
        raise InputError(f"the beam found no plan of {asked.program.name}; use another plan maker, such as sioutas")

    def samples() -> Iterator[Prefix]:
        for _ in range(SAMPLES * (asked.count - 1)):
            end = greedy(guided, guide, guided.beam, rng, found.length)
            if end is not None:
                yield end

    ends = (found.end, *sorted(samples(), key=lambda end: end.cost))
    plans = tuple(dict.fromkeys(end.state.plan for end in ends))[: asked.count]
    kernels = len(plans[0].kernels)
    reason = (f"{kernels} kernel{'s' * (kernels > 1)}, the cheapest of {found.judged} prefixes by the model "
              f"`{scorer.name}`")
    return ModelPlans(plans, (reason, *unrated_words(asked.program)))


def unrated_words(program: Program) -> tuple[str, ...]:
    """Return which arrays of a program no model can judge, with what beams do about it, a line per reason."""
    left = [Unjudged(node.array, node.refusal) for node in dataflow(program).nodes if node.refusal]
    return tuple(unjudged_words(left, ", as the start plans have them"))
