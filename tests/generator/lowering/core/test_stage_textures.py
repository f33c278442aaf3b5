"""Stages that are stored, and read by later kernels as textures: what is offered, the text, right results."""

from __future__ import annotations

import re
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
from generator.lowering.core.placement import placements, stage_textures
from generator.lowering.heuristics.default import default_plan
from generator.plan import Placement, Plan, plan_from_json
from generator.problem import Problem
from generator.program import Where
from generator.schedules.stages import Stages
from generator.target import Dialect, Target
from generator.variant import Texture
from metrics.outcome import Timed
from runners.races import check_races
from tests.support.bench import LIMITS, outcomes_of
from tests.support.cuda_double import found_in
from tests.support.devices import device_named, has_intel
from tests.support.runners import device_of
from tests.support.slow import few, in_turn
from tests.support.stages import offered_plans
from tests.support.suite import TARGET, pipeline_program, small_problem
from tests.support.watched_gpu import WatchedGpu

GPU = replace(TARGET, images=True, image_1d=1 << 27, image_2d=(16384, 16384), image_narrow=True, image_pitch=64,
              constant_bytes=1 << 16)
CUDA = replace(GPU, dialect="cuda", sub_group=32)
DEVICES = ["PoCL", pytest.param("Intel OpenCL", marks=pytest.mark.skipif(
    not has_intel(), reason="the extra `intel` is not installed"))]
NO_STAGES = ("matmul",)
"""Of a type that textures hold."""
NAMES = [program.name for program in PIPELINES]


def stored(plan: Plan, *kinds: Placement) -> set[str]:
    return {array for array, memory in plan.placement if memory in (kinds or ("texture", "texture2d"))}


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


