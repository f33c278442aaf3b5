"""Device code of single kernels, kept while a run lasts: plans share most of their kernels, though at other places.

A kernel is compiled by itself, under a name that depends on its text and not on which kernel of its Variant it is. What
was compiled stays on disk, for all compile workers of the run and for those that replace them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from generator.variant import Kernel, Variant
from runners.driver import BuildError, LaunchError
from runners.host_program import BoundLaunch

MOST_BYTES = 2**30
"""On disk; when there is more, what was stored first goes."""


def alone(kernel: Kernel, variant: Variant) -> Variant:
    """One kernel of `variant` without a host program: equal kernels of different variants have equal names and texts."""
    definition = rf"(\bvoid\s+){re.escape(kernel.name)}\("
    nameless = re.sub(definition, r"\1(", kernel.source, count=1)
    name = f"antune_{_hash(variant.preamble, nameless)[:16]}"
    text, found = re.subn(definition, rf"\1{name}(", kernel.source, count=1)
    return replace(variant, kernels=(replace(kernel, name=name, source=text) if found else kernel,), host=())


@contextmanager
def errors_name(kernel: Kernel, unit: Variant) -> Iterator[None]:
    """Errors within speak of `kernel` by its own name, not by the one that it has in `unit`."""
    try:
        yield
    except (BuildError, LaunchError) as error:
        raise type(error)(str(error).replace(unit.kernels[0].name, kernel.name)) from None


class KernelCodes:
    """The device code of kernels that are `alone`, on disk; without a folder nothing is kept.

    `launch` is the first of a kernel, where drivers compile for it (OpenCL).
    """

    def __init__(self, folder: Path | None) -> None:
        """`folder` is made if it is not there; several processes may use it."""
        self._cache: Any = None
        if folder is not None:
            from diskcache import Cache

            self._cache = Cache(str(folder), size_limit=MOST_BYTES, eviction_policy="least-recently-stored")

    def get(self, unit: Variant, launch: BoundLaunch | None = None) -> bytes | None:
        """The code of `unit`, if it is known."""
        return None if self._cache is None else self._cache.get(_key(unit, launch))

    def put(self, unit: Variant, launch: BoundLaunch | None, code: bytes) -> None:
        """Keep `code` for `unit`."""
        if self._cache is not None:
            self._cache.set(_key(unit, launch), code)


def _key(unit: Variant, launch: BoundLaunch | None) -> str:
    return _hash(unit.source, unit.code_hash, "" if launch is None else repr((launch.items, launch.block)))


def _hash(*words: str) -> str:
    return hashlib.sha256(repr(words).encode()).hexdigest()
