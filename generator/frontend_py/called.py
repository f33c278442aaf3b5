"""Names and numbers that may be called: `f.name()` and `t.bits()`, as in Halide, mean what `f.name` and `t.bits` mean.
"""

from __future__ import annotations


class Word(str):
    """A text that gives itself when it is called."""

    __slots__ = ()

    def __call__(self) -> str:
        """The text."""
        return str(self)


class Count(int):
    """A number that gives itself when it is called."""

    __slots__ = ()

    def __call__(self) -> int:
        """The number."""
        return int(self)
