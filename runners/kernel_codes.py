"""Caches the device code of single kernels during a run, because plans share most of their kernels.

A kernel is compiled alone (a Variant of one kernel is called a unit) or together with unrelated ones, under a name that
depends on its text and not on its position in the Variant. The code stays on disk during the run, for all compile
workers and their replacements. Two workers that meet a new kernel at the same time both compile it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from generator.variant import Kernel, Variant
from runners.driver import BuildError, LaunchError
from runners.host_program import BoundLaunch

MOST_BYTES = 2**30
"""Limit of the cache on disk; beyond it, the oldest files are removed until half of it is left."""
MOST_TOGETHER = 16
"""Kernels per text: some drivers spend most of the time reading headers and libraries for each text."""
LOOK_EVERY = 100
"""A process checks the size of the cache after storing so many kernels."""


def alone(kernel: Kernel, variant: Variant) -> Variant:
    """Return the unit of a kernel of `variant`, without host program. Equal kernels have equal units everywhere."""
    before = variant.preamble if kernel.preamble is None else kernel.preamble
    name = f"antune_{_hash(before, kernel.text.called(''))[:16]}"
    return replace(variant, preamble=before, kernels=(replace(kernel, name=name),), host=())


def together(units: Sequence[Variant], most: int = MOST_TOGETHER) -> Iterator[Variant]:
    """Yield the distinct `units`, combined to Variants of up to `most` kernels with the same preamble."""
    by_preamble: dict[str, dict[str, Variant]] = {}
    for unit in units:
        by_preamble.setdefault(unit.preamble, {})[unit.kernels[0].name] = unit
    for found in by_preamble.values():
        kernels, first = [unit.kernels[0] for unit in found.values()], next(iter(found.values()))
        for k in range(0, len(kernels), most):
            yield replace(first, kernels=tuple(kernels[k:k + most]))


@contextmanager
def errors_name(kernel: Kernel, unit: Variant) -> Iterator[None]:
    """In messages of errors raised inside, replace the unit's kernel name by the name of `kernel`."""
    try:
        yield
    except (BuildError, LaunchError) as error:
        raise type(error)(str(error).replace(unit.kernels[0].name, kernel.name)) from None


class KernelCodes:
    """The device code of units, one file each; without a folder nothing is cached.

    `launch`: the first launch of a kernel, if the driver compiles for it (OpenCL). Code that cannot be read or written
    (a full disk) is compiled again.
    """

    def __init__(self, folder: Path | None) -> None:
        """Use `folder`, and create it if it is missing; several processes may use the same one."""
        self._folder, self._stored = folder, 0
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)

    def get(self, unit: Variant, launch: BoundLaunch | None = None) -> bytes | None:
        """Return the code of `unit`, or None if it is not cached."""
        with suppress(OSError):
            return None if self._folder is None else (self._folder / _key(unit, launch)).read_bytes()
        return None

    def put(self, unit: Variant, launch: BoundLaunch | None, code: bytes) -> None:
        """Store `code` for `unit` atomically."""
        if self._folder is None:
            return
        begun = self._folder / f"{os.getpid()}.begun"
        with suppress(OSError):
            begun.write_bytes(code)
            begun.replace(self._folder / _key(unit, launch))
        self._stored += 1
        if self._stored % LOOK_EVERY == 0:
            _shrink(self._folder)


def _shrink(folder: Path, most_bytes: int = MOST_BYTES) -> None:
    """If the files have more than `most_bytes` in total, remove the oldest until half of that is left."""
    with suppress(OSError):  # another process does the same
        files = sorted((s.st_mtime, s.st_size, path) for path in folder.iterdir() if (s := path.stat()))
        total = sum(size for _, size, _ in files)
        goal = most_bytes // 2 if total > most_bytes else total
        for _, size, path in files:
            if total <= goal:
                break
            path.unlink(missing_ok=True)
            total -= size


def _key(unit: Variant, launch: BoundLaunch | None) -> str:
    return _hash(unit.source, unit.code_hash, "" if launch is None else repr((launch.items, launch.block)))


def _hash(*words: str) -> str:
    return hashlib.sha256(repr(words).encode()).hexdigest()
