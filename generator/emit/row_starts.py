"""Elements of local arrays, addressed from the start of their row: `(a + i * 512)[j]` instead of `a[i * 512 + j]`.

Intel's CPU compiler makes no vectors of loops along rows whose length is a power of two, if they are in shared memory
or in a thread's own arrays: a blur takes up to fifteen times as long with rows of 512 elements as with rows of 640
(docs/compilers.md). Both forms are the same address.
"""

from __future__ import annotations

from generator.expr import Binary, Expr, Int, Unary

LEAST = 32
"""The length of the shortest rows that matter: one vector of 16-bit elements."""


def from_row_start(index: Expr) -> tuple[Expr, Expr] | None:
    """Return the start of the row and the position in it, whose sum is `index`; None if it has no rows of a power of
    two.
    """
    match index:
        case Binary("+" | "-" as op, left, right):
            if _is_start(left):
                return left, right if op == "+" else Unary("-", right)
            if (found := from_row_start(left)) is not None:
                return found[0], Binary(op, found[1], right)
    return None


def _is_start(expr: Expr) -> bool:
    match expr:
        case Binary("*", _, Int(length)):
            return length >= LEAST and length & (length - 1) == 0
        case _:
            return False
