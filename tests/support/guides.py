"""Pipelines of the suite at small sizes, and their spaces with a guide for beams."""

from __future__ import annotations

from functools import lru_cache

from experiments.search.guides.guided import GuidedSpace, guided_space, sioutas_scorer
from experiments.search.guides.settings import BeamSettings
from experiments.search.guides.stage_guide import StageGuide
from experiments.search.spaces import make_reachable_space
from experiments.suites.image_pipelines import pipeline
from experiments.values.options import Budget, RunOptions
from generator.frontend_c.source import Compilation
from generator.problem import program_of
from generator.program import Program
from generator.target import Target
from graph.guiding import guide_of
from metrics.costs.scoring import Scorer
from tests.support.reading import read_untimed

CPU = Target("CPU", "opencl", 4096, (4096, 4096, 4096), 256 * 1024, 2, True, True)
GPU = Target("GPU", "opencl", 1024, (1024, 1024, 64), 48 * 1024, 28, True, False)


@lru_cache(maxsize=4)
def program(name: str) -> Program:
    found = pipeline(name)
    parameters = dict(found.parameters_at("small")) | ({} if name == "conv_layer" else {"width": 256, "height": 192})
    return program_of(read_untimed(found.file, Compilation(), None, None, parameters, 0, baselines=False).subject)


def guided(name: str | Program, target: Target, memoised: bool = True,
           scorer: Scorer | None = None) -> tuple[GuidedSpace, StageGuide]:
    options = RunOptions("a.py", Compilation(), Budget(evaluations=1), space="pipeline")
    given = program(name) if isinstance(name, str) else name
    space = guided_space(make_reachable_space(given, target, options), given, target,
                         scorer or sioutas_scorer(target, None), BeamSettings(memory=memoised))
    guide = guide_of(space)
    assert isinstance(guide, StageGuide)
    return space, guide
