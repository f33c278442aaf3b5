"""The number of integer points of a set: exact for boxes, otherwise within about a percent by sampling slices."""

from __future__ import annotations

from typing import Any

import islpy as isl

from generator.polyhedral.kit.members import ends_along

SLICES = 33


def points(one: Any) -> float:
    """Return the number of integer points of a bounded isl Set without parameters."""
    disjoint = one.make_disjoint().compute_divs()
    return sum(_points(part.to_set()) for part in disjoint.get_basic_sets())


def _points(part: Any) -> float:
    """Count slices along the first dimension: the middle value of each of `SLICES` equal parts represents its part.

    A dimension with stride n has as many slices as values.
    """
    if part.is_empty():
        return 0.0
    count = part.dim(isl.dim_type.set)
    if count == 0:
        return 1.0
    if part.is_box():
        widths = [ends_along(part, dim) for dim in range(count)]
        return float(_product(high - low + 1 for low, high in widths))
    low, high = ends_along(part, 0)
    stride = part.project_out(isl.dim_type.set, 1, count - 1).get_stride(0).to_python()  # whatever the others are
    values = (high - low) // stride + 1  # both are values of the dimension
    slices = min(values, SLICES)
    middles = [low + stride * ((2 * k + 1) * values // (2 * slices)) for k in range(slices)]
    found = sum(_points(part.fix_val(isl.dim_type.set, 0, isl.Val(x)).project_out(isl.dim_type.set, 0, 1))
                for x in middles)
    return float(found * values / slices)


def _product(numbers: Any) -> int:
    total = 1
    for number in numbers:
        total *= number
    return total
