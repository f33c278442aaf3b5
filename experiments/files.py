"""Folders and files of results; files are written atomically."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from generator.errors import InputError


def make_folder(out: Path) -> None:
    """Make the folder for results, the value of --out or a folder in it, unless it is there.

    Raises InputError if it cannot be made.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out {out} cannot be made: {error.strerror}; choose another folder") from None


def write_atomically(path: Path, content: str | bytes) -> None:
    """Replace `path` by `content` (text is written as UTF-8). A reader sees the old file or the new one, never a part.

    File names in `content` that the locale could not decode are written as their original bytes.

    Raises:
        OSError: the file cannot be written; `filename` is `path`.
    """
    data = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        new.unlink(missing_ok=True)  # a link with this name could lead out of the directory
        with new.open("xb") as file:
            file.write(data)
        new.replace(path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        with suppress(OSError):  # a read-only directory, in which it was not created
            new.unlink(missing_ok=True)
