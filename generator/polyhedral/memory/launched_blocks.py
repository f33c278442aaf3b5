"""Blocks that have work in one launch, as functions of the host loops around it.

A launch of a wavefront runs few of the blocks of all launches: `i + 2*t = c` has work for few tiles of i at each c.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import islpy as isl

from generator.expr import Binary, Expr, Int, Name
from generator.linear import combination, simplify
from generator.lowered_kernel import Blocks
from generator.polyhedral.kit.members import images
from generator.polyhedral.schedules.kernels import Dimension, KernelPart, dimension

_SET = isl.dim_type.set


def launched_blocks(part: KernelPart, tile: Sequence[int], prefix: Sequence[str]) -> tuple[Blocks, ...]:
    """Return the blocks of a launch along each parallel dimension, as functions of the host iterators `prefix`.

    All blocks with work are among them, and few others. Empty if that is the same for all launches. `tile`: the points
    of a block.
    """
    hosts = [dimension(member, part.domain) for member in part.prefix]
    found = [_blocks(_bounds(part, hosts, dim, prefix), dim, size)
             for dim, size in zip(part.parallel, tile, strict=True)]
    return tuple(found) if any(one.first != Int(0) or not isinstance(one.count, Int) for one in found) else ()


@dataclass(frozen=True, slots=True)
class _Bound:
    """`factor * point <= value` (or `>=`, if it is `lower`), for the numbers of points from 0 on. `least`: a number
    that is at most the value.
    """

    lower: bool
    factor: int
    value: Expr
    least: int


def _bounds(part: KernelPart, hosts: Sequence[Dimension], dim: Dimension, prefix: Sequence[str]) -> list[_Bound]:
    """Return bounds of the points of a launch along `dim` that do not hold for all launches."""
    points = images((*part.prefix, dim.member), part.domain, "launch")
    # one conjunction without divisions: it may have more points, which only costs time
    around = isl.Set.from_basic_set(points.remove_divs().simple_hull())
    box = isl.Set.universe(points.get_space())
    for place, one in enumerate((*hosts, dim)):
        box = box.lower_bound_val(_SET, place, isl.Val(one.low)).upper_bound_val(_SET, place, isl.Val(one.high))
    left = around.gist(box).get_basic_sets()
    constraints = left[0].get_constraints() if len(left) == 1 else []
    return [bound for constraint in constraints for bound in _of_constraint(constraint, dim.low, hosts, prefix)]


def _of_constraint(constraint: Any, low: int, hosts: Sequence[Dimension], prefix: Sequence[str]) -> Iterator[_Bound]:
    """Yield the bounds that an isl Constraint gives the last dimension; `low`: its least value."""
    factors = [int(constraint.get_coefficient_val(_SET, place).to_python()) for place in range(len(prefix) + 1)]
    own = factors.pop()
    if not own:
        return
    turn = -1 if own > 0 else 1  # 2*point + c >= 0 is 2*point >= -c
    rest = [turn * factor for factor in factors]
    constant = turn * (int(constraint.get_constant_val().to_python()) + own * low)
    value = combination(dict(zip(map(Name, prefix), rest, strict=True)), constant)
    least = constant + sum(min(n * host.low, n * host.high) for n, host in zip(rest, hosts, strict=True))
    for lower in (True, False) if constraint.is_equality() else (own > 0,):
        yield _Bound(lower, abs(own), value, least)


def _blocks(bounds: Sequence[_Bound], dim: Dimension, size: int) -> Blocks:
    """Return the blocks of `size` points within bounds."""
    if dim.high - dim.low < size:
        return Blocks(Int(0), Int(1))
    first: list[Expr] = []
    last: list[Expr] = [Int((dim.high - dim.low) // size)]
    for factor in sorted({bound.factor for bound in bounds}):
        lower = [b for b in bounds if b.lower and b.factor == factor]
        upper = [b.value for b in bounds if not b.lower and b.factor == factor]
        if lower:
            values = [*([Int(0)] if max(b.least for b in lower) < 0 else []), *(b.value for b in lower)]
            first.append(_over(simplify(Binary("+", reduce(_max, values), Int(factor - 1))), factor * size))
        if upper:  # rounded towards 0: at most one block more
            last.append(_over(reduce(_min, upper), factor * size))
    begin = reduce(_max, first) if first else Int(0)
    return Blocks(begin, simplify(Binary("+", Binary("-", reduce(_min, last), begin), Int(1))))


def _over(value: Expr, divisor: int) -> Expr:
    return value if divisor == 1 else Binary("/", value, Int(divisor))


def _max(left: Expr, right: Expr) -> Expr:
    return Binary("max", left, right)


def _min(left: Expr, right: Expr) -> Expr:
    return Binary("min", left, right)
