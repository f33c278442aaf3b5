"""The rows of a stage that a tile needs: equally many for each tile, from a first row that moves with the tile.

A subscript is interpreted as a function of one `point`, a place along a dimension of the reading stage (or output). In
tile `b` the row `r` of that dimension is at `step * b + low + r`, so that `2 * point + 1` is at `2 * step * b + ..`,
and `point / 2` at `step / 2 * b + ..` if the step is even.
"""

from __future__ import annotations

from dataclasses import dataclass

from generator.expr import Binary, Expr, Int, Name, Unary, names_of
from generator.linear import simplify

_POINT = "point "


def point(k: int) -> Name:
    """Return a place along dimension `k` of what is computed, as an array index; no program has such a name."""
    return Name(f"{_POINT}{k}")


@dataclass(frozen=True, slots=True)
class Span:
    """`size` elements from `step * b + low` on, where b is the number of the tile along dimension `dim` of the kernel.

    They are the same in all tiles if `dim` is None.
    """

    dim: int | None
    step: int
    low: int
    size: int

    def hull(self, other: Span) -> Span | None:
        """Return the hull of both; None if they move differently."""
        if (self.dim, self.step) != (other.dim, other.step):
            return None
        low = min(self.low, other.low)
        return Span(self.dim, self.step, low, max(self.low + self.size, other.low + other.size) - low)


def point_in(index: Expr) -> int | None:
    """Return the dimension whose point a subscript depends on; None for a number.

    Raises ValueError for other names, and for several points.
    """
    names = sorted(names_of(index))
    if not names:
        return None
    if len(names) > 1 or not names[0].startswith(_POINT):
        raise ValueError(f"{index} is not a function of one point")
    return int(names[0].removeprefix(_POINT))


def offset_in(index: Expr) -> tuple[int, int] | None:
    """Return the dimension and the distance of a subscript `point + distance`; None for any other."""
    k = point_in(index)
    far = simplify(Binary("-", index, point(k))) if k is not None else None
    return (k, far.value) if k is not None and isinstance(far, Int) else None


def needed(index: Expr, spans: tuple[Span, ...]) -> Span | None:
    """Return what a subscript reads over all rows of its point; None if that moves differently from tiles."""
    k = point_in(index)
    if k is None:
        value = value_in(index, None, 0)
        return None if value is None else Span(None, 0, value[1], 1)
    if (far := offset_in(index)) is not None:
        return Span(spans[k].dim, spans[k].step, spans[k].low + far[1], spans[k].size)
    values = [value_in(index, spans[k], row) for row in range(spans[k].size)]
    steps, rows = {value[0] for value in values if value}, [value[1] for value in values if value]
    if None in values or len(steps) != 1:
        return None
    [step] = steps
    return Span(spans[k].dim, step, min(rows), max(rows) - min(rows) + 1)


def value_in(index: Expr, span: Span | None, row: int) -> tuple[int, int] | None:
    """Return a subscript at a row, as the factor of the tile's number and a constant; None if it is no such sum."""
    match index:
        case Int(value):
            return 0, value
        case Name():
            return None if span is None else (span.step, span.low + row)
        case Unary("-", operand):
            inside = value_in(operand, span, row)
            return inside and (-inside[0], -inside[1])
        case Binary(op, left, right):
            a, b = value_in(left, span, row), value_in(right, span, row)
            return None if a is None or b is None else _combined(op, a, b)
        case _:
            return None


def _combined(op: str, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int] | None:
    """Combine values; quotients and remainders as for numbers from 0 on, because there are no negative indices."""
    match op:
        case "+":
            return a[0] + b[0], a[1] + b[1]
        case "-":
            return a[0] - b[0], a[1] - b[1]
        case "*" if not a[0] or not b[0]:
            return a[0] * b[1] + a[1] * b[0], a[1] * b[1]
        case "/" if not b[0] and b[1] > 0 and a[0] % b[1] == 0:
            return a[0] // b[1], a[1] // b[1]
        case "%" if not b[0] and b[1] > 0 and a[0] % b[1] == 0:
            return 0, a[1] % b[1]
        case _:
            return None
