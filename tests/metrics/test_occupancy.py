"""How many blocks a compute unit holds: the rules by hand, and NVIDIA's own calculator over a grid of kernels."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from metrics.device_model import DeviceModel, device_model, resident_blocks
from metrics.nvidia import GENERATIONS, KIB, Capability
from tests.support.suite import TARGET

# Includes the header as it is: prints, for each line of numbers, how many blocks NVIDIA's calculator finds.
CALCULATOR = r"""
#include <cstdio>
#include <cuda_occupancy.h>
int main()
{
  int major, minor, threads, unit, block, units, reserved, regs, regs_block, block_size, used, shared;
  while (scanf("%d %d %d %d %d %d %d %d %d %d %d", &major, &minor, &threads, &unit, &block, &reserved, &regs,
               &regs_block, &block_size, &used, &shared) == 11) {
    cudaOccDeviceProp device;
    device.computeMajor = major;
    device.computeMinor = minor;
    device.maxThreadsPerBlock = 1024;
    device.maxThreadsPerMultiprocessor = threads;
    device.regsPerBlock = regs_block;
    device.regsPerMultiprocessor = regs;
    device.warpSize = 32;
    device.sharedMemPerBlock = 48 * 1024;
    device.sharedMemPerMultiprocessor = unit;
    device.numSms = 1;
    device.sharedMemPerBlockOptin = block;
    device.reservedSharedMemPerBlock = reserved;
    cudaOccFuncAttributes kernel;
    kernel.maxThreadsPerBlock = 1024;
    kernel.numRegs = used;
    kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    kernel.maxDynamicSharedSizeBytes = shared;
    kernel.numBlockBarriers = 1;
    cudaOccDeviceState state;
    state.carveoutConfig = -1;
    cudaOccResult result;
    if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel, &state, block_size, shared))
      return 1;
    printf("%d\n", result.activeBlocksPerMultiprocessor);
  }
}
"""
HEADER = "cuda_occupancy.h"
THREADS = (1, 32, 33, 64, 96, 128, 192, 256, 320, 384, 512, 736, 768, 1024)
REGISTERS = (None, 8, 16, 24, 32, 33, 40, 48, 56, 64, 72, 96, 128, 168, 255)
SHARED = (0, 1, 1024, 4000, 8 * KIB, 12 * KIB, 24 * KIB, 48 * KIB, 50 * KIB, 63 * KIB, 64 * KIB, 96 * KIB, 99 * KIB,
          100 * KIB, 163 * KIB, 227 * KIB)


def header_folder() -> Path | None:
    """Where the toolkit's header is: beside nvcc, in the usual place, or in the package of the CUDA runtime."""
    nvcc = shutil.which("nvcc")
    folders = [Path(nvcc).resolve().parent.parent / "include"] if nvcc else []
    packages = Path(sysconfig.get_path("purelib")) / "nvidia"
    folders += [Path("/usr/local/cuda/include"), packages / "cuda_runtime" / "include",
                *sorted(packages.glob("cu*/include"))]
    return next((folder for folder in folders if (folder / HEADER).is_file()), None)


@pytest.fixture(scope="module")
def calculator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, compiler = header_folder(), shutil.which("c++")
    if folder is None or compiler is None:
        pytest.skip(f"{HEADER} or a C++ compiler is not installed (the package nvidia-cuda-runtime has the header)")
    made = tmp_path_factory.mktemp("occupancy")
    (made / "calculator.cpp").write_text(CALCULATOR)
    subprocess.run([compiler, "-w", "-I", str(folder), "-o", str(made / "calculator"), str(made / "calculator.cpp")],
                   check=True)
    return made / "calculator"


def model_of(capability: Capability) -> DeviceModel:
    return device_model(replace(TARGET, capability=capability))


def line(capability: Capability, threads: int, registers: int | None, shared: int) -> str:
    known = GENERATIONS[capability]
    return " ".join(map(str, (*capability, known.max_threads, known.shared_bytes, known.block_shared_bytes,
                              known.shared_reserved, known.registers, known.block_registers, threads, registers or 0,
                              shared)))


@pytest.mark.parametrize("capability", GENERATIONS)
def test_nvidias_calculator_agrees(capability: Capability, calculator: Path) -> None:
    grid = list(product(THREADS, REGISTERS, SHARED))
    text = "\n".join(line(capability, *kernel) for kernel in grid)
    run = subprocess.run([calculator], input=text, capture_output=True, text=True, check=True)
    device = model_of(capability)
    ours = [resident_blocks(threads, shared, registers, device) for threads, registers, shared in grid]
    wrong = [
        (kernel, mine, theirs)
        for kernel, mine, theirs in zip(grid, ours, map(int, run.stdout.split()), strict=True)
        if mine != theirs
    ]
    assert wrong == []


# Blocks per compute unit by capability, threads, shared bytes and registers: the calculator's rules applied by hand.
@pytest.mark.parametrize(("capability", "threads", "shared", "registers", "wanted"), [
    ((6, 1), 256, 0, 32, 8), ((6, 0), 1024, 0, 64, 1), ((7, 5), 256, 0, 32, 4), ((7, 5), 1024, 0, 64, 1),
    ((7, 5), 64, 0, None, 16), ((7, 5), 128, 16 * KIB, 32, 4),
    ((8, 0), 256, 0, 32, 8), ((8, 0), 256, 0, 33, 6), ((8, 0), 256, 0, 64, 4), ((8, 0), 256, 0, 255, 1),
    ((8, 0), 1024, 0, 32, 2), ((8, 0), 1024, 0, 33, 1), ((8, 0), 32, 0, 16, 32), ((8, 0), 128, 48 * KIB, 32, 3),
    ((8, 0), 192, 0, 40, 8), ((8, 0), 33, 0, None, 32), ((8, 6), 256, 0, 40, 6), ((8, 6), 1024, 0, 32, 1),
    ((8, 6), 256, 0, 48, 5), ((8, 6), 64, 16 * KIB, None, 5), ((8, 9), 64, 0, None, 24), ((8, 9), 768, 0, 40, 2),
    ((9, 0), 256, 0, 32, 8), ((9, 0), 256, 48 * KIB, 32, 4), ((9, 0), 64, 0, 128, 8), ((9, 0), 256, 227 * KIB, 32, 1),
    ((9, 0), 256, 228 * KIB, 32, 0), ((12, 0), 32, 0, 32, 24), ((9, 0), 1025, 0, None, 0),
])
def test_resident_blocks(capability: Capability, threads: int, shared: int, registers: int | None, wanted: int) -> None:
    assert resident_blocks(threads, shared, registers, model_of(capability)) == wanted


def test_models_by_capability() -> None:
    assert model_of((9, 5)) == model_of((9, 0)) and model_of((8, 8)) == model_of((8, 7))
    assert model_of((3, 5)) == device_model(TARGET)
