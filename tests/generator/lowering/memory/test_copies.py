"""Copies in shared memory: the threads of a block fill them, each element once, one by one or several at once."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from generator.errors import IllegalPlan
from generator.expr import Expr, Int, Name
from generator.frontend_c.source import Compilation
from generator.lowered_kernel import LoweredKernel
from generator.lowering import lower
from generator.lowering.memory.staging import CopiedBox
from generator.nest import Assign, walk
from generator.plan import KernelPlan, Plan, plan_from_json
from generator.polyhedral.memory.footprint import StagedArray
from generator.problem import Problem
from generator.schedules.choice import ScheduleChoice
from runners.cuda.compiler import Nvrtc
from tests.support.cuda_compiler import ELF, translator
from tests.support.device_memory import DeviceMemory
from tests.support.interpreter import run_original
from tests.support.machine import Machine
from tests.support.memory import Element
from tests.support.plans import TARGET, check_plan, lowered_kernels, run_plan
from tests.support.programs import program_of, scop, write_c
from tests.support.reading import read_untimed
from tests.support.slow import few
from tests.support.space_plans import random_plans
from tests.support.targets import HOPPER
from tests.support.watched_gpu import WatchedGpu


def copied(corner: tuple[Expr, ...], box: tuple[int, ...], extent: int) -> CopiedBox:
    """A box of an array `A` of floats, at whose ends elements may be missing."""
    rank = len(box)
    return CopiedBox("L", "A", "float", corner, box, box, (None,) * rank, "copy", "block", 0, StagedArray("A", (), ()),
                     (True,) * rank, (extent,) * rank, extent)


def filled(box: CopiedBox, extent: int, block: tuple[int, ...], width: int, origin: int) -> dict[Element, object]:
    """What is in the box when a block (x first) has filled it; in Python no two threads may write an element."""
    index = "".join(f"[{extent}]" for _ in box.box)
    program = program_of(scop(f"A{'[0]' * len(box.box)} = 1.0f;", f"float A{index};"))
    fill = box.fill(tuple(reversed(block)), width)
    assert any(isinstance(n, Assign) and n.wide and n.wide.lanes == width for n in walk((fill,))) == (width > 1)
    memory = DeviceMemory(program, np.random.default_rng(1))
    kernel = LoweredKernel((), (), program.arrays, (), ("origin",), block, (1,), (fill,), (box,))
    Machine(kernel, memory).launch({"origin": origin}, memory)
    right = {("L", at): memory.load("A", tuple(origin + i for i in at))
             for at in product(*map(range, box.box)) if all(0 <= origin + i < extent for i in at)}
    assert memory.shared["L"] == right
    return dict(right)


@pytest.mark.parametrize("block", [(32,), (8,), (16, 4), (8, 2, 3), (2,)])
@pytest.mark.parametrize("sizes", [(7,), (5, 33), (2, 6, 9), (3, 1, 2, 5)])
def test_each_element_is_filled_once(block: tuple[int, ...], sizes: tuple[int, ...]) -> None:
    assert len(filled(copied((Int(2),) * len(sizes), sizes, 36), 36, block, 1, 2)) == np.prod(sizes)


@pytest.mark.parametrize("width", [2, 4])
@pytest.mark.parametrize("block", [(32,), (8,), (16, 4), (8, 2, 3), (3,)])
@pytest.mark.parametrize("sizes", [(8,), (5, 32), (2, 6, 12), (3, 1, 2, 4)])
def test_several_at_once(block: tuple[int, ...], sizes: tuple[int, ...], width: int) -> None:
    assert len(filled(copied((Int(4),) * len(sizes), sizes, 36), 36, block, width, 4)) == np.prod(sizes)


@pytest.mark.parametrize(("origin", "count"), [(-3, 5), (5, 5), (1, 8)])
def test_only_existing_elements_are_copied(origin: int, count: int) -> None:
    assert len(filled(copied((Name("origin"),), (8,), 10), 10, (4,), 1, origin)) == count


def test_of_vectors_all_elements_exist_or_none() -> None:
    """A box of 16 columns that begins at column 8 of 12."""
    assert len(filled(copied((Int(8), Int(8)), (4, 16), 12), 12, (4, 2), 4, 8)) == 4 * 4


PRODUCT = "for (i = 0; i < 8; i++) for (j = 0; j < 12; j++) for (k = 0; k < 10; k++) A[i][j] += B[i][k] * C[k][j];"
KERNEL = KernelPlan(("S0",), (4, 8), (2, 4), shared=True, inner_tile=4)


@pytest.mark.parametrize(("uncopied", "copies"), [((), {"B", "C"}), (("B",), {"C"}), (("B", "C"), set())])
def test_arrays_may_stay_without_a_copy(uncopied: tuple[str, ...], copies: set[str]) -> None:
    program = program_of(scop(PRODUCT, "float A[8][12], B[8][10], C[10][12];"))
    plan = Plan(ScheduleChoice(), (replace(KERNEL, uncopied=uncopied),))
    [kernel] = lowered_kernels(program, plan)
    assert {box.array for box in kernel.shared if isinstance(box, CopiedBox)} == copies
    found = run_plan(program, plan, np.random.default_rng(1))
    assert found.global_values(program) == run_original(program).global_values(program)
    assert plan_from_json(plan.to_json()) == plan and ("uncopied" in plan.to_json()) == bool(uncopied)


def test_an_array_that_has_no_copy_cannot_lose_it() -> None:
    program = program_of(scop(PRODUCT, "float A[8][12], B[8][10], C[10][12];"))
    with pytest.raises(IllegalPlan, match="A of S0 would stay uncopied, but the kernel has copies of B, C only"):
        lowered_kernels(program, Plan(ScheduleChoice(), (replace(KERNEL, uncopied=("A",)),)))


def test_a_space_asks_for_each_array_but_leaves_one() -> None:
    program = program_of(scop(PRODUCT, "float A[8][12], B[8][10], C[10][12];"))
    target = replace(TARGET, shares_host_cores=False)
    found = {kernel.uncopied for plan in random_plans(program, target, "o1", 60, 1) for kernel in plan.kernels}
    assert found == {(), ("B",), ("C",)}


OF_WARPS = {
    "product": (scop(PRODUCT, "float A[8][12], B[8][10], C[10][12];"), (8, 32), (4, 32)),
    "rows": (scop("for (i = 0; i < 64; i++) for (j = 0; j < 10; j++) y[i] += M[i][j] * x[j];",
                  "float y[64], M[64][10], x[10];"), (64,), (64,)),
}


def of_warps(name: str, folder: Path) -> tuple[Problem, Plan]:
    """Return a program, and a plan in which each warp has its own tile and copies; those of `rows` have no others."""
    text, tile, block = OF_WARPS[name]
    kernel = KernelPlan(("S0",), tile, block, shared=True, inner_tile=4, level="sub-group",
                        uncopied=("x",) if name == "rows" else ())
    return read_untimed(write_c(text, folder), Compilation(), None, None, {}, 1), Plan(ScheduleChoice(), (kernel,))


@pytest.mark.parametrize("name", OF_WARPS)
def test_copies_of_warps_need_no_barrier_of_the_block(name: str, tmp_path: Path) -> None:
    """Their results are right, and NVRTC compiles them. Copies of rows that a warp has for itself take no more memory.
    """
    found, plan = of_warps(name, tmp_path)
    variant = lower(found.program, plan, HOPPER)
    assert "__syncthreads" not in variant.source and "__syncwarp();" in variant.source
    assert translator(Nvrtc).translate(variant.source, (9, 0))[0].startswith(ELF)
    check_plan(found.program, plan, HOPPER, seeds=2)
    of_block = replace(plan, kernels=(replace(plan.kernels[0], level="block"),))
    sizes = variant.kernels[0].local_bytes, lower(found.program, of_block, HOPPER).kernels[0].local_bytes
    assert sizes[0] == sizes[1] if name == "rows" else sizes[0] > sizes[1]


@pytest.mark.parametrize("name", few([*OF_WARPS], 1))
def test_copies_of_warps_have_no_races(name: str, watched_gpu: WatchedGpu, tmp_path: Path) -> None:
    """Without one of the two barriers of the warp there are some."""
    found, plan = of_warps(name, tmp_path)
    watched_gpu.check(found, [plan])
    for number in (0, 1):
        watched_gpu.check_fault(found, plan, "race in shared memory", "__syncwarp();", number=number)
