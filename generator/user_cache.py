"""The folder of the caches that antune keeps between runs."""

from __future__ import annotations

import os
from pathlib import Path


def user_cache() -> Path:
    """Return the folder of antune in $XDG_CACHE_HOME or ~/.cache. Raises RuntimeError if there is no home folder."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "antune"
