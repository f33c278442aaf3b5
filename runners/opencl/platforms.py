"""The environment that drivers need; pyopencl's loader reads it when it is imported, so it is that of a child process.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

from generator.errors import InputError
from generator.user_cache import user_cache

SYSTEM_VENDORS = Path("/etc/OpenCL/vendors")
POCL = "Portable Computing Language"
NOT_A_DEVICE = "Oclgrind"  # an interpreter that checks kernels: last choice for timing, and none without being asked
SHORT_NAMES = {POCL: "PoCL", "Intel(R) OpenCL": "Intel OpenCL", "NVIDIA CUDA": "NVIDIA OpenCL"}
"""What antune calls a platform, by the name that its driver gives."""


def driver_name(platform: str) -> str:
    """The name that the driver of a platform gives it."""
    return next((name for name, short in SHORT_NAMES.items() if short == platform), platform)


def runs_in_the_caller(platform: str, device: str) -> bool:
    """Whether the device runs a command in the thread that enqueues it, as PoCL's `basic` does. What waits for a user
    event there never begins: setting the event's status runs the command, which waits for a lock that the setter holds.
    """
    return platform.strip() == POCL and device.startswith("basic")


def driver_environment(folder: Path) -> Mapping[str, str]:
    """Environment variables for processes that use OpenCL or CUDA; what they point to is made below `folder`.

    Registers Intel's CPU runtime when the extra `intel` is installed (its packages do not), beside what the
    system has registered. What the user has set is left alone.
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
    """`driver_environment` for processes that measure, with `measuring_settings`."""
    return {**driver_environment(folder), **measuring_settings()}


def measuring_settings() -> Mapping[str, str]:
    """How drivers run kernels where antune measures, as far as the user does not say.

    CUDA loads kernels before their first launch, which would be timed with that. Each thread of PoCL stays on a core of
    its own: elsewhere Linux often wakes both threads of a launch on the same core, and has no time to move one of them
    before a launch of less than a millisecond ends. Compilers do without it: PoCL's threads compile, too, and those of
    several processes would get into each other's way. Where some cores are not for this process PoCL, which counts from
    core 0, is left alone.
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
    """Names and texts of files that register drivers, each with the path of a library: the system's, and Intel's
    from pip.
    """
    library = _intel_library()
    texts = {registered.name: registered.read_text() for registered in sorted(SYSTEM_VENDORS.glob("*.icd"))}
    if library is None:
        return texts
    return {name: text for name, text in texts.items() if library.name not in text} | {"intel.icd": f"{library}\n"}


def _register(folder: Path) -> Path:
    """Fill `folder` with registrations."""
    folder.mkdir(exist_ok=True)
    for name, text in registrations().items():
        (folder / name).write_text(text)
    return folder
