"""NVRTC compiles what is generated for each generation of NVIDIA's GPUs without a warning: one plan per program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from experiments.suites.image_pipelines import PIPELINES
from generator.lowering import lower
from generator.lowering.heuristics.default import default_plan
from generator.plan import KernelPlan, Plan
from generator.schedules.hyperplanes import Hyperplanes
from generator.target import Target
from generator.variant import Variant
from metrics.resources import parse_ptxas
from runners.cuda.compiler import Capability, Nvrtc
from tests.support.cuda_compiler import ELF, translator
from tests.support.hyperplanes import SEIDEL_TILES
from tests.support.slow import few, of_today
from tests.support.space_plans import lowered, random_plans
from tests.support.suite import ALL_NAMES, ODD_SIZES, pipeline_program, polybench_program
from tests.support.targets import HOPPER

SHARED_KB: dict[Capability, int] = {(7, 5): 64, (8, 0): 163, (9, 0): 227, (12, 0): 99}
"""Shared memory of a block by compute capability (CUDA C++ Programming Guide, "Technical Specifications")."""
GENERATIONS = tuple(SHARED_KB)
PIPELINE_NAMES = tuple(program.name for program in PIPELINES)


def check_without_warnings(variant: Variant, capability: Capability) -> None:
    """Device code for `capability` with resources for every kernel, and a log of nothing but ptxas' figures."""
    cubin, log = translator(Nvrtc).translate(variant.source, capability)
    assert cubin.startswith(ELF)
    assert set(parse_ptxas(log)) == {kernel.name for kernel in variant.kernels}
    assert not warnings(log)


def warnings(log: str) -> Sequence[str]:
    """The lines of a log that are no figures."""
    return [line for line in log.splitlines()
            if line.strip() and not line.startswith("ptxas info") and "bytes stack frame" not in line]


def target_of(capability: Capability) -> Target:
    return replace(HOPPER, capability=capability, local_bytes=SHARED_KB[capability] << 10)


def test_a_warning_would_be_seen() -> None:
    _, log = translator(Nvrtc).translate('extern "C" __global__ void k(int *a) { int unused; a[0] = 1; }', (9, 0))
    assert any("never referenced" in line for line in warnings(log))


def check_default_plan(name: str, capability: Capability) -> None:
    program, target = polybench_program(name, ODD_SIZES[name]), target_of(capability)
    check_without_warnings(lower(program, default_plan(program, target), target), capability)


@pytest.mark.parametrize("name", ALL_NAMES)
def test_default_plans(name: str) -> None:
    """Each program for one generation, the next program for the next one."""
    check_default_plan(name, GENERATIONS[ALL_NAMES.index(name) % len(GENERATIONS)])


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL_NAMES)
def test_default_plans_for_every_generation(name: str) -> None:
    for capability in SHARED_KB:
        check_default_plan(name, capability)


def test_tiles_of_wavefronts_in_blocks() -> None:
    """Barriers between the diagonals of a tile, behind which blocks without a tile are gone."""
    plan = Plan(Hyperplanes((SEIDEL_TILES,)), (KernelPlan(("S0",), (1, 1), (2, 8), diagonals=True),))
    for capability in SHARED_KB:
        variant = lower(polybench_program("seidel-2d", ODD_SIZES["seidel-2d"]), plan, target_of(capability))
        check_without_warnings(variant, capability)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL_NAMES)
def test_random_plans(name: str) -> None:
    program = polybench_program(name, ODD_SIZES[name])
    for capability in SHARED_KB:
        target = target_of(capability)
        for plan in random_plans(program, target, "o2", 5, 7):
            if (variant := lowered(program, plan, target)) is not None:
                check_without_warnings(variant, capability)


def check_pipeline(name: str, capability: Capability) -> None:
    program, target = pipeline_program(name, "small"), target_of(capability)
    check_without_warnings(lower(program, default_plan(program, target), target), capability)


@pytest.mark.parametrize("name", few(PIPELINE_NAMES, of_today(PIPELINE_NAMES, 4)))
def test_pipelines(name: str) -> None:
    check_pipeline(name, GENERATIONS[PIPELINE_NAMES.index(name) % len(GENERATIONS)])


@pytest.mark.slow
@pytest.mark.parametrize("name", PIPELINE_NAMES)
def test_pipelines_for_every_generation(name: str) -> None:
    for capability in SHARED_KB:
        check_pipeline(name, capability)
