"""Arrays outside of global memory: what may lie where, the text that reads it, and right results on real devices."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.words import describe_plan
from generator.decisions.cache import Cache
from generator.errors import IllegalPlan
from generator.explain import explain
from generator.lowering import lower
from generator.lowering.analysis.shapes import kernel_shapes
from generator.lowering.core.placement import Placeable, placeable
from generator.lowering.heuristics.default import default_plan
from generator.plan import Placement, Plan
from generator.problem import Problem
from generator.program import Program
from generator.target import Target
from generator.variant import Texture
from graph.o1 import make_o1_space
from graph.optimization_graph import OptimizationGraph
from graph.policies import uniform
from graph.reaching import walk_to
from metrics.outcome import Timed, TimedOut
from runners.check import compare
from runners.data import initial_values
from runners.races import check_races
from tests.support.bench import LIMITS, outcomes_of
from tests.support.cuda import run_on_host
from tests.support.devices import device_named, has_intel
from tests.support.mixed import mixed
from tests.support.runners import device_of
from tests.support.slow import few, in_turn
from tests.support.space_plans import random_plans
from tests.support.suite import ODD_SIZES, TARGET, problem

GPU = replace(TARGET, images=True, image_1d=1 << 27, image_2d=(16384, 16384), constant_bytes=1 << 16)
CUDA = replace(GPU, dialect="cuda", image_2d=(131072, 65000), sub_group=32)
TEXTURES = ("A", "B", "c", "d", "e")
DEVICES = ["PoCL", pytest.param("Intel OpenCL", marks=pytest.mark.skipif(
    not has_intel(), reason="the extra `intel` is not installed"))]


def placed(plan: Plan, memory: Placement, names: Sequence[str]) -> Plan:
    return replace(plan, placement=tuple((name, memory) for name in sorted(names)))


def refusal(plan: Plan, target: Target, program: Program | None = None) -> str:
    with pytest.raises(IllegalPlan) as caught:
        lower(program or mixed().program, plan, target)
    return str(caught.value)


def textures(target: Target, plan: Plan | None = None) -> dict[str, Texture]:
    program = mixed().program
    plan = plan or placed(default_plan(program, target), "texture", TEXTURES)
    [kernel] = lower(program, plan, target).kernels
    return {p.array: p for p in kernel.placements if isinstance(p, Texture)}


def test_what_may_lie_where() -> None:
    both: tuple[Placement, ...] = ("texture", "constant")
    assert placeable(mixed().program, GPU) == (
        Placeable("A", 29304, both), Placeable("B", 1628, both), Placeable("c", 148, both), Placeable("d", 36, both),
        Placeable("e", 296, both), Placeable("f", 88, ("constant",)))
    assert placeable(mixed().program, TARGET) == ()
    small = replace(GPU, image_2d=(64, 64), image_1d=300, constant_bytes=1000)
    assert {one.array: one.memories for one in placeable(mixed().program, small)} == {
        "B": ("texture",), "c": both, "d": both, "e": both, "f": ("constant",)}


def test_shapes_of_textures() -> None:
    assert {name: t.shape for name, t in textures(GPU).items()} == {
        "A": (37, 99), "B": (37, 11), "c": (37,), "d": (9,), "e": (37,)}
    assert {name for name, t in textures(GPU).items() if t.words == 2} == {"A", "e"}
    assert textures(replace(GPU, image_2d=(37, 98)))["A"].shape == (37 * 99,)
    assert textures(replace(GPU, image_2d=(36, 99)))["B"].shape == (37 * 11,)
    single = textures(replace(GPU, image_pairs=False))
    assert (single["A"].shape, single["B"].shape, single["e"].shape) == ((74, 99), (37, 11), (74,))
    assert {t.words for t in single.values()} == {1}


@pytest.mark.parametrize(("array", "memory", "target", "essence"), [
    ("z", "texture", GPU, "no array of that name"),
    ("out", "texture", GPU, "not only read"),
    ("out", "constant", GPU, "not only read"),
    ("f", "texture", GPU, "its type is long"),
    ("A", "texture", TARGET, "test device has no textures"),
    ("A", "texture", replace(GPU, image_1d=100, image_2d=(10, 10)), "3663 elements"),
    ("A", "constant", replace(GPU, constant_bytes=29303), "29304 bytes in constant memory; test device has 29303"),
])
def test_refused_placements(array: str, memory: Placement, target: Target, essence: str) -> None:
    plan = placed(default_plan(mixed().program, target), memory, [array])
    assert essence in refusal(plan, target)


def test_constant_memory_is_for_all_arrays_together() -> None:
    plan = default_plan(mixed().program, GPU)
    assert lower(mixed().program, placed(plan, "constant", ["A", "B"]), replace(GPU, constant_bytes=30932)).kernels
    assert "30932 bytes" in refusal(placed(plan, "constant", ["A", "B"]), replace(GPU, constant_bytes=30931))


def test_the_cache_is_configured_on_cuda_only() -> None:
    program = mixed().program
    caches: tuple[Cache, ...] = ("none", "shared", "l1")
    for cache in caches:
        plan = default_plan(program, CUDA)
        plan = replace(plan, kernels=tuple(replace(k, cache=cache) for k in plan.kernels))
        variant = lower(program, plan, CUDA)
        assert [kernel.cache for kernel in variant.kernels] == [cache]
        assert variant.source == lower(program, default_plan(program, CUDA), CUDA).source
        if cache != "none":
            assert variant.code_hash != lower(program, default_plan(program, CUDA), CUDA).code_hash
            assert "for CUDA devices" in refusal(plan, GPU)


def test_other_plans_before_change_no_text() -> None:
    program = mixed().program
    plain = default_plan(program, GPU)
    first = lower(program, plain, GPU).source
    there = lower(program, placed(plain, "texture", TEXTURES), GPU).source
    assert "image" not in first
    assert lower(program, plain, GPU).source == first
    assert lower(program, placed(plain, "texture", TEXTURES), GPU).source == there


def test_words_for_people() -> None:
    program = mixed().program
    plan = replace(default_plan(program, GPU), placement=(("A", "texture"), ("B", "texture"), ("c", "constant")))
    assert "memory placement: A B texture, c constant; all else global" in describe_plan(plan)
    text = explain(program, plan, GPU)
    assert "A (29304 bytes, only read): texture memory; possible otherwise: global, constant" in text
    assert "f (88 bytes, only read): global memory; possible otherwise: constant" in text
    assert "none that is only read may lie elsewhere" in explain(program, default_plan(program, TARGET), TARGET)


# Results on devices

def outcomes(found: Problem, plans: Sequence[Plan], platform: str, **limits: object) -> list[str]:
    """What went wrong with the plans on a device, whose limits may be changed.

    That PoCL takes minutes for some unrolled loops is nothing wrong.
    """
    device = device_named(platform)
    device = replace(device, target=replace(device.target, **limits))  # type: ignore[arg-type]  # names of fields
    results = zip(plans, outcomes_of(device, found, plans), strict=True)
    patient = [(plan, result) for plan, result in results if not (
        isinstance(result, TimedOut) and result.phase == "compile")]
    assert 2 * len(patient) > len(plans)
    return [f"{plan.to_json()}: {result}" for plan, result in patient if not isinstance(result, Timed)]


def with_and_without_shared(program: Program, target: Target, placement: Sequence[tuple[str, Placement]]) -> list[Plan]:
    plan = replace(default_plan(program, target), placement=tuple(sorted(placement)))
    return [plan, replace(plan, kernels=tuple(replace(k, shared=False, inner_tile=1, unroll=2) for k in plan.kernels))]


@in_turn
@pytest.mark.parametrize("platform", DEVICES)
@pytest.mark.parametrize("limits", [{}, {"image_2d": (8, 8)}], ids=["two dimensions", "one dimension"])
def test_results_of_all_types(platform: str, limits: dict[str, object], tmp_path: Path) -> None:
    program, target = mixed().program, device_named(platform).target
    assert target.images
    plans = with_and_without_shared(program, target, [(name, "texture") for name in TEXTURES])
    if not limits:
        plans += with_and_without_shared(program, target, [(name, "constant") for name in (*TEXTURES, "f")])
        plans += with_and_without_shared(program, target, [("A", "constant"), ("B", "texture"), ("e", "texture")])[1:]
    assert not outcomes(mixed(), plans, platform, **limits)


@pytest.mark.slow
@pytest.mark.parametrize("platform", DEVICES)
@pytest.mark.parametrize(("name", "defines"), [("gemm", ()), ("gemm", ("DATA_TYPE_IS_FLOAT",)), ("gesummv", ())])
def test_results_of_programs(platform: str, name: str, defines: tuple[str, ...], tmp_path: Path) -> None:
    found = problem(name, (*ODD_SIZES[name], *defines))
    target = device_named(platform).target
    plans = []
    for memory in ("texture", "constant"):
        arrays = [one.array for one in placeable(found.program, target) if memory in one.memories]
        assert arrays
        plans += with_and_without_shared(found.program, target, [(array, memory) for array in arrays])
    assert not outcomes(found, plans, platform)


@pytest.mark.slow
@pytest.mark.parametrize("platform", DEVICES)
@pytest.mark.parametrize("name", ["2mm", "atax", "doitgen", "gemver", "mvt", "symm", "syr2k", "trisolv"])
def test_random_plans_with_textures(platform: str, name: str, tmp_path: Path) -> None:
    """Plans drawn for a GPU of the same size: the wide space offers textures and constant memory there only."""
    found, device = problem(name, ODD_SIZES[name]), device_named(platform)
    target = replace(device.target, shares_host_cores=False)
    plans = [plan for level in ("o1", "o2") for plan in random_plans(found.program, target, level, 8, 7)]
    assert any(plan.placement for plan in plans)
    assert not outcomes(found, plans, platform)


def test_oclgrind_finds_nothing_wrong() -> None:
    if device_of("Oclgrind") is None:
        pytest.skip("Oclgrind is not installed")
    program = mixed().program
    for plan in with_and_without_shared(program, GPU, [("A", "texture"), ("B", "constant"), ("e", "texture")]):
        report = check_races(mixed(), plan, GPU, LIMITS)
        assert report.clean, report


# Spaces

PROGRAM_ARRAYS = tuple(Placeable(name, 400, ("texture", "constant")) for name in "ABC")


def placement_walks(target: Target, wide: bool, arrays: Sequence[Placeable], count: int = 40) -> list[Plan]:
    space = make_o1_space(partial(kernel_shapes, mixed().program), target, wide, (), arrays)
    graph = OptimizationGraph()
    walks = [graph.walk(space, uniform(np.random.default_rng(seed))) for seed in range(count)]
    return [walk.plan for walk in walks if walk is not None]


def test_options_by_space_and_device() -> None:
    def offered(target: Target, wide: bool) -> set[str]:
        plans = placement_walks(target, wide, placeable(mixed().program, target))
        return {memory for plan in plans for _, memory in plan.placement}

    cpu = replace(GPU, shares_host_cores=True)
    assert offered(GPU, True) == {"texture", "constant"}
    assert offered(GPU, False) == offered(cpu, False) == {"texture"}
    assert offered(cpu, True) == offered(TARGET, False) == set()
    assert {k.cache for plan in placement_walks(CUDA, False, ()) for k in plan.kernels} == {"none", "shared", "l1"}
    assert {k.cache for plan in placement_walks(GPU, True, ()) for k in plan.kernels} == {"none"}


def test_no_preference_for_shared_memory_without_it() -> None:
    for plan in placement_walks(CUDA, True, (), 60):
        assert all(kernel.shared or kernel.cache != "shared" for kernel in plan.kernels)


@settings(max_examples=30)
@given(st.integers(0, 1300), st.integers(0, 1 << 20))
def test_constant_memory_is_never_overfull(room: int, seed: int) -> None:
    space = make_o1_space(lambda choice: (), replace(GPU, constant_bytes=room), True, (), PROGRAM_ARRAYS)
    walk = OptimizationGraph().walk(space, uniform(np.random.default_rng(seed)))
    assert walk is not None
    assert 400 * sum(memory == "constant" for _, memory in walk.plan.placement) <= room


def test_the_graph_branches_per_array_and_plans_lead_back() -> None:
    space = make_o1_space(lambda choice: (), GPU, True, (), PROGRAM_ARRAYS)
    graph, found = OptimizationGraph(), set()
    for seed in range(300):
        walk = graph.walk(space, uniform(np.random.default_rng(seed)))
        assert walk is not None
        found.add(walk.plan.placement)
        assert walk_to(space, walk.plan) == walk
    assert len(found) == 27
    nodes = [decision.subject for decision in graph.nodes if decision.name == "memory placement"]
    assert [nodes.count((name,)) for name in "ABC"] == [1, 3, 9]


# CUDA text

needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")


def compiled(text: str, folder: Path, *options: str) -> str:
    """What nvcc made of a text, with every warning an error."""
    source, result = folder / "kernels.cu", folder / "result"
    source.write_text(text)
    run = subprocess.run(["nvcc", "-arch=sm_90", "-Werror", "all-warnings", *options, "-o", str(result), str(source)],
                         capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return result.read_text(errors="replace")


@in_turn
@needs_nvcc
@pytest.mark.parametrize("limits", few([{}, {"image_2d": (8, 8)}], 1, ["two dimensions", "one dimension"]))
def test_nvcc_reads_textures_and_constants(limits: dict[str, object], tmp_path: Path) -> None:
    target = replace(CUDA, **limits)  # type: ignore[arg-type]  # names of fields
    program = mixed().program
    placement: list[tuple[str, Placement]] = [(name, "texture") for name in TEXTURES]
    for plan in with_and_without_shared(program, target, [*placement, ("f", "constant")]):
        ptx = compiled(lower(program, plan, target).source, tmp_path, "-ptx")
        assert len(re.findall(r"\.param \.u64", ptx.split("{")[0])) == 6  # five textures and the result
        assert "ld.const" in ptx
        assert ("tex.2d" in ptx) == (not limits)
        assert "tex.1d" in ptx


@pytest.mark.skipif(shutil.which("c++") is None, reason="there is no C++ compiler")
@pytest.mark.parametrize("limits", [{}, {"image_2d": (8, 8)}], ids=["two dimensions", "one dimension"])
def test_cuda_text_on_the_host(limits: dict[str, object], tmp_path: Path) -> None:
    """Coordinates, words of doubles and symbols are right: the text runs with textures and symbols that are
    pretended.
    """
    found, target = mixed(), replace(CUDA, **limits)  # type: ignore[arg-type]  # names of fields
    placement: list[tuple[str, Placement]] = [(name, "texture") for name in TEXTURES]
    plan = with_and_without_shared(found.program, target, [*placement, ("f", "constant")])[1]
    arrays = initial_values(found)
    run_on_host(lower(found.program, plan, target), arrays, tmp_path)
    assert compare(found.program, found.reference.outputs, arrays) is None


@needs_nvcc
def test_what_a_kernel_only_reads_takes_the_read_only_path(tmp_path: Path) -> None:
    program = mixed().program
    plan = with_and_without_shared(program, CUDA, [])[1]
    ptx = compiled(lower(program, plan, CUDA).source, tmp_path, "-ptx")
    assert ptx.count("ld.global.nc") >= 6
