"""Locations of syntax trees in the user's files, and names of files in C.

Preprocessors write names as strings of C: a line break is `\\n`, and letters that are not ASCII are octal with clang.
"""

from __future__ import annotations

import re
from typing import Any

from generator.errors import Location

_ESCAPE = re.compile(rb"\\([0-7]{1,3}|.)", re.DOTALL)
_NAMED = {b"n": b"\n", b"t": b"\t"}


def where(node: Any) -> Location | None:
    """Return the location of a syntax tree node."""
    coord = getattr(node, "coord", None)
    return Location(file_of(node), int(coord.line)) if coord else None


def file_of(node: Any) -> str:
    """Return the file of a syntax tree node that has a location."""
    return from_c(str(node.coord.file))


def c_string(text: str) -> str:
    """Return a C string literal."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def from_c(text: str) -> str:
    """Return what the characters between the quotes of a C string mean."""
    if "\\" not in text:
        return text
    raw = _ESCAPE.sub(_meant, text.encode("utf-8", "surrogateescape"))
    return raw.decode("utf-8", "surrogateescape")


def _meant(escape: re.Match[bytes]) -> bytes:
    return bytes([int(escape[1], 8) & 255]) if escape[1][:1].isdigit() else _NAMED.get(escape[1], escape[1])
