"""Keep measured ceilings in the user's cache, once per device and driver."""

from __future__ import annotations

import re
from pathlib import Path

from experiments.files import write_atomically
from experiments.values.program_json import from_json, to_json
from generator.errors import InputError
from generator.user_cache import user_cache
from metrics.roofline import Ceilings
from runners.base import DeviceInfo


def ceilings_file(device_key: str) -> Path:
    """Return the file for a device's ceilings, below $XDG_CACHE_HOME or ~/.cache."""
    return user_cache() / "ceilings" / (re.sub(r"[^\w.-]+", "-", device_key) + ".json")


def keep_ceilings(ceilings: Ceilings) -> Path:
    """Write `ceilings` where `kept_ceilings` finds them, and return the path. Raises InputError if it cannot be
    written.
    """
    file = ceilings_file(ceilings.device_key)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, to_json(ceilings) + "\n")
    except OSError as error:
        raise InputError(
            f"{file} cannot be written: {error.strerror}; set XDG_CACHE_HOME to a folder that can"
        ) from None
    return file


def kept_ceilings(device: DeviceInfo) -> Ceilings | None:
    """Return the ceilings of `device` with its current driver; None if they are missing or the file is damaged."""
    file = ceilings_file(device.key)
    try:
        kept = from_json(file.read_text(encoding="utf-8"), Ceilings)
    except (OSError, ValueError, KeyError, TypeError, InputError):
        return None
    return kept if (kept.device_key, kept.driver) == (device.key, device.driver) else None
