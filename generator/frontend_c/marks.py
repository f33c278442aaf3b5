"""Loops without pragmas: the positions of `#pragma scop` and `#pragma endscop` in the text of the file.

All later stages use a copy of the text with the pragmas, as `_Pragma` operators on the lines of the loops: all lines
keep their numbers, and the user's file is not changed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_HIDDEN = re.compile(
    r"""//(?:\\\n|[^\n])*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|^[ \t]*\#(?:\\\n|[^\n])*""",
    re.DOTALL | re.MULTILINE,
)
_HEAD = re.compile(r"\s*(?:(for|while|if|switch)\s*\(|(do|else)\b)")
_LOOP = re.compile(r"[ \t]*for\b")


@dataclass(frozen=True, slots=True)
class Marks:
    """Positions in a file's text: that of the first loop's `for`, and the end of the last loop."""

    start: int
    end: int

    def put(self, text: str) -> str:
        """Return `text` with the pragmas."""
        return f'{text[:self.start]}_Pragma("scop") {text[self.start:self.end]} _Pragma("endscop"){text[self.end:]}'


def marks_of(text: str, first_line: int, last_line: int) -> Marks | None:
    """Return marks around the loops that begin on these lines (the last of them on `last_line`).

    None if a line does not begin with `for`.
    """
    code = _HIDDEN.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    starts = [0, *(found.end() for found in re.finditer(r"\n", code))]
    if last_line > len(starts):
        return None
    first, last = (_LOOP.match(code, starts[line - 1]) for line in (first_line, last_line))
    if first is None or last is None:
        return None
    end = _behind(code, last.end() - len("for"))
    return None if end is None else Marks(first.end() - len("for"), end)


def _behind(code: str, at: int) -> int | None:
    """Return the end of the statement that begins at `at`, in text without comments, strings and directives."""
    head = _HEAD.match(code, at)
    if head is None:
        return _behind_plain(code, at)
    if head[2]:  # `do` is followed by `while (...);`
        inner = _behind(code, head.end())
        return _behind_plain(code, inner) if inner is not None and head[2] == "do" else inner
    opened = _closed(code, head.end() - 1)
    inner = _behind(code, opened) if opened is not None else None
    other = re.compile(r"\s*else\b").match(code, inner) if inner is not None and head[1] == "if" else None
    return _behind(code, other.end()) if other else inner


def _behind_plain(code: str, at: int) -> int | None:
    """Return the end of a block, or of any other statement with its `;`."""
    while at < len(code) and code[at].isspace():
        at += 1
    if code[at:at + 1] == "{":
        return _closed(code, at)
    while at < len(code) and code[at] != ";":
        after = _closed(code, at) if code[at] in "([{" else at + 1
        if after is None or code[at] in ")]}":
            return None
        at = after
    return at + 1 if at < len(code) else None


def _closed(code: str, at: int) -> int | None:
    """Return the position after the bracket that closes the one at `at`."""
    depth = 0
    for found in re.compile(r"[(){}\[\]]").finditer(code, at):
        depth += 1 if found[0] in "({[" else -1
        if depth == 0:
            return found.end()
    return None
