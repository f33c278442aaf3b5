"""The location of a user's wisdom database."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "ANTUNE_WISDOM"
OFF = "off"


def wisdom_file() -> Path | None:
    """Return the path of the database: $ANTUNE_WISDOM, else antune/wisdom.sqlite below $XDG_DATA_HOME or
    ~/.local/share.

    None if $ANTUNE_WISDOM is `off` or there is no home directory.
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
