"""Locations of syntax trees in the user's files."""

from __future__ import annotations

from typing import Any

from generator.errors import Location


def where(node: Any) -> Location | None:
    """Return the location of a syntax tree node."""
    coord = getattr(node, "coord", None)
    return Location(str(coord.file), int(coord.line)) if coord else None
