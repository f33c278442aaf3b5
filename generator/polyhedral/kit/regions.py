"""Boxes of coordinates: those that a stage of a pipeline computes, and those that its expressions access.

Exact, by isl, for affine coordinates; otherwise `NotAffine` is raised.
"""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from generator.expr import Expr
from generator.polyhedral.kit.affine import Iteration, Reading, holds, top
from generator.polyhedral.kit.wrapping import wrapped


def box(iterators: Sequence[str], ranges: Sequence[tuple[int, int]]) -> Iteration:
    """Return all points with `low <= iterator <= high` for the (low, high) of each iterator, outermost first."""
    at = top()
    for iterator in iterators:
        at = at.enter(iterator)
    domain = at.domain
    for dim, (low, high) in enumerate(ranges):
        domain = domain.lower_bound_val(isl.dim_type.set, dim, isl.Val(low))
        domain = domain.upper_bound_val(isl.dim_type.set, dim, isl.Val(high))
    return Iteration(at.iterators, domain)


def where(condition: Expr, at: Iteration) -> Iteration:
    """Return the points of `at` at which `condition` holds. Raises NotAffine."""
    return at.restrict(holds(condition, at))


def is_empty(at: Iteration) -> bool:
    """Return whether there is no point."""
    return bool(at.domain.is_empty())


def value_range(expr: Expr, at: Iteration) -> tuple[int, int] | None:
    """Return the least and the greatest value of an integer expression at the points of `at`; None if it may wrap
    around.

    Raises:
        NotAffine: it is not an affine function of the iterators.
    """
    reading = Reading(at)
    value = reading.value(expr).intersect_domain(at.domain)
    wrong = wrapped(expr, reading.value, lambda part: holds(part, at))
    if wrong is not None and not wrong.intersect(at.domain).is_empty():
        return None
    return int(value.min_val().to_python()), int(value.max_val().to_python())
