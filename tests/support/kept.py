"""Values that take long to make and that all processes of a test run share: pickled in a folder of the run."""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

FOLDER = "ANTUNE_TESTS_KEPT"
"""The environment variable that names the folder, which tests/conftest.py makes anew for every run."""

T = TypeVar("T")


def kept(key: str, make: Callable[[], T]) -> T:
    """Return what `make` returns, or what it returned for the same `key` in another process of this run."""
    folder = os.environ.get(FOLDER)
    if folder is None:
        return make()
    path = Path(folder) / hashlib.sha256(key.encode()).hexdigest()
    if path.exists():
        return pickle.loads(path.read_bytes())  # type: ignore[no-any-return]  # of the type that `key` stands for
    value = make()
    part = path.with_name(f"{path.name}-{os.getpid()}")
    part.write_bytes(pickle.dumps(value))
    part.replace(path)  # whole at once: other processes may read it
    return value
