"""The C compiler's expansion of a file. The last ones are kept while nothing that the compiler read has changed.

A command reads the same file several times: to look for pragmas, and for the SCoP.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import TypeAlias

from generator.frontend_c.places import from_c
from generator.frontend_c.source import Compilation

MARKER = re.compile(r'^# (\d+) "((?:[^"\\]|\\.)*)"((?: \d)*)\s*$', re.MULTILINE)
"""A line that gives the file and line of what follows, with flags."""
_PLAIN = re.compile(r"-[DUI].+|-std=.+|-O\w*|-[Wf][a-z-]+|-m[\w-]+(=[\w.-]+)?")
_CLOCK_NS = 20_000_000
"""File systems write times that may be so much older than a change."""
_State: TypeAlias = tuple[int, int, int] | None


@dataclass(frozen=True, slots=True)
class Expansion:
    """What the preprocessor of the C compiler writes: `text` with line markers, and its messages."""

    status: int
    text: str
    said: str


@dataclass(frozen=True, slots=True)
class _Kept:
    """An expansion, with the states of the files that were read and of the user's folders that were searched."""

    expansion: Expansion
    states: tuple[tuple[str, _State], ...]
    sure: bool
    """Whether it succeeded, and no included file may have changed since the compiler read it."""

    def valid(self) -> bool:
        """Return whether the compiler would read the same again."""
        return self.sure and all(_changed(name) == state for name, state in self.states)


def expand(command: Sequence[str], file: Path) -> Expansion:
    """Return the result of `command`, an expansion of `file`."""
    done = subprocess.run([*command, str(file)], capture_output=True, text=True, errors="replace", check=False,
                          env={**os.environ, "LC_ALL": "C"})  # the messages are parsed
    return Expansion(done.returncode, done.stdout, done.stderr)


def kept_expansion(command: Sequence[str], file: Path, compilation: Compilation) -> Expansion:
    """Return the same as `expand`, without running the compiler again if nothing has changed.

    Failures are not kept, and with options that may name files that the expansion does not mention, nothing is.
    """
    if not all(_PLAIN.fullmatch(flag) for flag in compilation.flags) or not os.access(file, os.R_OK):
        return expand(command, file)
    last = _last((*command, str(file)), file.read_bytes(), tuple(sorted(os.environ.items())), str(Path.cwd()))
    if not (last and last[0].valid()):
        last[:] = [_made(command, file, compilation)]
    return last[0].expansion


def _made(command: Sequence[str], file: Path, compilation: Compilation) -> _Kept:
    searched = _searched(file, compilation)
    before = {name: _changed(name) for name in (command[0], str(file), *searched)}
    latest_ns = time.time_ns() - _CLOCK_NS
    expansion = expand(command, file)
    names = {from_c(found[2]) for found in MARKER.finditer(expansion.text) if not found[2].startswith("<")}
    folders = {str(Path(name).parent) for name in names}.union(_other_places(names, searched))
    after = {name: _changed(name) for name in names | folders if name not in before}
    sure = not expansion.status and all(
        state[2] < latest_ns if state is not None else name not in names for name, state in after.items())
    return _Kept(expansion, tuple({**after, **before}.items()), sure)


def _searched(file: Path, compilation: Compilation) -> set[str]:
    """Return the user's folders in which the compiler looks for included files."""
    listed = [folder or "." for name in ("CPATH", "C_INCLUDE_PATH") if os.environ.get(name)
              for folder in os.environ[name].split(os.pathsep)]
    return {str(file.parent), *(flag[2:] for flag in compilation.flags if flag.startswith("-I")), *listed}


def _other_places(names: Collection[str], searched: Collection[str]) -> Iterator[str]:
    """Yield the subfolders of `searched` in which the compiler looks for `names`, which it found in subfolders."""
    for name, folder in product(map(Path, names), searched):
        if name.is_relative_to(folder) and (rest := name.relative_to(folder).parent) != Path():
            yield from (str(Path(other, rest)) for other in searched)


@lru_cache(4)
def _last(*_what: object) -> list[_Kept]:
    """Return the place for the expansion of a command, of a file with this content, in these surroundings."""
    return []


def _changed(name: str) -> _State:
    """Return what changes when a file is written or replaced, or a folder gets an entry; None if there is none, or the
    locale has no such name.
    """
    try:
        state = Path(name).stat()
    except (OSError, UnicodeEncodeError):
        return None
    return state.st_ino, state.st_size, state.st_mtime_ns
