"""Where antune keeps what is worth keeping between runs."""

from __future__ import annotations

import os
from pathlib import Path


def user_cache() -> Path:
    """The folder of antune in the user's cache: below $XDG_CACHE_HOME, or ~/.cache. Raises RuntimeError where there
    is no home.
    """
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "antune"
