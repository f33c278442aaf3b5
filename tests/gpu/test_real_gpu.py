"""The CUDA runner on a real GPU: memories, limits, faults, times, bindings, the command line.

The contract of all runners is tested on it by tests/runners/test_contract.py.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from generator.decisions.cache import Cache
from generator.errors import AntuneError
from generator.lowering.heuristics.default import default_plan
from generator.plan import Plan
from metrics.outcome import CompileFailed, LaunchFailed, Outcome, Timed, TimedOut, WrongResult
from metrics.resources import parse_ptxas
from runners.base import DeviceInfo, Job, Limits
from runners.cuda.compiler import open_translator
from runners.devices import find_device
from runners.pool_runner import DeviceRunner, default_lower
from tests.support import runners as support
from tests.support.cuda_double import measured
from tests.support.mixed import mixed
from tests.support.paths import ROOT
from tests.support.space_plans import random_plans
from tests.support.suite import ODD_SIZES, problem

pytestmark = pytest.mark.gpu
PROGRAMS = ("gemm", "atax", "jacobi-2d", "mvt", "trisolv")


@pytest.fixture(scope="module")
def device() -> DeviceInfo:
    try:
        return find_device("cuda")
    except AntuneError as error:
        pytest.skip(str(error))


def all_timed(results: dict[int, Outcome], plans: list[Plan]) -> None:
    """Every plan was right, or its code compiles for longer than the limit."""
    for number, outcome in results.items():
        assert isinstance(outcome, Timed) or (isinstance(outcome, TimedOut) and outcome.phase == "compile"), (
            plans[number].to_json(), outcome)
    assert any(isinstance(outcome, Timed) for outcome in results.values())


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_of_programs(device: DeviceInfo, name: str, tmp_path: Path) -> None:
    """Default and random plans, which place arrays in textures and constant memory, shuffle, prefer caches."""
    found = problem(name, ODD_SIZES[name])
    plans = [default_plan(found.program, device.target)]
    for level in ("o1", "o2"):
        plans += random_plans(found.program, device.target, level, 6, 5)
    all_timed(measured(found, device, plans, tmp_path, default_lower), plans)


def test_all_memories_and_types(device: DeviceInfo, tmp_path: Path) -> None:
    found = mixed()
    plan = default_plan(found.program, device.target)
    textured = replace(plan, placement=tuple(sorted((name, "texture") for name in ("A", "B", "e"))))
    constant = replace(plan, placement=(("A", "constant"), ("B", "texture"), ("e", "texture")))
    narrow = replace(device, target=replace(device.target, image_2d=(8, 8)))
    for which, plans in ((device, [plan, textured, constant]), (narrow, [textured])):
        all_timed(measured(found, which, plans, tmp_path, default_lower), plans)


def test_large_shared_memory_and_cache_preferences(device: DeviceInfo, tmp_path: Path) -> None:
    if device.target.local_bytes <= 48 * 1024:
        pytest.skip("this GPU has 48 KB of shared memory per block")
    found = problem("gemm", ("NI=130", "NJ=130", "NK=130"))
    plan = default_plan(found.program, device.target)
    caches: tuple[Cache, ...] = get_args(Cache)
    plans = [replace(plan, kernels=tuple(
        replace(k, shared=True, tile=(64, 64), block=(16, 16), inner_tile=64, cache=cache) if len(k.tile) == 2 else k
        for k in plan.kernels)) for cache in caches]
    all_timed(measured(found, device, plans, tmp_path, default_lower), plans)


def test_hostile_kernels_have_typed_outcomes(device: DeviceInfo, tmp_path: Path) -> None:
    """An illegal address ends the context ("sticky"): it must cost its own plan only. So must a kernel without end."""
    kinds = {
        support.GOOD: Timed,
        support.CRASH: LaunchFailed,
        support.NO_COMPILE: CompileFailed,
        support.HANG: TimedOut,
        support.ALSO_GOOD: Timed,
        support.LOCAL: LaunchFailed,
        support.OVERRUN: WrongResult,
        support.UNDERRUN: WrongResult,
        support.ONCE: WrongResult,
        support.SPOILS_INPUT: WrongResult,
        support.NAN: WrongResult,
        support.STALE: WrongResult,
        support.CRASH_CHECK: LaunchFailed,
        support.LOOP: Timed,
    }
    results = measured(support.scale_problem(), device, [support.plan(kind) for kind in kinds], tmp_path,
                       support.lower_by_hand)
    for number, wanted in enumerate(kinds.values()):
        assert isinstance(results[number], wanted), results[number]
    lost = results[list(kinds).index(support.CRASH)]
    assert isinstance(lost, LaunchFailed) and "illegal" in lost.message.lower()


def test_times_follow_the_work(device: DeviceInfo, tmp_path: Path) -> None:
    """Fifty launches take about fifty times one; the host sees at least what the device needs."""
    limits = Limits(half_width=0.05, min_repeats=20, max_repeats=200)
    runner = DeviceRunner(support.scale_problem(1 << 22), device, limits, tmp_path, 1, support.lower_by_hand)
    try:
        results = dict(runner.evaluate([Job(kind, support.plan(kind)) for kind in (support.GOOD, support.LOOP)]))
    finally:
        runner.close()
    once, often = results[support.GOOD], results[support.LOOP]
    assert isinstance(once, Timed) and isinstance(often, Timed)
    assert 15 < often.median_ms / once.median_ms < 150
    assert once.median_ms <= once.host_ms and often.median_ms <= often.host_ms
    moved_gb = 2 * 4 * (1 << 22) / 1e9
    assert 5 < moved_gb / (once.median_ms / 1e3) < 20000, "GB/s"


IN_A_PROCESS = """
import sys
from runners.cuda import bindings, probe
from runners.cuda.compiler import cuda_compiler
from runners.gpu import device
from runners.host_program import launches
from tests.support import runners as support

