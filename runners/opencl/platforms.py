"""The environment that drivers need: pyopencl's loader reads it on import, so it is set for child processes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

from generator.errors import InputError
from generator.user_cache import user_cache

SYSTEM_VENDORS = Path("/etc/OpenCL/vendors")
POCL = "Portable Computing Language"
NOT_A_DEVICE = "Oclgrind"  # an interpreter that checks kernels: the last choice for timing, and only on request
SHORT_NAMES = {POCL: "PoCL", "Intel(R) OpenCL": "Intel OpenCL", "NVIDIA CUDA": "NVIDIA OpenCL"}
"""antune's short names of platforms, by the driver's name."""


def driver_name(platform: str) -> str:
    """Return the driver's name of a platform."""
    return next((name for name, short in SHORT_NAMES.items() if short == platform), platform)


def runs_in_the_caller(platform: str, device: str) -> bool:
    """Return whether the device runs a command in the thread that enqueues it, as PoCL's `basic` does.

    A command that waits for a user event there causes a deadlock: setting the event's status runs the command, which
    waits for a lock that the setter holds.
    """
    return platform.strip() == POCL and device.startswith("basic")


def driver_environment(folder: Path) -> Mapping[str, str]:
    """Return the environment variables for processes that use OpenCL or CUDA; their files are made in `folder`.

    Registers Intel's CPU runtime if the extra `intel` is installed (its packages do not register it), in addition to
    the system's registrations. Variables that the user has set are kept.
    """
    folder.mkdir(parents=True, exist_ok=True)
    environment = {"PYOPENCL_NO_CACHE": "1", "PYTHONWARNINGS": "ignore", "TMPDIR": str(folder)}
    if _intel_library() is not None and "OCL_ICD_VENDORS" not in os.environ:
        environment["OCL_ICD_VENDORS"] = str(_register(folder / "vendors"))
    if "POCL_CACHE_DIR" not in os.environ:
        cache = folder / "pocl-cache"
        cache.mkdir(exist_ok=True)
        environment["POCL_CACHE_DIR"] = str(cache)
    return environment


def register_here() -> None:
    """Register Intel's CPU runtime from pip for this process, which must not have asked for platforms yet.

    Raises:
        InputError: the registration cannot be written to the user's cache.
    """
    if "OCL_ICD_VENDORS" in os.environ or _intel_library() is None:
        return
    folder = user_cache() / "vendors"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.environ["OCL_ICD_VENDORS"] = str(_register(folder))
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror}; set XDG_CACHE_HOME to a folder of yours, or "
                         "OCL_ICD_VENDORS to where OpenCL drivers are registered") from None


def measuring_environment(folder: Path) -> Mapping[str, str]:
    """Return `driver_environment` for processes that measure, with `measuring_settings`."""
    return {**driver_environment(folder), **measuring_settings()}


def measuring_settings() -> Mapping[str, str]:
    """Return settings of drivers for measurements, except for those that the user has set.

    CUDA loads kernels before their first launch, instead of during a timed one. Each thread of PoCL stays on its own
    core: without this, Linux often wakes both threads of a launch on the same core, and cannot move one of them before
    a short launch ends. Compilers do not use this setting: PoCL's threads also compile, and those of several processes
    would share cores. PoCL counts from core 0, so it is not set if this process may not use all cores.
    """
    settings = {"CUDA_MODULE_LOADING": "EAGER"}
    if os.sched_getaffinity(0) == set(range(os.cpu_count() or 1)):
        settings["POCL_AFFINITY"] = "1"
    return {name: value for name, value in settings.items() if name not in os.environ}


def _intel_library() -> Path | None:
    try:
        files = metadata.files("intel-opencl-rt") or []
    except metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.name == "libintelocl.so":
            library = Path(str(file.locate())).resolve()
            return library if library.exists() else None
    return None


def registrations() -> Mapping[str, str]:
    """Return names and texts of files that register drivers, each with the path of a library: the system's, and Intel's
    from pip.
    """
    library = _intel_library()
    texts = {registered.name: registered.read_text() for registered in sorted(SYSTEM_VENDORS.glob("*.icd"))}
    if library is None:
        return texts
    return {name: text for name, text in texts.items() if library.name not in text} | {"intel.icd": f"{library}\n"}


def _register(folder: Path) -> Path:
    """Write the registrations to `folder`."""
    folder.mkdir(exist_ok=True)
    for name, text in registrations().items():
        (folder / name).write_text(text)
    return folder
