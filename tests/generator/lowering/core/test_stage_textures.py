"""Stages that are stored, and read by later kernels as textures: what is offered, the text, right results."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from antune import halide as hl
from experiments.suites.image_pipelines import PIPELINES, pipeline
from experiments.words import describe_plan
from generator.errors import IllegalPlan
from generator.explain import explain
from generator.frontend_py.problem import program_of, read_pipeline
from generator.lowering import lower
from generator.lowering.core.placement import stage_textures
from generator.lowering.heuristics.default import default_plan
from generator.plan import Plan
from generator.problem import Problem
from generator.program import Where
from generator.schedules.stages import Stages
from generator.target import Target
from generator.variant import Texture
from metrics.outcome import Timed
from runners.base import DeviceInfo
from runners.races import check_races
from tests.support.bench import LIMITS, outcomes_of
from tests.support.cuda_double import UNUSABLE, found_in, measured
from tests.support.devices import device_named, has_intel
from tests.support.runners import device_of
from tests.support.slow import few
from tests.support.stages import offered_plans
from tests.support.suite import TARGET, pipeline_program, small_problem

GPU = replace(TARGET, images=True, image_1d=1 << 27, image_2d=(16384, 16384), constant_bytes=1 << 16)
CUDA = replace(GPU, dialect="cuda", sub_group=32)
DEVICES = ["PoCL", pytest.param("Intel OpenCL", marks=pytest.mark.skipif(
    not has_intel(), reason="the extra `intel` is not installed"))]
NO_STAGES = ("matmul",)
"""Of a type that textures hold."""
NAMES = [program.name for program in PIPELINES]


def stored(plan: Plan) -> set[str]:
    return {array for array, memory in plan.placement if memory == "texture"}


def textured(found: Problem, target: Target, count: int, seed: int) -> list[Plan]:
    """Random plans in which some stage is read as a texture: those of a GPU with the limits of `target`."""
    stages = {one.array for one in stage_textures(found.program, target)}
    plans: list[Plan] = []
    for number in range(20):
        for plan in offered_plans(found.program, replace(target, shares_host_cores=False), count, seed + number):
            with suppress(IllegalPlan):
                if stored(plan) & stages and lower(found.program, plan, target).in_place:
                    plans.append(plan)
        if len(plans) >= count:
            break
    return plans[:count]


def wrong(outcomes: Sequence[object], plans: Sequence[Plan]) -> list[str]:
    return [f"{plan.to_json()}: {outcome}" for plan, outcome in zip(plans, outcomes, strict=True)
            if not isinstance(outcome, Timed)]


def test_the_stage_is_written_as_ever_and_read_through_the_texture() -> None:
    program = pipeline_program("harris", "small")
    plan = default_plan(program, GPU, choice=Stages())
    there = lower(program, replace(plan, placement=(("gray", "texture"),)), GPU)
    assert there.in_place == {"gray"}
    for kernel in there.kernels:
        reads = [p for p in kernel.placements if isinstance(p, Texture)]
        if "gray" in kernel.arrays and not reads:
            assert "__global float *restrict gray" in kernel.source and "gray[" in kernel.source
        for texture in reads:
            assert texture == Texture("gray", "float", texture.shape, 1, in_place=True) and len(texture.shape) == 1
            assert "read_only image1d_buffer_t gray" in kernel.source
            assert "antune_texel_float_1d(gray, " in kernel.source and "gray[" not in kernel.source
    assert sum(bool(kernel.placements) for kernel in there.kernels) == 2  # ix and iy
    plain = lower(program, plan, GPU)
    assert there.code_hash != plain.code_hash and "image1d" not in plain.source
    cuda = lower(program, replace(default_plan(program, CUDA, choice=Stages()), placement=(("gray", "texture"),)), CUDA)
    assert "cudaTextureObject_t gray" in cuda.source and "tex1Dfetch<float>(image, x)" in cuda.source


@pytest.mark.parametrize(("array", "computed", "target", "essence"), [
    ("harris", (), GPU, "not only read"),
    ("gray", (), TARGET, "has no textures"),
    ("gray", (), replace(GPU, image_1d=100), "at most 100 texels"),
    ("gray", (("gray", "block"),), GPU, "no kernel of this plan reads it from global memory"),
])
def test_refused(array: str, computed: tuple[tuple[str, Where], ...], target: Target, essence: str) -> None:
    program = pipeline_program("harris", "small")
    plan = default_plan(program, target, choice=Stages(computed))
    with pytest.raises(IllegalPlan, match=essence):
        lower(program, replace(plan, placement=((array, "texture"),)), target)


def test_what_is_offered() -> None:
    program = pipeline_program("harris", "small")
    assert {one.array for one in stage_textures(program, GPU)} >= {"gray", "ix", "iy"}
    assert not stage_textures(program, TARGET)
    seen = set[str]()
    for seed in range(10):
        for plan in offered_plans(program, GPU, 4, seed):
            assert isinstance(plan.schedule, Stages)
            assert not stored(plan) & {array for array, _ in plan.schedule.computed}
            seen |= stored(plan)
    assert seen >= {"gray", "ix", "iy"} and "harris" not in seen
    for plan in offered_plans(program, replace(GPU, shares_host_cores=True), 4, 0):
        assert not plan.placement


def test_what_a_tuple_computes_with_its_array_is_no_reader() -> None:
    x, y, r = hl.Var("x"), hl.Var("y"), hl.RDom([(0, 5)])
    image, best, out = hl.ImageParam(hl.UInt(8), 2, "image"), hl.Func("best"), hl.Func("out")
    value = hl.i32(image[x + r.x, y])
    best[x, y] = (hl.i32(0), hl.i32(0))
    best[x, y] = (hl.select(value > best[x, y][0], value, best[x, y][0]),
                  hl.select(value > best[x, y][0], r.x, best[x, y][1]))
    out[x, y] = best[x, y][1] * 3
    program = program_of([out], [40, 30])
    plans = [plan for seed in range(6) for plan in offered_plans(program, GPU, 4, seed)]
    assert {array for plan in plans for array in stored(plan)} >= {"best_1"}
    for plan in plans:
        assert "best_0" not in stored(plan)
        lower(program, plan, GPU)


def test_words_for_people() -> None:
    program = pipeline_program("harris", "small")
    plan = replace(default_plan(program, GPU, choice=Stages()), placement=(("gray", "texture"),))
    assert "memory placement: gray texture; all else global" in describe_plan(plan)
    assert "written first): global memory, which kernels that only read it read as a texture" in explain(program, plan,
                                                                                                        GPU)


TYPES = """
from antune import halide as hl