api = dict(bindings.BINDINGS)[sys.argv[1]]()
info, problem = probe.find().devices[0].info, support.scale_problem()
variant = support.lower_by_hand(problem.program, support.plan(support.GOOD), info.target)
opened = device.GpuDevice(api, 0, problem)
loaded = opened.load(variant, cuda_compiler(info.target).compile(variant).codes)
opened.memory.upload()
opened.flush()
first, later = (loaded.run(tuple(launches(variant))) for _ in range(2))
got = opened.memory.read(["B"])["B"]
assert (abs(got - problem.reference.outputs["B"]) < 1e-6).all() and opened.memory.overrun() is None
assert opened._clock.graphs.records, "times are those of graphs"
assert 0 < later.device_ms <= later.host_ms and first.host_ms < 100
print(api.name, loaded.resources())
"""


@pytest.mark.parametrize("module", ["pycuda.driver", "cuda.bindings.driver"])
def test_both_bindings_do_the_same(device: DeviceInfo, module: str) -> None:
    pytest.importorskip(module, exc_type=ImportError)
    done = subprocess.run([sys.executable, "-c", IN_A_PROCESS, module], capture_output=True, text=True, check=False,
                          cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] == {"pycuda.driver": "pycuda"}.get(module, "cuda-python")


def test_driver_and_compiler_agree_on_registers(device: DeviceInfo) -> None:
    assert device.target.capability is not None
    variant = support.lower_by_hand(support.scale_program(), support.plan(support.GOOD), device.target)
    _, log = open_translator().translate(variant.source, device.target.capability)
    module = "pycuda.driver" if "pycuda" in device.driver else "cuda.bindings.driver"
    done = subprocess.run([sys.executable, "-c", IN_A_PROCESS, module], capture_output=True, text=True, check=False,
                          cwd=ROOT)
    assert f"registers={parse_ptxas(log)['k'].registers}," in done.stdout, done.stderr


def test_a_whole_run(device: DeviceInfo, tmp_path: Path) -> None:
    out = tmp_path / "run"
    done = subprocess.run([sys.executable, "-m", "antune.cli", "tune", "experiments/suites/polybench/gemm.c", "-D",
                           "SMALL_DATASET", "--evaluations", "10", "--device", "cuda", "--out", str(out)],
                          capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert "best.cu" in done.stdout and "__global__" in (out / "best.cu").read_text()
    assert device.name in done.stdout
