"""The changes between the start of a run and its continuation: harmless changes are reported, others refused.

A run continues with the stored program, reference and options, so a changed file or compiler does no harm. Times from
another driver, and even more from another device, cannot be compared with the old ones.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from experiments.search.reproducing import reproduce_command
from experiments.values.environment import Environment, current_environment
from experiments.values.records import RunInfo
from experiments.values.versions import differences
from experiments.words import command
from generator.errors import InputError
from generator.frontend_c.source import file_hash
from runners.base import DeviceInfo
from runners.many import model_key


def source_hash(source: bytes) -> str:
    """Return the hash that identifies the tuned file."""
    return hashlib.sha256(source).hexdigest()


def notes(info: RunInfo, before: Environment, directory: Path) -> Iterator[str]:
    """Yield what the user should know when a run continues that last ran in the environment `before`."""
    if not info.options.from_python and _changed(Path(info.options.file), info.source_hash):
        yield (f"warning: {info.options.file} changed since this run began; {directory} goes on with the program as it "
               f"was. To tune the new one: {reproduce_command(info)}")
    given = info.options.compilation.invocation
    if given.stdin is not None and file_hash(Path(given.stdin)) not in (None, given.stdin_hash):
        yield (
            f"warning: {given.stdin} (--stdin) changed since this run began; {directory} goes on with the data that "
            f"the program "
            f"had read. To tune for the new one: {reproduce_command(info)}"
        )
    if changed := differences(before, current_environment()):
        yield f"changed since this run was last worked on: {', '.join(changed)}"


def _changed(file: Path, before: str) -> bool:
    try:
        return source_hash(file.read_bytes()) != before
    except OSError:  # the file may have been deleted
        return False


def compare_compiler(info: RunInfo) -> str | None:
    """Return a warning if the C compiler is not the one that built the reference; None if it is."""
    from generator.capture.build import system_compiler

    try:
        found = system_compiler().version
    except InputError:  # a run continues without a compiler
        return None
    if info.compiler.startswith(found):  # `info.compiler` is the version followed by options
        return None
    return (
        f"the C compiler changed from {info.compiler} to {found}; the expected results and the sequential time stay "
        f"those "
        "of the old one"
    )


def compare_device(directory: Path, stored: DeviceInfo, driver: str, found: DeviceInfo, anyway: bool) -> str | None:
    """Return a warning if `found` is not as the device `stored` was, last used with `driver`; None without a
    difference.

    Raises:
        InputError: it is another device, or it has another driver and `anyway` is False.
    """
    if (model_key(stored.key), stored.target) != (model_key(found.key), found.target):
        raise InputError(f"the run was made on {stored.name} ({stored.platform}), but here is {found.name} "
                         f"({found.platform}) or its limits changed; resume where it was made, or start a new run")
    if driver == found.driver:
        return None
    if not anyway:
        raise InputError(
            f"the driver changed from {driver} to {found.driver}, so that new times would be compared with times "
            f"of another compiler; start a new run, or go on with `{command('resume', directory)} --anyway`"
        )
    return f"warning: the driver changed from {driver} to {found.driver}; old and new times may not be comparable"
