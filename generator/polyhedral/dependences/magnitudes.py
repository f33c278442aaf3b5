"""Check that the numbers from which a kernel computes its subscripts stay far within C's `int`.

Sets and relations describe subscripts as integers, but kernels compute them in `int`: `2147483647 * i / 2147483647` is
`i` for isl, and something else in a kernel. A stored program with intermediate numbers larger than `MOST` is not proven
to stay inside its arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import islpy as isl

from generator.arithmetic import c_type
from generator.expr import Binary, Expr, Int, Load, Name, Unary, children
from generator.intervals import Interval, Intervals
from generator.polyhedral.kit.members import ends

MOST = 2**28
"""An eighth of the range of `int`: tiles, skewed loops and rows of threads exceed the program's own numbers slightly.
"""
_IN, _SET, _DIV = isl.dim_type.in_, isl.dim_type.set, isl.dim_type.div


def small(expr: Expr, names: Mapping[str, Interval], ranges: Intervals) -> bool:
    """Return whether no sum or product in `expr` exceeds MOST, however it is rearranged.

    Elements of arrays count as 1: their values are bounded by `ranges`, which considers that they wrap around.
    """
    return all(_largest(part, names, ranges) <= MOST for part in _sums(expr))


def _sums(expr: Expr) -> Iterator[Expr]:
    """Yield the sums and products in `expr`, and their operands."""
    if isinstance(expr, Binary | Unary | Int):
        yield expr
    for child in children(expr):
        yield from _sums(child)


def _largest(expr: Expr, names: Mapping[str, Interval], ranges: Intervals) -> int:
    match expr:
        case Unary("-" | "+", operand):
            return _largest(operand, names, ranges)
        case Binary("+" | "-" | "*" as op, left, right) if not c_type(expr, ranges.types).startswith("unsigned"):
            one, two = _largest(left, names, ranges), _largest(right, names, ranges)
            return one * two if op == "*" else one + two
        case Int(value):
            return abs(value)
        case Name(name) if name in names:
            low, high = names[name]
            return int(max(abs(low), abs(high)))
        case Binary("/" | "%" | "min" | "max", left, right) if not _loads(expr):
            return max(_largest(left, names, ranges), _largest(right, names, ranges))
        case _:
            return 1


def _loads(expr: Expr) -> bool:
    return isinstance(expr, Load) or any(_loads(child) for child in children(expr))


def set_is_small(points: Any) -> bool:
    """Return whether the constraints of a bounded isl Set compare only numbers up to MOST."""
    if points.is_empty():
        return True
    reach = [max(abs(low), abs(high)) for low, high in ends(points)]
    return all(_piece_is_small(piece, reach) for piece in points.compute_divs().get_basic_sets())


def _piece_is_small(piece: Any, reach: Sequence[int]) -> bool:
    divs = _divs([piece.get_div(number) for number in range(piece.dim(_DIV))], reach)
    sums: list[int] = [
        sum(
            abs(constraint.get_coefficient_val(kind, at).to_python()) * bound
            for kind, bounds in ((_SET, reach), (_DIV, divs))
            for at, bound in enumerate(bounds)
        )
        + abs(constraint.get_constant_val().to_python())
        for constraint in piece.get_constraints()
    ]
    return max([0, *reach, *divs, *sums]) <= MOST


def function_is_small(function: Any) -> bool:
    """Return whether an isl PwAff over a bounded domain computes only numbers up to MOST."""
    found = True

    def visit(domain: Any, value: Any) -> None:
        nonlocal found
        if domain.is_empty():
            return
        reach = [max(abs(low), abs(high)) for low, high in ends(domain)]
        divs = _divs([value.get_div(number) for number in range(value.dim(_DIV))], reach)
        found = found and set_is_small(domain) and max([0, *divs, _reach(value, reach, divs)]) <= MOST

    function.foreach_piece(visit)
    return found


def _divs(values: Sequence[Any], reach: Sequence[int]) -> list[int]:
    """Return bounds of the dividends of some divisions, of which each may use the previous ones."""
    found: list[int] = []
    for value in values:
        found.append(_reach(value, reach, found))
    return found


def _reach(value: Any, reach: Sequence[int], divs: Sequence[int]) -> int:
    """Return a bound of the dividend of an isl Aff, or its divisor."""
    divisor = value.get_denominator_val()
    total = abs(value.get_constant_val().mul(divisor).to_python())
    for kind, bounds in ((_IN, reach), (_DIV, divs)):
        for at, bound in enumerate(bounds):
            total += abs(value.get_coefficient_val(kind, at).mul(divisor).to_python()) * bound
    return int(max(total, divisor.to_python()))
