"""Locations in the user's file."""

from __future__ import annotations

import sys
from pathlib import Path

from generator.errors import Location

_HERE = str(Path(__file__).parent)


def here() -> Location:
    """Return the location in the user's file from which the language was called."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    return Location(frame.f_code.co_filename, frame.f_lineno)
