"""Affine functions with floors, as `x // 2 + x % 100`, as a linear part and the range of the rest.

A floor of an expression differs from the expression by less than 1, periodically. If all floors together have a short
period, the rest is computed at all points of one, so its range is exact. Otherwise the range is that of each floor by
itself, which may be too wide, but never too narrow.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import floor, lcm
from typing import Any, TypeAlias

import islpy as isl

_MOST_POINTS = 1024
"""The most points of a period that are computed."""
_Range: TypeAlias = tuple[Fraction, Fraction]


@dataclass(frozen=True, slots=True)
class _Form:
    """`constant + slopes . x + floors . f`, where f are the floors before it."""

    constant: Fraction
    slopes: tuple[Fraction, ...]
    floors: tuple[Fraction, ...]

    @property
    def divisor(self) -> int:
        """The least number whose multiple of the form is an integer everywhere."""
        return lcm(*(one.denominator for one in (self.constant, *self.slopes, *self.floors)))

    def at(self, point: tuple[int, ...], floors: list[int]) -> Fraction:
        """Return its value at a point, where the floors are known."""
        total = self.constant + sum(s * x for s, x in zip(self.slopes, point, strict=True))
        return total + sum(factor * value for factor, value in zip(self.floors, floors, strict=False))


def linear_part(aff: Any) -> tuple[tuple[float, ...], float, float]:
    """Return the slopes of an isl Aff along its dimensions, and the least and the largest difference from these."""
    count, number = aff.dim(isl.dim_type.in_), aff.dim(isl.dim_type.div)
    floors = [_form(aff.get_div(k), count, k) for k in range(number)]
    whole = _form(aff, count, number)
    used = _used(whole, floors)
    linear = _linear(whole, floors, count)
    period = lcm(*(_period(floors, k) for k in used))
    dims = [d for d in range(count) if any(_moves(floors, k, d) for k in used)]
    if period ** len(dims) <= _MOST_POINTS:
        low, high = _sampled(whole, floors, linear, dims, period)
    else:
        low, high = _range(whole, floors)
    return tuple(map(float, linear)), float(low), float(high)


def _form(aff: Any, count: int, number: int) -> _Form:
    """Return an isl Aff of `count` dimensions, whose first `number` floors it may have."""
    return _Form(
        _fraction(aff.get_constant_val()),
        tuple(_fraction(aff.get_coefficient_val(isl.dim_type.in_, d)) for d in range(count)),
        tuple(_fraction(aff.get_coefficient_val(isl.dim_type.div, k)) for k in range(number)),
    )


def _fraction(value: Any) -> Fraction:
    return Fraction(value.get_num_si(), value.get_den_val().get_num_si())


def _used(whole: _Form, floors: list[_Form]) -> list[int]:
    """Return the floors that a form has, directly or inside others."""
    waiting, found = [k for k, factor in enumerate(whole.floors) if factor], set[int]()
    while waiting:
        k = waiting.pop()
        if k not in found:
            found.add(k)
            waiting += [j for j, factor in enumerate(floors[k].floors) if factor]
    return sorted(found)


def _linear(form: _Form, floors: list[_Form], count: int) -> tuple[Fraction, ...]:
    """Return the slopes of a form whose floors are replaced by what they round."""
    inside = [(factor, _linear(floors[k], floors, count)) for k, factor in enumerate(form.floors) if factor]
    return tuple(form.slopes[d] + sum(factor * slopes[d] for factor, slopes in inside) for d in range(count))


def _period(floors: list[_Form], k: int) -> int:
    """Return a distance along any dimension over which a floor changes by the same number from everywhere."""
    return floors[k].divisor * lcm(*(_period(floors, j) for j, factor in enumerate(floors[k].floors) if factor))


def _moves(floors: list[_Form], k: int, d: int) -> bool:
    """Return whether what a floor rounds depends on a dimension."""
    inside = (j for j, factor in enumerate(floors[k].floors) if factor)
    return bool(floors[k].slopes[d]) or any(_moves(floors, j, d) for j in inside)


def _sampled(whole: _Form, floors: list[_Form], linear: tuple[Fraction, ...], dims: list[int], period: int) -> _Range:
    """Return the range of the differences at all points of a period along these dimensions."""
    found = list[Fraction]()
    for residues in product(range(period), repeat=len(dims)):
        at = dict(zip(dims, residues, strict=True))
        point = tuple(at.get(d, 0) for d in range(len(linear)))
        values = list[int]()
        for one in floors:
            values.append(floor(one.at(point, values)))
        found.append(whole.at(point, values) - sum(s * x for s, x in zip(linear, point, strict=True)))
    return min(found), max(found)


def _range(form: _Form, floors: list[_Form]) -> _Range:
    """Return a range that contains all differences."""
    low = high = form.constant
    for k, factor in enumerate(form.floors):
        if factor:
            least, most = _range(floors[k], floors)
            ends = factor * (least - 1 + Fraction(1, floors[k].divisor)), factor * most
            low, high = low + min(ends), high + max(ends)
    return low, high
