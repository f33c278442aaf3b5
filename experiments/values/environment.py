"""The machine and the software versions of a run: recorded, shown in reports, compared on resume."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from functools import cache
from importlib import metadata

from experiments.values.rooms import room_digests
from runners.opencl.platforms import measuring_settings

PACKAGES = ("antune", "numpy", "islpy", "pycparser", "pyopencl", "pocl-binary-distribution", "intel-opencl-rt",
            "pycuda", "cuda-bindings", "nvidia-cuda-nvrtc",
            "scipy", "scikit-learn", "deap")
SETTINGS = ("POCL_", "DPCPP_CPU_", "CL_CONFIG_", "CUDA_LAUNCH_", "CUDA_MODULE_")
"""Prefixes of the environment variables that affect how PoCL, Intel's CPU runtime and CUDA run kernels."""
NO_MATTER = ("DEBUG", "CACHE", "TRACING", "TEMP_FILES", "_DIR", "_PATH")
"""Variables with one of these words in their names are ignored: they do not affect times."""


@dataclass(frozen=True, slots=True)
class Environment:
    """The environment of a process.

    `packages` are (name, version) of installed packages, `rooms` (name, hash) of antune's own code. `settings` are
    environment variables (name, value) that affect how drivers run kernels, set by the user or by antune; on a cluster
    they are those of the machine that runs the search. None: they were not recorded.
    """

    python: str
    system: str
    machine: str
    cpus: int
    packages: tuple[tuple[str, str], ...]
    rooms: tuple[tuple[str, str], ...] = ()
    settings: tuple[tuple[str, str], ...] | None = None


def package_version(name: str) -> str | None:
    """Return the installed version of a distribution; None if it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def current_environment() -> Environment:
    """Return the environment of this process."""
    return Environment(platform.python_version(), f"{platform.system()} {platform.release()}",
                       platform.machine(), os.cpu_count() or 1, _packages(), room_digests(), _settings())


@cache
def _packages() -> tuple[tuple[str, str], ...]:
    """Return (name, version) of the installed ones of PACKAGES, which are read once per process."""
    found = ((name, package_version(name)) for name in PACKAGES)
    return tuple((name, version) for name, version in found if version is not None)


def _settings() -> tuple[tuple[str, str], ...]:
    told = {**os.environ, **measuring_settings()}
    return tuple(sorted((name, value) for name, value in told.items()
                        if name.startswith(SETTINGS) and not any(word in name for word in NO_MATTER)))
