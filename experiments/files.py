"""Writing the files of a run directory: each appears whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def write_atomically(path: Path, content: str | bytes) -> None:
    """Replace `path` by `content` (text is UTF-8): a reader sees the old file or the new one, never a part."""
    data = content.encode() if isinstance(content, str) else content
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        new.write_bytes(data)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)
