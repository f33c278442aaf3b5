"""The kinds of exports, and writing one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias, assert_never

from experiments.exports.chosen import Chosen, choose, choose_any
from experiments.exports.kinds import CODE, WHOLE_RUN, Kind
from experiments.files import write_atomically
from experiments.store import Store
from generator.errors import InputError

Files: TypeAlias = dict[str, str | bytes]


def export(store: Store, kind: Kind, number: int | None, folder: Path, trust: bool = False) -> tuple[Path, ...]:
    """Write the files of an export into `folder`, which is made where needed, and say which.

    `number` is the evaluation whose plan is exported (None: the best). `trust`: somebody else's run may bring C text of
    its own.

    Raises:
        InputError: there is nothing to export, `number` makes no sense, or one of the files is there already.
    """
    if kind in WHOLE_RUN:
        if number is not None:
            raise InputError(f"--plan {number}: --to {kind} holds all plans of the run; leave --plan out")
        chosen = choose_any(store)
    else:
        chosen = choose(store, number, kind in CODE, trust)
    return _write(_files(kind)(chosen), folder)


def _files(kind: Kind) -> Callable[[Chosen], Files]:
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
        case Kind.json:
            from experiments.exports.json_facts import json_files as files
        case Kind.csv:
            from experiments.exports.csv_table import csv_files as files
        case Kind.t4:
            from experiments.exports.t4 import t4_files as files
        case Kind.kernel_tuner:
            from experiments.exports.kernel_tuner import cache_files as files
        case _:
            assert_never(kind)
    return files


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