@pytest.mark.parametrize("dialect", ["opencl", "cuda"])
def test_rows_of_the_stage_are_those_of_a_texture_of_two_dimensions(dialect: Dialect) -> None:
    """Kernels write and read the same longer rows; a stage whose rows are long enough stays as it is."""
    program = pipeline_program("harris", "small")
    height, width = program.array("gray").extents
    assert width % 64
    for unit, name in ((64, "gray_rows"), (width, "gray")):
        target = replace(CUDA if dialect == "cuda" else GPU, image_pitch=unit)
        row = -(-width // unit) * unit
        there = lower(program, replace(default_plan(program, target, choice=Stages()),
                                       placement=(("gray", "texture2d"),)), target)
        assert [(array.name, array.extents) for array in there.scratch] == [(name, (height, row))] * (name != "gray")
        assert there.in_place == {name}
        readers = [kernel for kernel in there.kernels if kernel.placements]
        assert len(readers) == 2  # ix and iy
        for kernel in readers:
            assert kernel.placements == (Texture(name, "float", (row, height), 1, in_place=True),)
            assert f"antune_texel_float_2d({name}, " in kernel.source and f"{name}[" not in kernel.source
        (writer,) = (kernel for kernel in there.kernels if name in kernel.arrays and not kernel.placements)
        assert re.search(rf"\b{name}\[.* \* {row} \+ ", writer.source)
        assert not any("gray" in kernel.arrays for kernel in there.kernels) or name == "gray"


def test_a_variable_of_another_kernel_may_have_the_name_of_a_stage_with_longer_rows() -> None:
    """The second element of the inline stage `gray` is in a variable called like the stage `gray_1`."""
    x, y, source = hl.Var("x"), hl.Var("y"), hl.ImageParam(hl.Float(32), 2, "image")
    gray, stage, other, out = (hl.Func(name) for name in ("gray", "gray_1", "other", "out"))
    gray[x, y] = hl.sqrt(source[x, y])
    stage[x, y] = source[x, y] * 3
    other[x, y] = gray[x, y] * gray[x + 1, y] + gray[x + 1, y]
    out[x, y] = stage[x, y] + stage[x + 1, y] + other[x, y + 1] - other[x, y]
    program = program_of([out], [37, 19])
    plan = default_plan(program, GPU, choice=Stages((("gray", "inline"),)))
    there = lower(program, replace(plan, placement=(("gray_1", "texture2d"), ("other", "texture2d"))), GPU)
    assert there.in_place == {"gray_1_rows", "other_rows"}
    (computes,) = (kernel for kernel in there.kernels if "other_rows" in kernel.arrays and not kernel.placements)
    assert "float gray_1;" in computes.source and "gray_1_rows" not in computes.source
    readers = [kernel for kernel in there.kernels if kernel.placements]
    assert readers and all("antune_texel_float_2d(gray_1_rows, " in kernel.source for kernel in readers)


@pytest.mark.parametrize(("array", "computed", "target", "memory", "essence"), [
    ("harris", (), GPU, "texture", "not only read"),
    ("harris", (), GPU, "texture2d", "not only read"),
    ("image", (), GPU, "texture2d", "only stages choose the dimensions"),
    ("gray", (), TARGET, "texture", "has no textures"),
    ("gray", (), TARGET, "texture2d", "has no textures"),
    ("gray", (), replace(GPU, image_1d=100), "texture", "at most 100 texels"),
    ("gray", (), replace(GPU, image_pitch=0), "texture2d", "no two-dimensional textures over memory that kernels"),
    ("gray", (), replace(GPU, image_2d=(32, 100)), "texture2d", r"needs \d+ x \d+ texels; .* have at most 32 x 100"),
    ("gray", (), replace(GPU, image_2d=(4096, 9)), "texture2d", r"needs \d+ x \d+ texels; .* have at most 4096 x 9"),
    ("gray", (("gray", "block"),), GPU, "texture", "gray .*: no kernel of this plan reads it from global memory"),
    ("gray", (("gray", "block"),), GPU, "texture2d", "gray .*: no kernel of this plan reads it from global memory"),
])
def test_refused(array: str, computed: tuple[tuple[str, Where], ...], target: Target, memory: Placement,
                 essence: str) -> None:
    program = pipeline_program("harris", "small")
    plan = default_plan(program, target, choice=Stages(computed))
    with pytest.raises(IllegalPlan, match=essence):
        lower(program, replace(plan, placement=((array, memory),)), target)


def test_longer_rows_stay_within_what_int_subscripts_reach() -> None:
    """On a GPU with CUDA's limits, the stage itself has fewer than 2^31 elements, with longer rows it has more."""
    small, target = pipeline_program("harris", "small"), replace(GPU, image_1d=1 << 31, image_2d=(1 << 17, 65000))
    for width, offered in ((33000, True), (33037, False)):
        gray = replace(small.array("gray"), extents=(65000, width), declared=())
        assert gray.elements < 2**31
        program = replace(small, arrays=tuple(gray if array.name == "gray" else array for array in small.arrays))
        (found,) = (one for one in stage_textures(program, target) if one.array == "gray")
        assert ("texture2d" in found.memories) == offered
    with pytest.raises(IllegalPlan, match=r"gray .* rows of 33088 texels .* int, so at most 2147483647"):
        placements(program, replace(default_plan(small, target, choice=Stages()), placement=(("gray", "texture2d"),)),
                   target)


def test_a_device_without_small_texels_has_no_textures_of_bytes(tmp_path: Path) -> None:
    found = written(tmp_path)
    plain = replace(GPU, image_narrow=False)
    small = {"bytes", "chars", "halves", "shorts", "words"}
    assert {one.array for one in stage_textures(found.program, GPU)} == {*small, "counts", "doubles", "floats", "whole"}
    assert {one.array for one in stage_textures(found.program, plain)} == {"counts", "doubles", "floats", "whole"}
    plan = default_plan(found.program, plain, choice=Stages())
    with pytest.raises(IllegalPlan, match=r"unsigned char; textures of .* hold elements of 32 bits or more"):
        lower(found.program, replace(plan, placement=(("bytes", "texture"),)), plain)


def test_what_is_offered() -> None:
    program = pipeline_program("harris", "small")
    assert {one.array for one in stage_textures(program, GPU)} >= {"gray", "ix", "iy"}
    assert not stage_textures(program, TARGET)
    seen: dict[Placement, set[str]] = {"texture": set(), "texture2d": set()}
    for seed in range(10):
        for plan in offered_plans(program, GPU, 4, seed):
            assert isinstance(plan.schedule, Stages)
            assert not stored(plan) & {array for array, _ in plan.schedule.computed}
            for kind in seen:
                seen[kind] |= stored(plan, kind)
    for arrays in seen.values():
        assert arrays >= {"gray", "ix", "iy"} and "harris" not in arrays
    for plan in offered_plans(program, replace(GPU, shares_host_cores=True), 4, 0):
        assert not plan.placement


@in_turn
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
    words = "written first): global memory, which kernels that only read it read as a"
    assert f"{words} texture" in explain(program, plan, GPU)
    plan = replace(plan, placement=(("gray", "texture"), ("ix", "texture2d")))
    assert "memory placement: gray texture, ix texture2d; all else global" in describe_plan(plan)
    assert f"{words} two-dimensional texture" in explain(program, plan, GPU)
    assert plan_from_json(plan.to_json()) == plan


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
    total = doubles[x, y] + doubles[x + 1, y + 2] + hl.f64(counts[x, y]) + hl.f64(whole[x, y])
    small = {"bytes": hl.UInt(8), "chars": hl.Int(8), "words": hl.UInt(16), "shorts": hl.Int(16)}
    for number, (name, kind) in enumerate(small.items()):
        stage = hl.Func(name)
        stage[x, y] = hl.cast(kind, image[x, y] * 40503 + 131 * x - 67 * y)
        total += hl.f64((number + 2) * hl.i32(stage[x + 1, y]) - hl.i32(stage[x, y + 2]))
    halves = hl.Func("halves")
    halves[x, y] = hl.cast(hl.Float(16), hl.f32(image[x, y]) / 7)
    out[x, y] = total + hl.f64(halves[x + 1, y]) - hl.f64(halves[x, y + 1])
    return out
"""
"""A stage of each type that textures hold; one has an update, which reads what it writes."""
STAGES = ("bytes", "chars", "counts", "doubles", "floats", "halves", "shorts", "whole", "words")


def written(folder: Path) -> Problem:
    (folder / "types.py").write_text(TYPES)
    return read_pipeline(folder / "types.py", None, {"width": 37, "height": 19}, 3)


def all_types(folder: Path, target: Target, memory: Placement) -> tuple[Problem, Plan]:
    """Every stage is stored and read as a texture."""
    if memory == "texture2d" and not target.image_pitch:
        pytest.skip(f"{target.name} says that images over buffers have one dimension (CL_DEVICE_IMAGE_PITCH_ALIGNMENT)")
    found = written(folder)
    plan = default_plan(found.program, target, choice=Stages())
    plan = replace(plan, placement=tuple((name, memory) for name in STAGES))
    assert {name.removesuffix("_rows") for name in lower(found.program, plan, target).in_place} == set(STAGES)
    return found, plan


@in_turn
@pytest.mark.parametrize("platform", DEVICES)
@pytest.mark.parametrize("memory", ["texture", "texture2d"])
@pytest.mark.parametrize("shared", few([True, False], 1))
def test_results_of_all_types(platform: str, memory: Placement, shared: bool, tmp_path: Path) -> None:
    """Doubles are pairs of words in the first plan, two words in the second."""
    device = device_named(platform)
    device = device if shared else replace(device, target=replace(device.target, image_pairs=False))
    found, plan = all_types(tmp_path, device.target, memory)
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


@pytest.mark.slow
@pytest.mark.parametrize("name", ["", *NAMES])
def test_cuda_has_no_races(name: str, watched_gpu: WatchedGpu, tmp_path: Path) -> None:
    found, plan = all_types(tmp_path, watched_gpu.target, "texture")
    plans = [plan, all_types(tmp_path, watched_gpu.target, "texture2d")[1]]
    if name:
        found = small_problem(pipeline(name))[0]
        plans = textured(found, watched_gpu.target, 2, 5)
    if plans:
        assert not wrong(watched_gpu.outcomes(found, plans), plans) and not found_in(watched_gpu.calls)
        told = watched_gpu.calls.read_text()
        assert "texture " in told
        if not name:
            for channel in (1, 2, 3, 8, 9, 10, 32):  # CUarray_format: of each type
                assert f"texture channel {channel} x " in told, channel
            assert re.search(r"texture channel 1 x 1, 64 x \d+, pitch 64\n", told)


@pytest.mark.slow
def test_oclgrind_finds_nothing_wrong(tmp_path: Path) -> None:
    if device_of("Oclgrind") is None:
        pytest.skip("Oclgrind is not installed")
    found, plan = all_types(tmp_path, GPU, "texture")
    report = check_races(found, plan, GPU, LIMITS)
    assert report.clean, report
