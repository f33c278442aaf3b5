"""What only spaces of GPUs offer computes what the program computes: on CPU devices and on the pretended GPU; and NVRTC
takes it.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from experiments.values.options import LevelName
from generator.lowering import lower
from generator.plan import Plan
from generator.problem import Problem
from generator.schedules.time_tiles import TimeTiles
from runners.base import DeviceInfo
from runners.cuda.compiler import Nvrtc
from tests.support.cuda_compiler import ELF, translator
from tests.support.devices import check_plans, device_named, has_intel
from tests.support.gpu_plans import gpu_plans
from tests.support.slow import counted, few, of_today
from tests.support.space_plans import lowered, random_plans
from tests.support.suite import ALL_NAMES, ODD_SIZES, problem
from tests.support.targets import HOPPER
from tests.support.watched_gpu import WatchedGpu

QUICK = ("jacobi-2d",)
SWEEPS = ("jacobi-2d", "fdtd-2d")
LEVELS: tuple[LevelName, ...] = ("o1", "o2")
FLOAT = "DATA_TYPE_IS_FLOAT"


def even(name: str, *defines: str) -> Problem:
    """A program with sizes that are multiples of 4, so that rows of arrays are."""
    sizes = (size.split("=") for size in ODD_SIZES[name])
    return problem(name, (*(f"{n}={value if n in ('TSTEPS', 'TMAX') else -(-int(value) // 4) * 4}"
                            for n, value in sizes), *defines))


def checked(plans: list[Plan], name: str) -> list[Plan]:
    """Return plans of level o1: not none, and of sweeps some with several time steps per launch."""
    assert plans, f"{name}: no random plan can be lowered"
    assert name not in SWEEPS or any(isinstance(plan.schedule, TimeTiles) for plan in plans)
    return plans


def check_random_plans(device: DeviceInfo, found: Problem, name: str, count: int) -> None:
    one, two = (gpu_plans(found.program, device.target, level, count, 3) for level in LEVELS)
    check_plans(device, found, [*checked(one, name), *two])


@pytest.mark.parametrize("selector", ["pocl", "intel"])
@pytest.mark.parametrize(("name", "count"), counted(ALL_NAMES, QUICK, 1, 6))
def test_cpu_devices(name: str, count: int, selector: str) -> None:
    if selector == "intel" and not has_intel():
        pytest.skip("the extra `intel` is not installed")
    device = device_named(selector)
    for found in (problem(name, ODD_SIZES[name]), even(name, FLOAT)):
        check_random_plans(device, found, name, count)


@pytest.mark.parametrize("name", few(["syrk", "gemm", "syr2k", "trmm"], 1))
def test_barriers_that_opencl_allows_on_gpus(name: str) -> None:
    """Under conditions that all threads of a block meet alike: Intel's runtime compiles them rightly."""
    if not has_intel():
        pytest.skip("the extra `intel` is not installed")
    device, found = device_named("intel"), problem(name, ODD_SIZES[name])
    device = replace(device, target=replace(device.target, shares_host_cores=False, max_threads=256))
    plans = [plan for plan in random_plans(found.program, device.target, "o2", 12, 3)
             if lowered(found.program, plan, device.target) is not None]
    assert any(kernel.shared for plan in plans for kernel in plan.kernels)
    check_plans(device, found, plans)


@pytest.mark.slow
@pytest.mark.parametrize("selector", ["pocl", "intel"])
@pytest.mark.parametrize("name", ALL_NAMES)
def test_even_sizes_of_double_on_cpu_devices(name: str, selector: str) -> None:
    if selector == "intel" and not has_intel():
        pytest.skip("the extra `intel` is not installed")
    check_random_plans(device_named(selector), even(name), name, 6)


@pytest.mark.parametrize(("name", "count"), counted(ALL_NAMES, of_today(ALL_NAMES), 1, 4))
def test_pretended_gpu(name: str, count: int, watched_gpu: WatchedGpu) -> None:
    """No races, no barrier that some threads miss, right results."""
    for found in (problem(name, ODD_SIZES[name]), even(name, FLOAT)):
        watched_gpu.check(found, checked(gpu_plans(found.program, watched_gpu.target, "o1", count, 5), name))


@pytest.mark.parametrize("name", few(ALL_NAMES, QUICK))
def test_compilers_take_it(name: str) -> None:
    """Without warnings."""
    found, nvrtc = even(name, FLOAT), translator(Nvrtc)
    for capability in ((7, 5), (8, 0), (9, 0)):
        plans = gpu_plans(found.program, HOPPER, "o1", 2, 9)
        assert plans, f"{name}: no random plan can be lowered"
        for plan in plans:
            cubin, log = nvrtc.translate(lower(found.program, plan, HOPPER).source, capability)
            assert cubin.startswith(ELF) and "warning" not in log
