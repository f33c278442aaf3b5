"""The Problem: a Program, or a Template, with real inputs, the reference result and the sequential baseline."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias, assert_never
from zipfile import ZIP_STORED, BadZipFile, ZipFile

import numpy as np
from numpy.typing import NDArray

from generator.contract import Array, Contract
from generator.errors import InputError
from generator.program import Program
from generator.templates.template import Template

Origin: TypeAlias = Literal["capture", "harness", "pipeline", "answer", "first"]
Subject: TypeAlias = Program | Template
"""The subject of tuning: a program with known loops, or the text of a kernel."""
Values: TypeAlias = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Baseline:
    """The original program in another build than that of `Reference.sequential_ms`.

    `o3`: plain -O3, not compiled for this machine, as for the reference. `openmp`: with the file's own OpenMP pragmas,
    on `threads` threads. `compiler`: its version with all options.
    """

    name: Literal["o3", "openmp"]
    compiler: str
    threads: int
    samples_ms: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Reference:
    """The result of the sequential program: data at the SCoP's entry and exit, and its time.

    `inputs` holds every array and scalar of the Program (shape = extents, scalars have shape ()), `outputs` those that
    are written, computed by a build with plain -O3. `sequential_ms`: times of repeated warm runs of the SCoP alone,
    compiled by `compiler` (version and options: -O3 for this machine). `baselines`: times of other builds. `origin`:
    `capture` ran the program's own `main`; `harness` called the function with seeded random data; `pipeline` is the
    interpreter of the pipeline language, whose sequential time is that of the same stages as C. A template has no
    sequential time: its outputs are an `answer` that the user gave, or the results of the `first` configuration
    (missing until it has run). `rounding`: for outputs that rounding errors dominate, the absolute differences that
    they explain (`generator.rounding.within`); the usual tolerance is enough for an output that is not listed.
    """

    inputs: Values
    outputs: Values
    sequential_ms: tuple[float, ...]
    origin: Origin
    compiler: str
    warnings: tuple[str, ...]
    rounding: Values = field(default_factory=dict)
    baselines: tuple[Baseline, ...] = ()


@dataclass(frozen=True, slots=True)
class Problem:
    """The input of a tuning run."""

    subject: Subject
    reference: Reference

    @property
    def program(self) -> Program:
        """The program. Raises InputError for a template."""
        return program_of(self.subject)

    @property
    def contract(self) -> Contract:
        """The arrays with their roles."""
        return self.subject.contract


def program_of(subject: Subject) -> Program:
    """Return the program that `subject` is. Raises InputError for a template."""
    match subject:
        case Program():
            return subject
        case Template(name):
            raise InputError(f"{name} is a kernel template, whose loops antune does not know: this is for C files and "
                             "pipelines only")
        case _:
            assert_never(subject)


def as_modelled(array: Array, own: NDArray[Any]) -> NDArray[Any]:
    """Return the data of the source's array in the shape of the model's array, with 0 for elements that only the model
    has.
    """
    flat = own.reshape(-1)
    if flat.size == array.elements:
        return flat.reshape(array.extents)
    return np.concatenate([flat, np.zeros(array.elements - flat.size, flat.dtype)]).reshape(array.extents)


def as_declared(array: Array, modelled: NDArray[Any]) -> NDArray[Any]:
    """The inverse of `as_modelled`."""
    return modelled.reshape(-1)[:array.own_elements].reshape(array.own_extents)


def save_reference(reference: Reference, path: Path | BinaryIO) -> None:
    """Write `reference` to one .npz file."""
    meta = {"sequential_ms": reference.sequential_ms, "origin": reference.origin, "compiler": reference.compiler,
            "warnings": reference.warnings, "baselines": [asdict(baseline) for baseline in reference.baselines]}
    arrays = {f"in:{name}": value for name, value in reference.inputs.items()}
    arrays |= {f"out:{name}": value for name, value in reference.outputs.items()}
    arrays |= {f"rounding:{name}": value for name, value in reference.rounding.items()}
    np.savez(path, meta=np.array(json.dumps(meta)), **arrays)  # type: ignore[arg-type]  # keywords are arrays


def load_reference(path: Path) -> Reference:
    """Read a file of `save_reference`. Raises OSError or ValueError if it is absent or damaged."""
    _check_sums(path)
    try:
        with np.load(path, allow_pickle=False) as data:
            meta = json.loads(str(data["meta"]))
            inputs, outputs, rounding = (_group(data, kind) for kind in ("in:", "out:", "rounding:"))
    except (KeyError, ValueError) as error:  # an intact archive of something else
        raise ValueError("it holds no reference") from error  # NumPy's own message suggests to load it unsafely
    return Reference(inputs, outputs, tuple(meta["sequential_ms"]), meta["origin"], meta["compiler"],
                     tuple(meta["warnings"]), rounding, take_baselines(meta.get("baselines", ())))


def take_baselines(data: Iterable[Mapping[str, Any]]) -> tuple[Baseline, ...]:
    """Return the baselines in JSON data. Raises KeyError or TypeError for anything else."""
    return tuple(Baseline(**{**entry, "samples_ms": tuple(entry["samples_ms"])}) for entry in data)


def _check_sums(path: Path) -> None:
    """Compare the checksums of an archive before anything interprets its bytes.

    NumPy reads the header of an array as Python, and decompresses data if a changed byte says so: damage there can
    raise nearly any exception, from SyntaxError to MemoryError.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not an archive, or damaged.
    """
    try:
        with ZipFile(path) as archive:
            # `np.savez` makes neither; a comment can hide the entries behind it
            if any(member.compress_type != ZIP_STORED or member.comment for member in archive.infolist()):
                raise BadZipFile("it has compressed entries or comments")
            if (wrong := archive.testzip()) is not None:
                raise BadZipFile(f"the checksum of {wrong} is wrong")
    # RuntimeError: flags for a password or another version; ValueError: names that are not text
    except (BadZipFile, EOFError, RuntimeError, ValueError) as error:
        raise ValueError(f"the file is damaged: {error}") from error


def _group(data: Mapping[str, NDArray[Any]], kind: str) -> Values:
    return {name.removeprefix(kind): data[name] for name in data if name.startswith(kind)}
