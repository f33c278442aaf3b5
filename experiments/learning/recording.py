"""Databases of measured plans as one small file, to keep and to share: `python -m experiments.learning.recording OUT.xz
FILE...`.

A recording has the plans of this package's random pipelines. To which program plans belong is told by the text of its
file, not by antune's model of it, which changes more often: a test compares the texts.
"""

from __future__ import annotations

import ast
import hashlib
import json
import lzma
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from experiments.learning.collect import PROGRAMS, program_at
from experiments.learning.database import Database, MeasuredPlan, device_of
from experiments.learning.series import Origin, program_digest
from experiments.script import run
from generator.errors import AntuneError, InputError
from generator.plan import plan_from_json

SUFFIX, VERSION = ".xz", 1
Measured: TypeAlias = tuple[Origin, tuple[MeasuredPlan, ...]]


@dataclass(frozen=True, slots=True)
class Recording:
    """The measured plans of some pipelines on the device `key`; `texts`: the digests of the pipelines' files."""

    key: str
    name: str
    texts: tuple[tuple[str, str], ...]
    measured: tuple[Measured, ...]

    @property
    def current(self) -> tuple[Measured, ...]:
        """The plans of pipelines whose files have not changed since."""
        same = {source for source, digest in self.texts if text_digest(source) == digest}
        return tuple(one for one in self.measured if one[0].source in same)


Source: TypeAlias = Recording | Path
"""A recording that was read, or a database."""


def text_digest(source: str) -> str | None:
    """Return a hash of a random pipeline's file and of those beside it that it imports; None if it is not there."""
    file, own = PROGRAMS / source, hashlib.sha256()
    if Path(source).name != source or not file.is_file():
        return None
    text = file.read_text(encoding="utf-8")
    own.update(text.encode())
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom) and node.module and (PROGRAMS / f"{node.module}.py").is_file():
            own.update(str(text_digest(f"{node.module}.py")).encode())
    return own.hexdigest()[:16]


def by_device(files: Sequence[Path]) -> tuple[tuple[Source, ...], ...]:
    """Return databases and recordings by device, as `gathered` takes them. Raises InputError if a file cannot be read.
    """
    found: dict[tuple[str, str], list[Source]] = {}
    for source in map(_source, files):
        found.setdefault(_device(source), []).append(source)
    return tuple(tuple(some) for some in found.values())


def _source(file: Path) -> Source:
    return read(file) if file.suffix == SUFFIX else file


def _device(source: Source) -> tuple[str, str]:
    return (source.key, source.name) if isinstance(source, Recording) else device_of(source)


def gathered(sources: Sequence[Source]) -> tuple[str, str, tuple[Measured, ...]]:
    """Return the device's key and name, and the measured plans of databases and recordings by pipeline, failures, too.
    Pipelines that are gone or have changed since are left out; of a plan in several of them, the last one counts.

    Raises:
        InputError: the databases cannot be read, or the sources are of different devices.
    """
    found: dict[Origin, dict[str, MeasuredPlan]] = {}
    devices = {_device(source) for source in sources}
    for source in sources:
        for origin, plans in source.current if isinstance(source, Recording) else _current(source):
            found.setdefault(origin, {}).update({one.plan.digest: one for one in plans})
    if len(devices) != 1:
        raise InputError("the files are of several devices: " + ", ".join(sorted(name for _, name in devices)))
    [(key, name)] = devices
    ordered = sorted(found, key=lambda origin: (origin.source, origin.parameters))
    return key, name, tuple((origin, tuple(found[origin].values())) for origin in ordered)


def _current(file: Path) -> Iterator[Measured]:
    """Yield the plans of a database whose programs have not changed."""
    with closing(Database(file, *device_of(file))) as base:
        for series in base.series():
            try:
                same = program_digest(program_at(series.origin)) == series.program
            except AntuneError:  # a file of the user's that is no longer there
                continue
            if same:
                yield series.origin, tuple(base.plans(series))


def recorded(files: Sequence[Path]) -> Recording:
    """Return the plans of random pipelines in databases and recordings. Raises InputError, also if there are none."""
    key, name, measured = gathered([_source(file) for file in files])
    texts = {origin.source: text_digest(origin.source) for origin, _ in measured}
    known = tuple((source, digest) for source, digest in sorted(texts.items()) if digest is not None)
    if not known:
        raise InputError("the files have no plans of random pipelines")
    return Recording(key, name, known, tuple(one for one in measured if texts[one[0].source] is not None))


def write(recording: Recording, file: Path) -> None:
    """Write the file; it is the same for the same plans. Raises InputError if it cannot be written."""
    pipelines = [[origin.source, origin.parameters, [_to_json(one) for one in plans]]
                 for origin, plans in recording.measured]
    text = json.dumps({"version": VERSION, "key": recording.key, "name": recording.name, "texts": recording.texts,
                       "pipelines": pipelines}, separators=(",", ":"))
    try:
        file.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error.strerror}; choose another place") from None


def read(file: Path) -> Recording:
    """Return what `write` has written. Raises InputError."""
    try:
        stored = json.loads(lzma.decompress(file.read_bytes()))
        if stored["version"] != VERSION:
            raise InputError(f"{file} is of another version of antune")
        return Recording(stored["key"], stored["name"], tuple((source, digest) for source, digest in stored["texts"]),
                         tuple(_pipeline(*one) for one in stored["pipelines"]))
    except (OSError, EOFError, lzma.LZMAError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{file} is not a recording of measured plans: {error}; make one with "
                         "`python -m experiments.learning.recording`") from None


def _to_json(one: MeasuredPlan) -> list[Any]:
    return [json.loads(one.plan.to_json()), one.status, one.ms, one.kernels, one.guided, one.round]


def _pipeline(source: str, parameters: Sequence[tuple[str, int]], rows: Sequence[Sequence[Any]]) -> Measured:
    origin = Origin(source, tuple((name, value) for name, value in parameters))
    return origin, tuple(
        MeasuredPlan(origin, number, plan_from_json(json.dumps(plan)), status, ms,
                     tuple((tuple(statements), taken) for statements, taken in kernels), guided)
        for plan, status, ms, kernels, guided, number in rows)


def main(out: Annotated[Path, typer.Argument(metavar="OUT.xz", show_default=False)],
         files: Annotated[list[Path], typer.Argument(metavar="FILE...", show_default=False)]) -> None:
    """Write the plans of random pipelines of all FILES, databases or recordings of one device, into one file."""
    if out.suffix != SUFFIX:
        raise InputError(f"{out} does not end in {SUFFIX}")
    found = recorded(files)
    write(found, out)
    print(f"{sum(len(plans) for _, plans in found.measured)} plans of {len(found.measured)} pipelines, "
          f"{out.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    run(main)
