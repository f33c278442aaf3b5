"""The pipelines of the suite: the interpreter, sequential C and the device compute what an independent reference says.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from experiments.exports.chosen import Chosen
from experiments.exports.signature import signature_of
from experiments.search.parts import PARTS
from experiments.suites.image_pipelines import PIPELINES, Pipeline, pipeline
from experiments.values.options import Budget, RunOptions
from experiments.values.records import Evaluation, Result, RunInfo
from generator.errors import IllegalPlan
from generator.frontend_c.source import Compilation
from generator.frontend_py.load import load_pipeline
from generator.frontend_py.problem import program_of
from generator.lowering import lower
from generator.plan import Plan
from generator.program import Program
from generator.schedules.stages import Stages
from generator.target import Target
from graph.optimization_graph import OptimizationGraph
from graph.policies import uniform
from metrics.outcome import Durations, Illegal
from runners.base import DeviceInfo
from tests.support.camera import camera
from tests.support.lens_blur import lens_blur
from tests.support.pipelines import REFERENCES as OTHERS
from tests.support.pipelines import Array
from tests.support.slow import counted, few
from tests.support.suite import small_problem

MOST_S = 4
GPU = Target("gpu", "opencl", 1024, (1024, 1024, 64), 48 * 1024, 8, True, False)
CPU = Target("cpu", "opencl", 4096, (4096, 4096, 4096), 1 << 19, 2, True, True)
REFERENCES: Mapping[str, Callable[..., Array]] = {**OTHERS, "camera_pipe": camera, "lens_blur": lens_blur}


def test_every_program_has_a_reference() -> None:
    assert set(REFERENCES) == {p.name for p in PIPELINES}
    assert all(p.file.is_file() for p in PIPELINES)


def check_against_numpy(program: Pipeline) -> None:
    """The interpreter's results and those of sequential C, at the small size."""
    problem, size = small_problem(program)
    reference = problem.reference
    expected = REFERENCES[program.name](reference.inputs, size, **dict(program.parameters))
    (found,) = reference.outputs.values()
    assert found.shape == expected.shape
    off = 1 if program.name == "histogram_equalize" else 0  # float32 decides where two bins meet
    if found.dtype.kind in "iu":
        assert int(np.max(np.abs(found.astype(int) - expected.astype(int)))) <= off
    else:
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-5)
    assert not [w for w in reference.warnings if "sequential C" in w]


QUICK = [p for p in PIPELINES[::2] if p.name not in ("lens_blur", "local_laplacian", "pyramid_blend")]


@pytest.mark.parametrize("program", few(PIPELINES, QUICK), ids=lambda p: p.name)
def test_interpreter_and_sequential_c_agree_with_numpy(program: Pipeline) -> None:
    check_against_numpy(program)


@pytest.mark.slow
@pytest.mark.parametrize("program", [p for p in PIPELINES if p.parameters], ids=lambda p: p.name)
def test_programs_as_deep_as_they_are_tuned_agree_with_numpy(program: Pipeline) -> None:
    """All levels of pyramids, all stages of a chain, the largest radius: what `build` does unless told otherwise."""
    check_against_numpy(replace(program, parameters=()))


@pytest.mark.parametrize(("name", "count"), counted(["histogram_equalize", "bilateral_grid"], 1, 30, 200))
def test_walks_of_one_graph_agree_on_what_is_offered(name: str, count: int) -> None:
    """A kernel of the same statements may hold copies of what its blocks update in one schedule and not in another, and
    is then offered other tiles: which these are is a part of the decision. A graph refuses a decision with two sets of
    options.
    """
    found, sizes = pipeline(name), dict(pipeline(name).parameters_at("medium"))
    program = program_of(load_pipeline(found.file, sizes), list(sizes.values()))
    options = RunOptions(str(found.file), Compilation(), Budget(1), space="pipeline")
    space, graph = PARTS.make_space(program, CPU, options), OptimizationGraph()
    for seed in range(count):
        graph.walk(space, uniform(np.random.default_rng(seed)))


@pytest.mark.parametrize("program", few(PIPELINES, [pipeline("harris")]), ids=lambda p: p.name)
def test_plans_of_the_space_are_lowered_in_seconds(program: Pipeline) -> None:
    """At most 2 s of processor time on a quiet machine (1.57 s for the worst of 144 plans, local_laplacian, AMD EPYC,
    2026-11-28); other work on the same cores lengthens it. Too long text is refused before that.
    """
    sizes = dict(program.parameters_at("full"))
    read = program_of(load_pipeline(program.file, sizes), list(sizes.values()))
    options = RunOptions(str(program.file), Compilation(), Budget(1), space="pipeline")
    for target in (CPU, GPU):
        space, graph = PARTS.make_space(read, target, options), OptimizationGraph()
        for seed in range(3):
            walk = graph.walk(space, uniform(np.random.default_rng(seed)))
            if walk is not None:
                assert _lowering_s(read, walk.plan, target) < MOST_S


def _lowering_s(program: Program, plan: Plan, target: Target) -> float:
    """Return the processor time of the lowering, also of one that ends with a refusal."""
    began_s = time.process_time()
    with suppress(IllegalPlan):
        lower(program, plan, target)
    return time.process_time() - began_s


@pytest.mark.parametrize("name", ["unsharp.py", "unsharp.c", "unsharp"])
def test_exports_take_the_program_s_arrays_where_no_parameters_are_declared_in_c(name: str) -> None:
    found = pipeline("unsharp")
    program = program_of(load_pipeline(found.file, {}), [36, 20])
    info = RunInfo("", RunOptions(name, Compilation(), Budget(1)), "", found.file.read_text(), program,
                   DeviceInfo("cpu", "CPU", "OpenCL", "1", CPU), "cc", ())
    nothing = Result(Evaluation(0, 0, 0, Plan(Stages(), ()), "[]"), Illegal("", Durations()), "", 0.0)
    signature = signature_of(Chosen(info, (), nothing, found.file.parent))
    const = "const " if name.endswith(".py") else ""
    assert signature.declarations == f"{const}float image[3][20][36], float unsharp[3][20][36]"
    assert signature.sequential is None
    assert signature.notes[0].startswith("The tuned file declares no parameters in C: ")
