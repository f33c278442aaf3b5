"""Where a user's wisdom lies."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "ANTUNE_WISDOM"
OFF = "off"


def wisdom_file() -> Path | None:
    """The database: what $ANTUNE_WISDOM names, else antune/wisdom.sqlite below $XDG_DATA_HOME or ~/.local/share; None
    where $ANTUNE_WISDOM is `off`, or there is no home.
    """
    named = os.environ.get(VARIABLE)
    if named == OFF:
        return None
    if named:
        return Path(named).absolute()
    try:
        return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "antune" / "wisdom.sqlite"
    except RuntimeError:
        return None
