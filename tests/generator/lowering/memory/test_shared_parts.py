"""Shared copies of several parts of an array, and in triangular loops in CUDA, run in Python thread by thread."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from generator.errors import IllegalPlan
from generator.lowering import lower
from generator.lowering.analysis.shapes import kernel_shapes
from generator.lowering.heuristics.default import default_plan
from generator.lowering.memory.staging import CopiedBox
from generator.nest import Assign, Barrier, If, walk
from generator.plan import KernelPlan, Plan
from generator.polyhedral.schedules.kernels import schedule_kernels
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from tests.support.interpreter import Device, run_original
from tests.support.orders import differences
from tests.support.plans import lowered_kernels, random_kernel
from tests.support.slow import few, in_turn
from tests.support.suite import ODD_SIZES, TARGET, polybench_program
from tests.support.targets import CPU, HOPPER

SMALL = {"syrk": ("M=7", "N=11"), "syr2k": ("M=6", "N=9"), "covariance": ("M=9", "N=7"), "correlation": ("M=8", "N=7"),
         "symm": ("M=7", "N=9"), "gramschmidt": ("M=7", "N=6")}
CHOICE = ScheduleChoice()


def check(program: Program, plan: Plan, seed: int) -> Counter[str]:
    """Run the CUDA kernels of a plan in Python and compare; what they are made of. Raises IllegalPlan."""
    host = lower(program, plan, HOPPER).host
    kernels = lowered_kernels(program, plan, "cuda")
    device = Device(program, kernels, np.random.default_rng(seed))
    device.run(host, {})
    assert not differences(program, device.memory, run_original(program)), plan.to_json()
    found = Counter({"right": 1})
    for kernel in kernels:
        boxes = {box.name: box.array for box in kernel.shared if isinstance(box, CopiedBox)}
        filled = {node.target.array for node in walk(kernel.body) if isinstance(node, Assign)} & set(boxes)
        copies = [boxes[name] for name in filled]
        found["copies"] += bool(copies)
        found["two parts"] += len(set(copies)) < len(copies)
        found["copies under a condition"] += any(
            isinstance(node, If) and any(isinstance(n, Barrier) for n in walk(node.then)) for node in walk(kernel.body)
        )
    return found


@in_turn
@pytest.mark.parametrize("name", few(SMALL, 1))
def test_random_shared_plans_compute_what_the_program_does(name: str) -> None:
    program, rng, counts = polybench_program(name, SMALL[name]), np.random.default_rng(5), Counter[str]()
    for seed in range(6):
        kernels = [replace(random_kernel(part.statements, len(part.parallel), rng), shared=True)
                   for part in schedule_kernels(program, CHOICE).kernels]
        try:
            counts += check(program, Plan(CHOICE, tuple(sorted(kernels, key=lambda k: k.statements))), seed)
        except IllegalPlan as error:
            counts[str(error)] += 1
    assert counts["right"] > 1, counts
    assert counts["two parts"] or name in ("symm", "gramschmidt"), counts
    assert counts["copies under a condition"] or name not in ("syrk", "syr2k"), counts


@pytest.mark.parametrize("name", ["syrk", "syr2k"])
def test_the_default_plan_copies_rows_and_columns(name: str) -> None:
    program = polybench_program(name, SMALL[name])
    (kernel,) = default_plan(program, HOPPER, 4).kernels
    assert kernel.shared and kernel.inner_tile == 4
    assert check(program, Plan(CHOICE, (kernel,)), 1)["two parts"] == 1
    text = lower(program, Plan(CHOICE, (kernel,)), HOPPER).source
    assert "A_shared0" in text and "A_shared1" in text


def test_devices_on_cpus_have_no_barriers_under_conditions() -> None:
    program, on_gpu = polybench_program("syrk", ODD_SIZES["syrk"]), replace(TARGET, shares_host_cores=False)
    (cpu,), (gpu,), (cuda,) = (kernel_shapes(program, CHOICE, one.language) for one in (CPU, on_gpu, HOPPER))
    assert cpu.shareable == () and cuda.shareable == gpu.shareable == ("A",) and len(cuda.staged) == 2
    plan = Plan(CHOICE, (KernelPlan(cuda.statements, (4, 4), (4, 4), shared=True, inner_tile=4),))
    assert cuda.shared_bytes((4, 4), 4) == 2 * 4 * 4 * 8
    assert {lower(program, plan, one).kernels[0].local_bytes for one in (HOPPER, on_gpu)} == {2 * 4 * 4 * 8}
    without = replace(plan, kernels=(replace(plan.kernels[0], shared=False),))
    assert lower(program, plan, CPU).source == lower(program, without, CPU).source, "no thread waits for others in vain"
