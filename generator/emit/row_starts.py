"""Elements of local arrays, addressed from the start of their row: `(a + i * 512)[j]` instead of `a[i * 512 + j]`.

Intel's CPU compiler makes no vectors of loops along rows whose length is a power of two, if they are in shared memory
or in a thread's own arrays: a blur takes ten times as long with rows of 512 elements as with rows of 640
(docs/compilers.md). Both forms are the same address if subscripts are signed; unsigned ones wrap around as a whole.
"""

from __future__ import annotations

from generator.expr import Binary, Expr, Int, Name, Unary, parts

LEAST = 32
"""The length of the shortest rows that matter: one vector of 16-bit elements."""


def from_row_start(index: Expr) -> tuple[Expr, Expr] | None:
    """Return the start of the row and the position in it, whose sum is `index`; None if it has no rows of a power of
    two, or may be unsigned.
    """
    return _split(index) if all(_is_int(part) for part in parts(index)) else None


def _is_int(part: Expr) -> bool:
    """Return whether a part of a subscript is an `int`; elements and results of functions may be of other types."""
    match part:
        case Name():
            return part.type == "int"
        case _:
            return isinstance(part, Int | Unary | Binary)


def _split(index: Expr) -> tuple[Expr, Expr] | None:
    match index:
        case Binary("+" | "-" as op, left, right):
            if _is_start(left):
                return left, right if op == "+" else Unary("-", right)
            if (found := _split(left)) is not None:
                return found[0], Binary(op, found[1], right)
    return None


def _is_start(expr: Expr) -> bool:
    match expr:
        case Binary("*", _, Int(length)):
            return length >= LEAST and length & (length - 1) == 0
        case _:
            return False
