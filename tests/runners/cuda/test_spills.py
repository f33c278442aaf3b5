"""Registers on NVIDIA's GPUs: what ptxas spills, or puts into memory because its subscript is not known."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Literal

import pytest

from experiments.studies.recorded.recordings import own_recordings
from generator.lowering import lower
from generator.lowering.analysis.shapes import kernel_shapes
from generator.lowering.core.placement import placeable
from generator.lowering.heuristics.default import default_plan
from generator.plan import KernelPlan, Plan
from generator.polyhedral.dependences.reductions import reducible
from generator.polyhedral.schedules.partition import level
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from generator.schedules.time_tiles import TimeTiles
from generator.variant import Kernel, KernelText, Variant
from graph.o2 import make_o2_space
from graph.optimization_graph import OptimizationGraph
from graph.policies import first, prefer
from metrics.device_model import device_model
from metrics.outcome import Timed
from metrics.resources import Resources
from runners.cuda.bounds import bounded, register_limit, translate
from runners.cuda.compiler import Nvcc, Nvrtc, cuda_compiler
from runners.gpu.units import unpacked
from runners.kernel_codes import alone
from runners.replay.reading import read_walks
from tests.support.cuda_compiler import translator
from tests.support.slow import counted
from tests.support.space_plans import first_walks
from tests.support.suite import ALL_NAMES, ODD_SIZES, TARGET, polybench_program
from tests.support.targets import HOPPER
from tests.support.tensor_cores import float_problem

MODEL = device_model(HOPPER)
NO_PLAN = Plan(ScheduleChoice(), ())
STENCILS = ("fdtd-2d", "heat-3d", "jacobi-1d", "jacobi-2d")
# Spilled once (2mm, doitgen), kept registers in memory once (syrk, symm, gemver), or is a usual case (gemm, jacobi-2d).
FEW = ("doitgen", "jacobi-2d")


@lru_cache(maxsize=256)
def needs(compiler: Literal["NVRTC", "nvcc"], unit: Variant) -> Resources:
    """Of the only kernel of `unit`; the plans of a program share most of theirs."""
    known = translator(Nvrtc if compiler == "NVRTC" else Nvcc)
    return translate(lambda text: known.translate(text, (9, 0)), unit, MODEL).needs[unit.kernels[0].name]


def check_nothing_spills(compiler: Literal["NVRTC", "nvcc"], program: Program, plan: Plan) -> None:
    """Nothing of a thread is in memory: neither spills nor arrays. Kernels are compiled alone, as in a run."""
    variant = lower(program, plan, HOPPER)
    for kernel in variant.kernels:
        found = needs(compiler, replace(alone(kernel, variant), plan=NO_PLAN))
        assert (found.spills, found.private) == (0, 0), (compiler, kernel.name, plan.to_json())


@pytest.mark.parametrize(("name", "count"), counted(ALL_NAMES, FEW, 2, 1000))
def test_default_plans_and_starts_spill_nothing(name: str, count: int) -> None:
    """`count` of all that a search at level o2 starts with, several time steps per launch included, and the default
    plan.
    """
    translator(Nvrtc)
    program = polybench_program(name, ODD_SIZES[name])
    starts = first_walks(program, "o2", HOPPER)
    assert any(isinstance(plan.schedule, TimeTiles) for plan in starts) == (name in STENCILS)
    for plan in (default_plan(program, HOPPER), *starts[::-(-len(starts) // count)]):
        check_nothing_spills("NVRTC", program, plan)


def test_parts_of_sums_are_in_registers() -> None:
    """32 in a thread, of sums that several threads compute, with any unroll factor."""
    program = float_problem("gemm").program
    for factor in (1, 2):
        sums = KernelPlan(("S1",), (32, 16, 64), (8, 4, 8), unroll=factor)
        plan = Plan(ScheduleChoice(reductions=("S1",)), (KernelPlan(("S0",), (8, 8), (8, 8)), sums))
        check_nothing_spills("NVRTC", program, plan)


@pytest.mark.slow
@pytest.mark.parametrize("size", ["odd", "SMALL_DATASET"])
@pytest.mark.parametrize("name", ALL_NAMES)
def test_default_plans_spill_nothing_with_the_toolkits_compiler(name: str, size: str) -> None:
    translator(Nvcc)
    program = polybench_program(name, ODD_SIZES[name] if size == "odd" else (size,))
    check_nothing_spills("nvcc", program, default_plan(program, HOPPER))


def best_plans(program: Program, file: Path, count: int) -> Iterator[Plan]:
    """The fastest recorded walks as Plans."""
    cpu = replace(TARGET, shares_host_cores=True)
    space = make_o2_space(partial(kernel_shapes, program), partial(level, program), cpu, True, reducible(program),
                          placeable(program, cpu))
    timed = [(row.outcome.median_ms, row.choices) for row in read_walks(file).rows if isinstance(row.outcome, Timed)]
    for _, choices in sorted(timed, key=lambda pair: pair[0])[:count]:
        wanted = {(name, subject): option for name, subject, option in choices}
        walk = OptimizationGraph().walk(space, prefer(wanted, first))
        assert walk is not None
        assert wanted.items() <= {(c.decision.name, c.decision.subject): c.option for c in walk.choices}.items()
        yield walk.plan


@pytest.mark.slow
@pytest.mark.parametrize("file", own_recordings(), ids=lambda file: file.name.partition(".")[0])
def test_the_best_recorded_plans_spill_nothing(file: Path) -> None:
    """They are the best of CPUs, of which some keep 128 elements per thread in registers."""
    translator(Nvrtc)
    program = polybench_program(file.name.partition("_")[0], tuple(read_walks(file).origin.size.split()))
    for plan in best_plans(program, file, 3):
        check_nothing_spills("NVRTC", program, plan)


def test_the_compile_pool_asks_again_where_ptxas_spills_by_choice() -> None:
    """ptxas of CUDA 13 aims at four blocks of 512 threads and spills 8 bytes for that; NVRTC's, not nvcc's."""
    translator(Nvrtc)
    program = polybench_program("2mm", ODD_SIZES["2mm"])
    variant = lower(program, default_plan(program, HOPPER), HOPPER)
    assert {unpacked(code).spills for code in cuda_compiler(HOPPER).compile(variant).codes} == {0}


TEXT = """extern "C" __global__ __launch_bounds__(512)
void kernel0(float *__restrict__ A)
{
}
extern "C" __global__ __launch_bounds__(64)
void kernel1(float *__restrict__ A)
{
}
"""
KERNELS = tuple(Kernel(name, (statement,), ("A",), (), (), (threads,), 0, KernelText("", ""))
                for name, statement, threads in (("kernel0", "S0", 512), ("kernel1", "S1", 64)))
VARIANT = Variant(NO_PLAN, "cuda", TEXT, KERNELS, ())


class Ptxas:
    """A stand-in that spills unless it is asked for few enough blocks; keeps the bounds that it was given."""

    def __init__(self, registers: int, most_blocks: int, spilled: int = 8) -> None:
        self.registers, self.most_blocks, self.spilled = registers, most_blocks, spilled
        self.asked: list[tuple[str, ...]] = []

    def __call__(self, text: str) -> tuple[bytes, str]:
        bounds = re.findall(r"__launch_bounds__\(([^)]*)\)", text)
        self.asked.append(tuple(bounds))
        spills = 0 if int((bounds[0] + ", 99").split(", ")[1]) <= self.most_blocks else self.spilled
        log = "".join(
            f"Compiling entry function '{name}' for 'sm_90'\n0 bytes stack frame, {bytes_} bytes spill stores, 0 "
            f"bytes spill loads\nUsed {registers} registers, 0 bytes cmem[0]\n"
            for name, bytes_, registers in (("kernel0", spills, self.registers), ("kernel1", 0, 30))
        )
        return f"code {len(self.asked)}".encode(), log


def test_first_as_many_blocks_as_there_were_then_one() -> None:
    content = Ptxas(32, 99, 0)
    assert translate(content, VARIANT, MODEL).cubin == b"code 1" and len(content.asked) == 1
    for most, code in ((4, b"code 2"), (1, b"code 3")):
        ptxas = Ptxas(32, most)
        found = translate(ptxas, VARIANT, MODEL)
        assert (found.cubin, found.spills) == (code, 0)
        assert ptxas.asked == [("512", "64"), ("512, 4", "64"), ("512, 1", "64")][:len(ptxas.asked)]
        assert found.blocks == {"kernel0": most}


def test_a_kernel_that_needs_more_registers_than_there_are_is_compiled_once() -> None:
    assert [register_limit(kernel, MODEL) for kernel in KERNELS] == [128, 255]
    ptxas = Ptxas(128, 0, 400)
    found = translate(ptxas, VARIANT, MODEL)
    assert (found.cubin, found.spills, len(ptxas.asked)) == (b"code 1", 400, 1)


def test_the_first_code_stays_where_asking_again_does_not_help() -> None:
    ptxas = Ptxas(32, 0)
    assert translate(ptxas, VARIANT, MODEL).cubin == b"code 1"
    assert len(ptxas.asked) == 3


def test_only_the_bounds_of_the_named_kernels_change() -> None:
    changed = bounded(TEXT, {"kernel1": 7})
    assert changed == TEXT.replace("(64)", "(64, 7)")
    assert bounded(TEXT, {}) == TEXT
