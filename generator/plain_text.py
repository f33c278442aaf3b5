"""Sanitize text from outside before it is shown on a terminal or put into generated code."""

from __future__ import annotations

import shlex
from pathlib import Path

MOST = 200
"""The maximum number of characters of a comment."""


def printable(text: str) -> str:
    """Return `text` with `?` for control characters except newlines and tabs, so that a terminal only displays it.

    Bytes of names that this process's locale could not decode are kept (surrogates, PEP 383).
    """
    return "".join(c if c.isprintable() or c in "\n\t" or "\udc80" <= c <= "\udcff" else "?" for c in text)


def one_line(text: str) -> str:
    """Return `text` as a `//` comment: one line of printable characters that does not continue on the next line."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    line = line if len(line) <= MOST else f"{line[:MOST - 3]}..."
    return line.rstrip("\\/? ") if line.endswith(("\\", "??/")) else line


def path_word(path: Path | str) -> str:
    """Return a path as a word that no command takes for an option, not quoted."""
    return f"./{path}" if str(path).startswith("-") else str(path)


def shell_word(path: Path | str) -> str:
    """Return a path as a word of a shell command: quoted if need be, and no option."""
    return shlex.quote(path_word(path))
