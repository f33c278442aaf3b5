"""The CUDA runner where there is no GPU: over a double of the driver, with kernels that run on the host.

See tests/support/cuda_double.py for what is real in these tests and what is pretended; tests/gpu has a real GPU.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from experiments.run import tune
from experiments.search.parts import PARTS
from experiments.values.options import Budget, RunOptions, Timing
from generator.decisions.cache import Cache
from generator.errors import AntuneError, InputError
from generator.frontend_c.source import Compilation
from generator.lowering.heuristics.default import default_plan
from generator.plan import KernelPlan, Plan
from generator.problem import Problem
from generator.schedules.choice import ScheduleChoice
from metrics.outcome import CompileFailed, LaunchFailed, Timed, WrongResult
from runners.base import DeviceInfo, Limits
from runners.devices import choose, find_device, survey
from runners.many import Place
from runners.pool_runner import DeviceRunner
from tests.support import runners as support
from tests.support.cuda_double import (
    UNUSABLE,
    hostile_for_host,
    lower_for_host,
    measured,
    pretended,
)
from tests.support.mixed import mixed
from tests.support.paths import ROOT, SUITES
from tests.support.programs import scop, write_c
from tests.support.reading import read_untimed
from tests.support.runs import Log
from tests.support.slow import few
from tests.support.suite import ODD_SIZES, problem

pytestmark = pytest.mark.skipif(UNUSABLE is not None, reason=str(UNUSABLE))


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Processes that start from now on find the double."""
    with pretended(tmp_path_factory.mktemp("driver")) as folder:
        yield folder


@pytest.fixture(scope="module")
def device(driver: Path) -> DeviceInfo:
    """The double, as a device."""
    assert driver.exists()
    return find_device("cuda")


def test_a_gpu_is_listed_first_with_its_limits_and_versions(device: DeviceInfo) -> None:
    assert survey().devices[0] == device and "cuda" not in survey().obstacles
    assert device.key == "cuda/host-double" and device.platform == "CUDA"
    assert re.fullmatch(r"CUDA 13\.5 \((pycuda|cuda-python) \S+, (NVRTC|nvcc) \d+\.\d+\)", device.driver)
    target = device.target
    assert target.dialect == "cuda" and target.capability == (9, 0) and target.sub_group == 32
    assert target.local_bytes == 227 * 1024 and target.constant_bytes == 65536 and target.image_2d == (131072, 65000)


