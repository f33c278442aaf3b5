"""Caches which devices have passed their trial, in the user's cache folder, a file per device.

Only successes are cached, with everything that they depend on; the last ones stay, so that processes with different
settings do not try a device in turns. A failed device is tried again every time, so that a fix takes effect at once.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from generator.user_cache import user_cache
from runners.base import DeviceInfo
from runners.opencl.cpu_name import REPAIR
from runners.trial import TRIAL

DRIVERS = ("POCL_", "OCL_", "OPENCL_", "CL_", "CUDA_", "LD_")
"""The prefixes of environment variables that drivers read."""
CONDITIONS = 16
"""The number of successes that are kept per device."""


def has_passed(device: DeviceInfo) -> bool:
    """Return whether `device` has passed its trial with its current driver, CPU and settings."""
    try:
        return _condition(device) in _passed(device)
    except RuntimeError:  # no home
        return False


def note_passed(device: DeviceInfo) -> None:
    """Store that `device` has passed; if that cannot be written, the device is tried again next time."""
    with suppress(OSError, RuntimeError):
        file = _file(device)
        file.parent.mkdir(parents=True, exist_ok=True)
        begun = file.with_name(f"{file.name}.{os.getpid()}")
        condition = _condition(device)
        passed = [*(one for one in _passed(device) if one != condition), condition][-CONDITIONS:]
        begun.write_text(json.dumps(passed, indent=0), encoding="utf-8")
        begun.replace(file)


def _passed(device: DeviceInfo) -> list[str]:
    """Return the conditions with which the device has passed, the last one last."""
    try:
        found = json.loads(_file(device).read_text(encoding="utf-8"))
    except (OSError, ValueError):  # not there, damaged
        return []
    return [str(one) for one in found] if isinstance(found, list) else []  # a dict: of earlier versions


def _file(device: DeviceInfo) -> Path:
    return user_cache() / "devices" / (re.sub(r"[^\w.-]+", "-", device.key) + ".json")


def _condition(device: DeviceInfo) -> str:
    """Return what the result of a trial depends on, as text. Several machines may share a home, so it has the CPU."""
    settings = {name: value for name, value in os.environ.items() if name.startswith(DRIVERS)}
    return json.dumps({"driver": device.driver, "cpu": _cpu(), "linker": shutil.which("ld"), "settings": settings,
                       "repair": REPAIR, "trial": TRIAL}, sort_keys=True)


def _cpu() -> Mapping[str, str]:
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").partition("\n\n")[0].splitlines()
    except OSError:
        return {}
    pairs = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return {name: pairs[name] for name in ("vendor_id", "cpu family", "model", "stepping", "flags") if name in pairs}
