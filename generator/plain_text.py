"""Text that somebody else may have written, before it is shown on a terminal or put into generated code."""

from __future__ import annotations

MOST = 200
"""Characters of a comment that are kept."""


def printable(text: str) -> str:
    """`text` with `?` for control characters but newlines and tabs: what a terminal shows and does not obey.

    Bytes of names that this process's locale could not decode stay as they are (surrogates, PEP 383).
    """
    return "".join(c if c.isprintable() or c in "\n\t" or "\udc80" <= c <= "\udcff" else "?" for c in text)


def one_line(text: str) -> str:
    """`text` as the end of a `//` comment: one line of printable characters that no next line can belong to."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    line = line if len(line) <= MOST else f"{line[:MOST - 3]}..."
    return line.rstrip("\\/? ") if line.endswith(("\\", "??/")) else line
