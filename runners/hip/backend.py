"""HIP: the backend of AMD's GPUs. Tested with its compiler and a mock of the driver, not yet on a GPU."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from generator.problem import Problem
from generator.target import Target
from generator.user_cache import user_cache
from runners.backend import Backend, Found
from runners.calls import Caller, Code, code_folder
from runners.driver import Compiler, Device

DRIVER_FILE = "/dev/kfd"
ABSENT = f"there is no AMD driver here ({DRIVER_FILE} is missing); install ROCm (`rocminfo` shows whether it works)"


def _present() -> bool:
    folders = [Path(folder) for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    return Path(DRIVER_FILE).exists() or any(any(folder.glob("libamdhip64.so*")) for folder in folders)


def _find() -> Found:
    from runners.hip.probe import find  # here and below: it loads AMD's library

    return find()


def _check_compiler() -> None:
    from runners.hip.compiler import Hiprtc

    Hiprtc()


def _compiler(key: str, target: Target, problem: Callable[[], Problem], folder: Path | None, travels: bool) -> Compiler:
    from runners.hip.compiler import hip_compiler

    return hip_compiler(target, folder)


def _device(key: str, problem: Problem) -> Device:
    from runners.gpu.device import open_gpu
    from runners.hip.with_library import HipLibrary

    return open_gpu(HipLibrary(), "hip", key, problem)


def _caller(code: Code, target: Target) -> Caller:
    from runners.gpu.caller import GpuCaller
    from runners.hip.compiler import hip_compiler
    from runners.hip.with_library import HipLibrary

    return GpuCaller(HipLibrary(), code, hip_compiler(target, code_folder(user_cache())))


HIP = Backend("hip", "AMD", _present, ABSENT, _find, _compiler, _device, _caller,
              check_compiler=_check_compiler, tested=False, imports=("runners.hip.compiler", "runners.gpu.device"))
