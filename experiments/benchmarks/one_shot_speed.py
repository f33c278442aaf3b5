"""The time to plan without measurements: `python -m experiments.benchmarks.one_shot_speed NAME[:PARAM=N]... [--model
sioutas] [--off sampling,freezing,memory] [--freezing-from N]`.

One beam search per pipeline of the suite, at its full size, with known data flow. It uses the model that
is usual on the device, unless --model names one. With --off, features of the search are switched off one by one
(Anderson et al. 2021, tables 1 and 2), or all of those named together with --together. --freezing-from: programs with
so many stages or more are frozen.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Literal, TypeAlias, assert_never

import numpy as np

from experiments.script import numbers_of, run
from experiments.search.guides.guided import guided_space, scorer_of, sioutas_scorer
from experiments.search.guides.settings import BeamSettings
from experiments.search.guides.stage_guide import MANY, StageGuide
from experiments.search.places import find_device
from experiments.search.spaces import make_reachable_space
from experiments.suites.image_pipelines import SizeName, pipeline
from experiments.values.options import Budget, RunOptions
from explorer.beam import search
from explorer.beam_pass import BeamOptions
from generator.errors import InputError
from generator.frontend_c.source import Compilation
from generator.frontend_py.load import load_pipeline
from generator.frontend_py.problem import program_of, sizes_of
from generator.polyhedral.pipelines.dataflow import dataflow
from generator.program import Program
from generator.target import Target
from graph.guiding import guide_of
from metrics.costs.learned.model import shipped_model
from metrics.costs.scoring import Scorer

ModelName: TypeAlias = Literal["usual", "learned", "sioutas"]
SWITCHES = ("sampling", "freezing", "memory")


def main(names: list[str], model: ModelName = "usual", off: str = "", together: bool = False,
         device: str | None = None, size: SizeName = "full", freezing_from: int = MANY) -> None:
    """Print a line per pipeline and way."""
    target, without = find_device(device).target, tuple(filter(None, off.split(",")))
    if unknown := set(without) - set(SWITCHES):
        raise InputError(f"--off {', '.join(unknown)}: use {', '.join(SWITCHES)}")
    ways: list[tuple[str, ...]] = [(), *((without,) if together and without else ((one,) for one in without))]
    for name, program in [(name, read(name, size)) for name in names]:  # a refusal comes before the first search
        for way in ways:
            print(measured(name, program, target, model, way, freezing_from), flush=True)


def read(text: str, size: SizeName) -> Program:
    """Return a program of the suite, such as `stencil_chain:stages=100`. Raises InputError."""
    name, *given = text.split(":")
    chosen = pipeline(name)
    parameters = dict(chosen.parameters_at(size)) | numbers_of(given)
    outputs = load_pipeline(chosen.file, parameters)
    return program_of(outputs, sizes_of(parameters), name, str(chosen.file))  # no reference is computed


def _scorer(model: ModelName, target: Target) -> Scorer:
    match model:
        case "usual":
            return scorer_of(target, None)
        case "learned":
            return shipped_model()
        case "sioutas":
            return sioutas_scorer(target, None)
        case _:
            assert_never(model)


def measured(name: str, program: Program, target: Target, model: ModelName, off: tuple[str, ...],
             freezing_from: int) -> str:
    """Return the time of a search, in words."""
    options = RunOptions("a.py", Compilation(), Budget(evaluations=1), space="pipeline")
    flow = dataflow(program)
    space = guided_space(make_reachable_space(program, target, options), program, target, _scorer(model, target),
                         BeamSettings(many=freezing_from, memory="memory" not in off))
    guide = guide_of(space)
    assert isinstance(guide, StageGuide)
    beam = replace(BeamOptions(), sampling="sampling" not in off, freezing="freezing" not in off)
    wall, processor = time.monotonic(), time.process_time()
    found = search(space, guide, beam, np.random.default_rng(0))
    wall, processor = time.monotonic() - wall, time.process_time() - processor
    cost = guide.costs([found.end])[0] if found.end is not None else float("nan")
    kernels = len(found.end.state.plan.kernels) if found.end is not None else 0
    without = f" without {', '.join(off)}" if off else ""
    return (f"{name}{without}: {sum(node.stage for node in flow.nodes)} stages, {processor:.1f} s of processor time, "
            f"{wall:.1f} s, {found.judged} prefixes judged, {guide.tables.made} kernels evaluated, {kernels} kernels, "
            f"cost {cost:.4g}")


if __name__ == "__main__":
    run(main)
