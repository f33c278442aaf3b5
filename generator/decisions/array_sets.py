"""Sets of arrays as values of decisions."""

from __future__ import annotations

from typing import TypeAlias

from generator.forms import Form

Arrays: TypeAlias = tuple[str, ...]


def arrays_text(arrays: Arrays) -> str:
    """Return a set of arrays as an option, and for people."""
    return ", ".join(arrays) or "no array"


def _is_names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value) and value == sorted(set(value))


SORTED_NAMES = Form(_is_names, "a sorted list of names of arrays")
