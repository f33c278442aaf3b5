"""Names and numbers that may be called: `f.name()` and `t.bits()`, as in Halide, are the same as `f.name` and `t.bits`.
"""

from __future__ import annotations


class Word(str):
    """A text that returns itself when called."""

    __slots__ = ()

    def __call__(self) -> str:
        """The text."""
        return str(self)


class Count(int):
    """A number that returns itself when called."""

    __slots__ = ()

    def __call__(self) -> int:
        """The number."""
        return int(self)
