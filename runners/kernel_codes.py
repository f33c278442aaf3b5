"""Device code of single kernels, kept while a run lasts: plans share most of their kernels, though at other places.

A kernel is compiled by itself (such a Variant of one kernel is called a unit) or beside others that have nothing to do
with it, under a name that depends on its text and not on which kernel of its Variant it is. What was compiled stays on
disk while the run lasts, for all compile workers and for those that replace them. Two workers that meet a new kernel at
the same time both compile it.
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
"""On disk; when there is more, the oldest half goes."""
MOST_TOGETHER = 16
"""Kernels in one text: where a driver reads headers and libraries for every text, that is most of the time."""
LOOK_EVERY = 100
"""Kernels that a process stores between two looks at how much there is."""


def alone(kernel: Kernel, variant: Variant) -> Variant:
    """One kernel of `variant` without a host program: equal kernels of different variants have equal names and
    texts.
    """
    before = variant.preamble if kernel.preamble is None else kernel.preamble
    name = f"antune_{_hash(before, kernel.text.called(''))[:16]}"
    return replace(variant, preamble=before, kernels=(replace(kernel, name=name),), host=())


def together(units: Sequence[Variant], most: int = MOST_TOGETHER) -> Iterator[Variant]:
    """The different ones of `units` as Variants of up to `most` kernels with the same preamble."""
    by_preamble: dict[str, dict[str, Variant]] = {}
    for unit in units:
        by_preamble.setdefault(unit.preamble, {})[unit.kernels[0].name] = unit
    for found in by_preamble.values():
        kernels, first = [unit.kernels[0] for unit in found.values()], next(iter(found.values()))
        for k in range(0, len(kernels), most):
            yield replace(first, kernels=tuple(kernels[k:k + most]))


@contextmanager
def errors_name(kernel: Kernel, unit: Variant) -> Iterator[None]:
    """Errors within speak of `kernel` by its own name, not by the one that it has in `unit`."""
    try:
        yield
    except (BuildError, LaunchError) as error:
        raise type(error)(str(error).replace(unit.kernels[0].name, kernel.name)) from None


class KernelCodes:
    """The device code of units, a file each; without a folder nothing is kept.

    `launch` is the first of a kernel, where drivers compile for it (OpenCL). What cannot be read is not known, and what
    cannot be written (a full disk) is not kept: then it is compiled again.
    """

    def __init__(self, folder: Path | None) -> None:
        """`folder` is made if it is not there; several processes may use it."""
        self._folder, self._stored = folder, 0
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)

    def get(self, unit: Variant, launch: BoundLaunch | None = None) -> bytes | None:
        """The code of `unit`, if it is known."""
        with suppress(OSError):
            return None if self._folder is None else (self._folder / _key(unit, launch)).read_bytes()
        return None

    def put(self, unit: Variant, launch: BoundLaunch | None, code: bytes) -> None:
        """Keep `code` for `unit`: all of it or nothing."""
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
    """Remove the oldest files if all together have more than `most_bytes`, until they have half of that."""
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
