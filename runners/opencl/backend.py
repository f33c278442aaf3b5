"""OpenCL: the backend of every CPU and of most GPUs."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from generator.problem import Problem
from generator.target import Target
from runners.backend import Backend, Found
from runners.calls import Caller, Code
from runners.driver import Compiler, Device


def _find() -> Found:
    from runners.opencl.probe import find  # here and below: it loads pyopencl

    return Found(find())


def _compiler(key: str, target: Target, problem: Callable[[], Problem], folder: Path | None, travels: bool) -> Compiler:
    from runners.opencl.device import OpenCLDevice

    return OpenCLDevice(key, problem(), folder, travels)


def _device(key: str, problem: Problem) -> Device:
    from runners.opencl.device import OpenCLDevice

    return OpenCLDevice(key, problem)


def _caller(code: Code, target: Target) -> Caller:
    from runners.opencl.platforms import register_here

    register_here()
    from runners.opencl.caller import OpenCLCaller

    return OpenCLCaller(code)


OPENCL = Backend(
    "opencl",
    "",
    present=lambda: find_spec("pyopencl") is not None,
    absent="pyopencl is not installed; `pip install pyopencl[pocl]` installs it with a device that any CPU is",
    find=_find,
    open_compiler=_compiler,
    open_device=_device,
    open_caller=_caller,
    required=True,
    imports=("pytools", "pytools.persistent_dict"),  # two thirds of the time that importing pyopencl takes
)