def build(width: int = 37, height: int = 19) -> hl.Func:
    x, y = hl.Var("x"), hl.Var("y")
    image = hl.ImageParam(hl.Int(32), 2, "image")
    floats, doubles, whole, counts = (hl.Func(name) for name in ("floats", "doubles", "whole", "counts"))
    out = hl.Func("out")
    floats[x, y] = hl.f32(image[x, y]) * 0.5
    doubles[x, y] = hl.f64(floats[x, y] + floats[x + 2, y + 1]) / 3
    whole[x, y] = image[x, y] - 7
    counts[x, y] = hl.u32(whole[x + 1, y]) >> 3
    counts[x, y] += hl.u32(x)
    out[x, y] = doubles[x, y] + doubles[x + 1, y + 2] + hl.f64(counts[x, y]) + hl.f64(whole[x, y])
    return out
"""
"""A stage of each type that textures hold; one has an update, which reads what it writes."""


def all_types(folder: Path, target: Target) -> tuple[Problem, Plan]:
    """Every stage is stored and read as a texture."""
    (folder / "types.py").write_text(TYPES)
    found = read_pipeline(folder / "types.py", None, {"width": 37, "height": 19}, 3)
    plan = default_plan(found.program, target, choice=Stages())
    plan = replace(plan, placement=(("counts", "texture"), ("doubles", "texture"), ("floats", "texture"),
                                    ("whole", "texture")))
    assert lower(found.program, plan, target).in_place == {"counts", "doubles", "floats", "whole"}
    return found, plan


@pytest.mark.parametrize("platform", DEVICES)
@pytest.mark.parametrize("shared", few([True, False], 1))
def test_results_of_all_types(platform: str, shared: bool, tmp_path: Path) -> None:
    """Doubles are pairs of words in the first plan, two words in the second."""
    device = device_named(platform)
    device = device if shared else replace(device, target=replace(device.target, image_pairs=False))
    found, plan = all_types(tmp_path, device.target)
    plan = replace(plan, kernels=tuple(replace(k, shared=shared, inner_tile=1, block=(4, 8)) for k in plan.kernels))
    assert not wrong(outcomes_of(device, found, [plan]), [plan])


@pytest.mark.slow
@pytest.mark.parametrize("platform", DEVICES)
@pytest.mark.parametrize("name", NAMES)
def test_results_of_random_plans(name: str, platform: str) -> None:
    found, device = small_problem(pipeline(name))[0], device_named(platform)
    plans = textured(found, device.target, 4, 3)
    assert plans or name in NO_STAGES
    assert not wrong(outcomes_of(device, found, plans), plans)


@pytest.mark.skipif(UNUSABLE is not None, reason=str(UNUSABLE))
@pytest.mark.parametrize("name", few(["", *NAMES], ("",)))
def test_cuda_has_no_races(name: str, watched_gpu: DeviceInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_DOUBLE_LOG", str(tmp_path / "calls"))
    found, plan = all_types(tmp_path, watched_gpu.target)
    plans = [plan]
    if name:
        found = small_problem(pipeline(name))[0]
        plans = textured(found, watched_gpu.target, 2, 5)
    if plans:
        results = measured(found, watched_gpu, plans, tmp_path / "work")
        assert not wrong([results[n] for n in range(len(plans))], plans) and not found_in(tmp_path / "calls")
        assert "texture " in (tmp_path / "calls").read_text()


def test_oclgrind_finds_nothing_wrong(tmp_path: Path) -> None:
    if device_of("Oclgrind") is None:
        pytest.skip("Oclgrind is not installed")
    found, plan = all_types(tmp_path, GPU)
    report = check_races(found, plan, GPU, LIMITS)
    assert report.clean, report
