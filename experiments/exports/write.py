"""Write an export of any kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias, assert_never

from experiments.exports.chosen import Chosen, choose, choose_any
from experiments.exports.kinds import CODE, WHOLE_RUN, Kind
from experiments.exports.resized import TUNED_SIZE, Resizing, with_sizes
from experiments.files import write_atomically
from experiments.store import Store
from generator.errors import InputError
from generator.templates.template import Template

Files: TypeAlias = dict[str, str | bytes]


def export(store: Store, kind: Kind, number: int | None, folder: Path, trust: bool = False,
           resizing: Resizing = TUNED_SIZE) -> tuple[Path, ...]:
    """Write the files of an export into `folder`, which is created if necessary, and return their paths.

    `number` is the evaluation whose plan is exported (None: the best). `trust`: another user's run may contain C text.
    `resizing`: further sizes for exported code.

    Raises:
        InputError: there is nothing to export, `number` is invalid, the plan does not work for another size, or a file
            exists already.
    """
    if resizing.sizes and kind not in CODE:
        raise InputError(f"--size: --to {kind} exports no code; leave --size out")
    if kind in WHOLE_RUN:
        if number is not None:
            raise InputError(f"--plan {number}: --to {kind} holds all plans of the run; leave --plan out")
        return _write(_results(kind)(choose_any(store)), folder)
    if resizing.sizes and isinstance(store.info().subject, Template):
        raise InputError(f"--size: {store.info().subject.name} is a kernel template, whose arguments say the size; "
                         "tune it for the other size, and export that run")
    chosen = choose(store, number, kind in CODE, trust)
    if kind in CODE:
        return _write(_code(kind)(with_sizes(store, chosen, resizing)), folder)
    return _write(_results(kind)(chosen), folder)


def _code(kind: Kind) -> Callable[[Sequence[Chosen]], Files]:
    """Return the function that writes code of this kind, for one or several sizes."""
    match kind:
        case Kind.opencl:
            from experiments.exports.opencl import opencl_files as files
        case Kind.c_header:
            from experiments.exports.c_header import header_files as files
        case Kind.cuda:
            from experiments.exports.cuda import cuda_files as files
        case Kind.hip:
            from experiments.exports.hip import hip_files as files
        case Kind.python:
            from experiments.exports.python import python_files as files
        case Kind.json | Kind.csv | Kind.t4 | Kind.kernel_tuner:
            raise AssertionError("not code")
        case _:
            assert_never(kind)
    return files


def _results(kind: Kind) -> Callable[[Chosen], Files]:
    """Return the function that writes results of this kind."""
    match kind:
        case Kind.json:
            from experiments.exports.json_facts import json_files as results
        case Kind.csv:
            from experiments.exports.csv_table import csv_files as results
        case Kind.t4:
            from experiments.exports.t4 import t4_files as results
        case Kind.kernel_tuner:
            from experiments.exports.kernel_tuner import cache_files as results
        case Kind.opencl | Kind.c_header | Kind.cuda | Kind.hip | Kind.python:
            raise AssertionError("code")
        case _:
            assert_never(kind)
    return results


def _write(files: Files, folder: Path) -> tuple[Path, ...]:
    paths = {folder / name: content for name, content in files.items()}
    if taken := next((path for path in paths if path.exists()), None):
        raise InputError(f"{taken} is there already, and nothing was written; choose another --out, or remove it")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, content in paths.items():
            path.parent.mkdir(exist_ok=True)
            write_atomically(path, content)
    except OSError as error:
        raise InputError(f"--out {folder} cannot be written: {error.strerror}; choose another folder") from None
    return tuple(paths)
