"""The machine and the versions a run was made with: recorded, shown in reports, compared on resume."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from importlib import metadata

PACKAGES = ("antune", "numpy", "islpy", "pycparser", "pyopencl", "pocl-binary-distribution", "intel-opencl-rt",
            "pycuda", "cuda-bindings", "nvidia-cuda-nvrtc",
            "scipy", "scikit-learn", "deap")


@dataclass(frozen=True, slots=True)
class Environment:
    """Where a process ran; `packages` are (name, version) of what is installed, `rooms` (name, hash) of antune's code."""

    python: str
    system: str
    machine: str
    cpus: int
    packages: tuple[tuple[str, str], ...]
    rooms: tuple[tuple[str, str], ...] = ()


def package_version(name: str) -> str | None:
    """The installed version of a distribution, None when it is absent."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def current_environment() -> Environment:
    """The environment of this process."""
    from experiments.versions import room_digests  # it needs Environment

    found = ((name, package_version(name)) for name in PACKAGES)
    packages = tuple((name, version) for name, version in found if version is not None)
    return Environment(platform.python_version(), f"{platform.system()} {platform.release()}",
                       platform.machine(), os.cpu_count() or 1, packages, room_digests())
