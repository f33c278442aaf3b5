"""Which OpenCL devices exist, without loading a driver into this process.

A driver may crash when it is loaded, prints to the terminal, starts threads and must see its environment before
pyopencl is imported: all of that happens in a child process.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

from generator.errors import InputError
from runners.base import DeviceInfo
from runners.messages import Handler, Startup
from runners.processes import Died, Expired, Finished, Task, WorkerPool, wait_for

SYSTEM_VENDORS = Path("/etc/OpenCL/vendors")
PROBE_S = 60.0


def driver_environment(folder: Path) -> Mapping[str, str]:
    """Environment variables for processes that use OpenCL; what they point to is made below `folder`.

    Registers Intel's CPU runtime when the extra `intel` is installed (its packages do not), beside what the
    system has registered. What the user has set is left alone.
    """
    folder.mkdir(parents=True, exist_ok=True)
    environment = {"PYOPENCL_NO_CACHE": "1", "PYTHONWARNINGS": "ignore", "TMPDIR": str(folder)}
    library = _intel_library()
    if library is not None and "OCL_ICD_VENDORS" not in os.environ:
        environment["OCL_ICD_VENDORS"] = str(_register(folder / "vendors", library))
    if "POCL_CACHE_DIR" not in os.environ:
        cache = folder / "pocl-cache"
        cache.mkdir(exist_ok=True)
        environment["POCL_CACHE_DIR"] = str(cache)
    return environment


def list_devices() -> tuple[DeviceInfo, ...]:
    """All OpenCL devices, best first: the first one is the default.

    Raises:
        InputError: a driver crashed or hung while it was asked.
    """
    with tempfile.TemporaryDirectory(prefix="antune-devices-") as name:
        folder = Path(name)
        pool = WorkerPool("probe", 1, Startup(_make_probe, ()), driver_environment(folder), folder)
        try:
            return _ask(pool)
        finally:
            pool.close()


def find_device(selector: str | None) -> DeviceInfo:
    """The device that `selector` means: its number in `list_devices`, or a part of its platform's or its own
    name, upper or lower case; None is the default device.

    Raises:
        InputError: there is no such device; the message lists those that exist.
    """
    return choose(list_devices(), selector)


def choose(devices: tuple[DeviceInfo, ...], selector: str | None) -> DeviceInfo:
    """`find_device` among `devices`; a platform's name goes before a device's name."""
    if not devices:
        raise InputError("no OpenCL device was found; install one with `pip install pyopencl[pocl]`")
    if selector is None:
        return devices[0]
    if selector.isdecimal() and int(selector) < len(devices):
        return devices[int(selector)]
    wanted = selector.lower()
    exact = [device for device in devices if device.key == selector]
    by_platform = [device for device in devices if wanted in device.platform.lower()]
    by_name = [device for device in devices if wanted in device.name.lower()]
    if wanted and (matches := exact + by_platform + by_name):
        return matches[0]
    known = "; ".join(f"{number}: {device.platform}, {device.name}" for number, device in enumerate(devices))
    raise InputError(f"no device is called {selector!r}; use a number or a part of a name of: {known}")


def _make_probe() -> Handler:
    from runners.opencl_probe import probe  # here, because it loads pyopencl

    return probe()


def _ask(pool: WorkerPool) -> tuple[DeviceInfo, ...]:
    pool.submit(Task(0, None, "generate", PROBE_S))
    while True:
        wait_for([pool])
        for event in pool.poll():
            match event:
                case Finished(_, devices):
                    found: tuple[DeviceInfo, ...] = devices
                    return found
                case Died(_, _, message, _):
                    raise InputError(f"listing the OpenCL devices failed: {message}; try other drivers by "
                                     "setting OCL_ICD_VENDORS")
                case Expired():
                    raise InputError(f"listing the OpenCL devices took longer than {PROBE_S:g} s; try other "
                                     "drivers by setting OCL_ICD_VENDORS")


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


def _register(folder: Path, library: Path) -> Path:
    """Fill `folder` with registrations: one file per driver, each holding the path of a library."""
    folder.mkdir(exist_ok=True)
    for registered in sorted(SYSTEM_VENDORS.glob("*.icd")):
        text = registered.read_text()
        if library.name not in text:
            (folder / registered.name).write_text(text)
    (folder / "intel.icd").write_text(f"{library}\n")
    return folder
