"""Find and load ROCm's libraries."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from pathlib import Path

VERSIONS = ("", ".7", ".6", ".5")
ROCM = Path("/opt/rocm")


def load(name: str) -> ctypes.CDLL:
    """Load the library `name`, from the system's places, else from ROCm's folder. Raises OSError if it is in neither.
    """
    missing = ""
    for path in _places(name):
        try:
            return ctypes.CDLL(path)
        except OSError as error:
            missing = missing or str(error)
    raise OSError(missing)


def _places(name: str) -> Iterator[str]:
    files = [f"{name}.so{version}" for version in VERSIONS]
    yield from files
    folder = Path(os.environ.get("ROCM_PATH", ROCM)) / "lib"
    yield from (str(folder / file) for file in files)
