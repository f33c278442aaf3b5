"""Values that take long to make and that all processes of a test run share: pickled in a folder of the run."""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

FOLDER = "ANTUNE_TESTS_KEPT"
"""The environment variable that names the folder, which tests/conftest.py makes anew for every run."""

T = TypeVar("T")
P = ParamSpec("P")


def kept(make: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    """Return what the function `make` returns for these arguments, or returned in another process of this run.

    Raises ValueError if the text of an argument does not tell its value.
    """
    key = f"{make.__module__}.{make.__qualname__} {given!r} {named!r}"
    if " at 0x" in key:
        raise ValueError(f"the address of an object is not its value: {key}")
    folder = os.environ.get(FOLDER)
    if folder is None:
        return make(*given, **named)
    path = Path(folder) / hashlib.sha256(key.encode()).hexdigest()
    if path.exists():
        return pickle.loads(path.read_bytes())  # type: ignore[no-any-return]  # what `make` returned
    value = make(*given, **named)
    part = path.with_name(f"{path.name}-{os.getpid()}")
    part.write_bytes(pickle.dumps(value))
    part.replace(path)  # whole at once: other processes may read it
    return value