def test_a_gpu_is_chosen_by_driver_number_and_name(driver: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert driver.exists()
    monkeypatch.setenv("CUDA_DOUBLE_DEVICES", "2")
    devices = survey().devices
    assert [d.key for d in devices[:2]] == ["cuda/host-double", "cuda/host-double#2"]
    for selector, number in ((None, 0), ("cuda", 0), ("cuda:0", 0), ("cuda:1", 1), ("CUDA:1", 1), ("double", 0),
                             ("cuda/host-double#2", 1), ("1", 1)):
        assert choose(devices, selector) == devices[number]
    assert choose(devices, "opencl").target.dialect == choose(devices, "opencl:0").target.dialect == "opencl"
    with pytest.raises(InputError, match="no device is called 'cuda:2'"):
        choose(devices, "cuda:2")


def test_more_blocks_than_count_along_y_are_launched(device: DeviceInfo, tmp_path: Path) -> None:
    """The double refuses grids as a GPU does."""
    text = scop("for (i = 0; i < 70000; i++) for (j = 0; j < 4; j++) A[i][j] = A[i][j] * 2 + B[i][j];",
                "double A[70000][4], B[70000][4];")
    found = read_untimed(write_c(text, tmp_path), Compilation(), None, None, {}, 1)
    plans = [Plan(ScheduleChoice(), (KernelPlan(("S0",), (1, 2), (1, 2), columns=told),)) for told in (False, True)]
    results = measured(found, device, plans, tmp_path / "work")
    assert all(isinstance(outcome, Timed) for outcome in results.values()), results


def test_a_driver_older_than_the_compiler_is_an_obstacle(driver: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert driver.exists()
    monkeypatch.setenv("CUDA_DOUBLE_VERSION", "11040")
    with pytest.raises(
        InputError, match=r"the NVIDIA driver supports CUDA 11\.4; update the driver or install a compiler"
    ):
        find_device("cuda")


def test_a_driver_without_devices_is_an_obstacle(driver: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert driver.exists()
    monkeypatch.setenv("CUDA_DOUBLE_DEVICES", "0")
    with pytest.raises(InputError, match="no CUDA device can be used: the NVIDIA driver has no device"):
        find_device("cuda:0")


def test_hostile_kernels_have_typed_outcomes(device: DeviceInfo, tmp_path: Path) -> None:
    kinds = {support.GOOD: Timed, support.CRASH: LaunchFailed, support.NO_COMPILE: CompileFailed,
             support.ALSO_GOOD: Timed, support.LOCAL: LaunchFailed, support.OVERRUN: WrongResult, support.LOOP: Timed}
    results = measured(
        support.scale_problem(), device, [support.plan(kind) for kind in kinds], tmp_path, hostile_for_host
    )
    for number, wanted in enumerate(kinds.values()):
        assert isinstance(results[number], wanted), results[number]
    lost = results[list(kinds).index(support.CRASH)]
    assert isinstance(lost, LaunchFailed) and "status 700" in lost.message


def test_all_memories_and_types_reach_the_kernels(device: DeviceInfo, calls: Path, tmp_path: Path) -> None:
    """Textures of one and two dimensions, constant memory, scalars and arrays of all types, shared memory."""
    found = mixed()
    plan = default_plan(found.program, device.target)
    textured = replace(plan, placement=tuple(sorted((name, "texture") for name in ("A", "B", "e"))))
    constant = replace(plan, placement=(("A", "constant"), ("B", "texture"), ("e", "texture")))
    narrow = replace(device, target=replace(device.target, image_2d=(8, 8)))
    for which, plans in ((device, [plan, textured, constant]), (narrow, [textured])):
        results = measured(found, which, plans, tmp_path / which.name)
        assert all(isinstance(outcome, Timed) for outcome in results.values()), results
    told = calls.read_text()
    assert re.search(r"texture channel 10 x 2, \d+ x \d+, pitch \d+", told), "doubles are pairs of integers"
    assert re.search(r"texture channel \d+ x \d, \d+ bytes", told)
    assert re.search(r"symbol antune_constant_A \d+", told)


@pytest.mark.parametrize("name", few(["gemm", "atax", "mvt", "gesummv", "trisolv"], 1))
def test_results_of_programs(device: DeviceInfo, name: str, tmp_path: Path) -> None:
    found = problem(name, ODD_SIZES[name])
    results = measured(found, device, [default_plan(found.program, device.target)], tmp_path)
    assert isinstance(results[0], Timed), results[0]


def test_large_shared_memory_is_asked_for_before_the_launch(device: DeviceInfo, calls: Path, tmp_path: Path) -> None:
    """Of three variants: no preference for the cache, shared memory preferred, the cache preferred."""
    found = problem("gemm", ("NI=70", "NJ=70", "NK=70"))
    plan = default_plan(found.program, device.target)
    large = [replace(k, shared=True, tile=(64, 64), block=(16, 16), inner_tile=64) if len(k.tile) == 2 else k
             for k in plan.kernels]
    caches: tuple[Cache, ...] = get_args(Cache)
    plans = [replace(plan, kernels=tuple(replace(k, cache=cache) if k.inner_tile == 64 else k for k in large))
             for cache in caches]
    results = measured(found, device, plans, tmp_path)
    assert len(results) == 3 and all(isinstance(outcome, Timed) for outcome in results.values()), results
    modules = calls.read_text().split("\nload\n")[1:]  # one per kernel
    variants = ["\n".join(modules[first:first + len(large)]) for first in range(0, len(modules), len(large))]
    wanted: dict[Cache, list[str]] = {"none": [], "shared": ["cache {} 1", "set {} 9 = 100"],
                                      "l1": ["cache {} 2", "set {} 9 = 29"]}
    for cache, variant in zip(caches, variants, strict=True):
        told = variant.splitlines()
        asked = next(line for line in told if re.fullmatch(r"set \w+ 8 = \d+", line))
        name, size = asked.split()[1], int(asked.split()[-1])
        launched = [line for line in told if line.startswith(f"launch {name} ")]
        assert size > 48 * 1024 and launched and all(f"shared {size}," in line for line in launched)
        assert told.index(asked) < told.index(launched[0])
        assert [line for line in told if line.startswith("cache") or " 9 = " in line] == [
            line.format(name) for line in wanted[cache]]


def test_modules_are_unloaded_with_their_variants(device: DeviceInfo, calls: Path, tmp_path: Path) -> None:
    plans = [support.plan(kind) for kind in (support.GOOD, support.ALSO_GOOD, support.LOOP)]
    measured(support.scale_problem(), device, plans, tmp_path, hostile_for_host)
    told = calls.read_text().splitlines()
    if "cuda-python" in device.driver:
        assert told.count("load") == 3 and told.count("unload") >= 2


WITH_ONE_BINDING = """
import sys
from dataclasses import replace
from generator.lowering import lower
from generator.lowering.heuristics.default import default_plan
from runners.cuda import bindings, probe
from runners.cuda.compiler import cuda_compiler
from runners.gpu import device
from runners.host_program import launches
from tests.support.cuda_double import pretend
from tests.support.mixed import mixed

pretend()
api = dict(bindings.BINDINGS)[sys.argv[1]]()
device.open_api = lambda: api
info, found = probe.find().devices[0].info, mixed()
plan = default_plan(found.program, info.target)
placed = (("A", "texture"), ("B", "constant"), ("e", "texture"))
plan = replace(plan, placement=placed, kernels=tuple(replace(kernel, cache="l1") for kernel in plan.kernels))
variant = lower(found.program, plan, info.target)
opened = device.GpuDevice(api, 0, found)
loaded = opened.load(variant, cuda_compiler(info.target).compile(variant).codes)
for _ in range(2):
    opened.memory.upload()
    opened.memory.restore()
    opened.flush()
    times = loaded.run(tuple(launches(variant)))
    assert 0 < times.device_ms <= times.host_ms
    assert opened.memory.overrun() is None and opened.memory.changed_input() is None
    for address in opened.memory._textures._addresses.values():
        api.fill(address, 0x5b, 8)  # the next upload, which copies on the device, repairs it
got = opened.memory.read([array.name for array in found.program.outputs])
assert all((abs(got[name] - found.reference.outputs[name]) < 1e-6).all() for name in got)
assert opened.memory.overrun() is None and opened.memory.changed_input() is None
print(api.name, loaded.resources()[0][1])
"""


@pytest.mark.parametrize("module", ["pycuda.driver", "cuda.bindings.driver"])
def test_both_bindings_pass_on_everything(module: str, driver: Path) -> None:
    """The double says 40 registers, 16 bytes of local and 96 of shared memory; the pretended compiler, 24 of spills."""
    environment = os.environ | {"LD_LIBRARY_PATH": str(driver), "PYTHONPATH": os.pathsep.join(sys.path),
                                "TMPDIR": str(driver)}
    there = subprocess.run(
        [sys.executable, "-c", f"import {module}"], capture_output=True, check=False, env=environment
    )
    if there.returncode:
        pytest.skip(f"{module} is not installed")
    done = subprocess.run([sys.executable, "-c", WITH_ONE_BINDING, module], capture_output=True, text=True, check=False,
                          env=environment, cwd=ROOT)
    name = "pycuda" if module == "pycuda.driver" else "cuda-python"
    assert done.stdout.strip() == f"{name} Resources(registers=40, spills=24, shared=96, private=16)", done.stderr


def test_a_whole_run_ends_with_cuda_code(device: DeviceInfo, tmp_path: Path) -> None:
    """Search, measurements with cold caches, the finalists' sittings, and best.cu."""
    def open_runner(found: Problem, place: Place, limits: Limits, workdir: Path) -> DeviceRunner:
        return DeviceRunner(found, find_device(place.devices[0]), limits, workdir, 1, lower_for_host)

    source = SUITES / "polybench" / "gemm.c"
    options = RunOptions(str(source), Compilation(defines=("MINI_DATASET",)), Budget(evaluations=2), device="cuda",
                         timing=Timing(max_repeats=3, cache="cold", finalists=1))
    finish = tune(options, tmp_path / "run", Log(), replace(PARTS, open_runner=open_runner))
    assert finish.best is not None and isinstance(finish.best.outcome, Timed)
    code = (tmp_path / "run" / "best.cu").read_text()
    assert "__global__" in code and "Host Double" in code and not (tmp_path / "run" / "best.cl").exists()
    assert device.name == finish.summary.device


@pytest.mark.skipif(shutil.which("nvidia-smi") is not None, reason="there is a GPU here")
def test_without_a_driver_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    with pytest.raises(AntuneError, match="no CUDA device can be used: there is no NVIDIA driver here; install it"):
        choose((), "cuda:0")
