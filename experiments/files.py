"""Writing the files of a run directory: each appears whole or not at all."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def write_atomically(path: Path, content: str | bytes) -> None:
    """Replace `path` by `content` (text is UTF-8): a reader sees the old file or the new one, never a part.

    Names of files that this process's locale could not decode come out as the bytes that they are.

    Raises:
        OSError: the file cannot be written; `filename` is `path`.
    """
    data = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        new.unlink(missing_ok=True)  # a link of that name in somebody else's directory would lead out of it
        with new.open("xb") as file:
            file.write(data)
        new.replace(path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        with suppress(OSError):  # a read-only place, where it was never made
            new.unlink(missing_ok=True)
