"""CUDA: the backend of NVIDIA's GPUs."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from generator.problem import Problem
from generator.target import Target
from generator.user_cache import user_cache
from runners.backend import Backend, Found, Reporter
from runners.calls import Caller, Code, code_folder
from runners.driver import Compiler, Device

NVIDIA_FILES = ("/proc/driver/nvidia/version", "/dev/nvidiactl", "/dev/nvhost-ctrl", "/dev/dxg")
ABSENT = "there is no NVIDIA driver here; install it (`nvidia-smi` shows whether it works)"


def _present() -> bool:
    folders = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    return any(map(os.path.exists, NVIDIA_FILES)) or any(
        (Path(folder) / "libcuda.so.1").exists() for folder in folders if folder)


def _find() -> Found:
    from runners.cuda.probe import find  # here and below: it loads a binding of the driver, or a compiler

    return find()


def _check_compiler() -> None:
    from runners.cuda.compiler import open_translator

    open_translator()


def _check_headers() -> None:
    from runners.cuda.compiler import check_headers

    check_headers()


def _compiler(key: str, target: Target, problem: Callable[[], Problem], folder: Path | None, travels: bool) -> Compiler:
    from runners.cuda.compiler import cuda_compiler

    return cuda_compiler(target, folder)


def _device(key: str, problem: Problem) -> Device:
    from runners.cuda.bindings import open_api
    from runners.gpu.device import open_gpu

    return open_gpu(open_api(), "cuda", key, problem)


def _caller(code: Code, target: Target) -> Caller:
    from runners.cuda.bindings import open_api
    from runners.cuda.compiler import cuda_compiler
    from runners.gpu.caller import GpuCaller

    return GpuCaller(open_api(foreign_streams=True), code, cuda_compiler(target, code_folder(user_cache())))


def _reporter(target: Target) -> Reporter:
    from runners.cuda.compiler import cuda_reporter

    return cuda_reporter(target)


CUDA = Backend("cuda", "NVIDIA", _present, ABSENT, _find, _compiler, _device, _caller, check_compiler=_check_compiler,
               check_tensor_cores=_check_headers, open_reporter=_reporter, nsight=True,
               tools=("nvidia-cuda-nvrtc", "pycuda", "cuda-bindings", "nvidia-cuda-runtime", "nvidia-cuda-crt",
                      "nvidia-cuda-runtime-cu12", "nvidia-cuda-nvcc-cu12"),
               imports=("runners.cuda.compiler", "runners.cuda.probe", "runners.gpu.device"))
