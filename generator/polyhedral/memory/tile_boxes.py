"""The box of an array that contains all accesses of a block, or of a tile inside of it.

Its corner depends on the numbers of block and tile, its size does not: near the end of the array the corner moves back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import islpy as isl

from generator.errors import IllegalPlan
from generator.expr import Expr
from generator.polyhedral.kit.affine import Iteration, affine
from generator.polyhedral.kit.ast import box_context, expression
from generator.polyhedral.kit.members import value_range
from generator.polyhedral.kit.regions import box as region

Ranges: TypeAlias = Sequence[tuple[str, int, int]]
"""Names of host iterators, block indices and tile numbers, with the first and the last value of each."""


@dataclass(frozen=True, slots=True)
class TileBox:
    """The elements of `array` from `corner` on, `sizes` many in each dimension; all of them exist.

    `slides`: the only dimension in which the box moves from step to step of a block (`WALK`), forwards.
    """

    array: str
    corner: tuple[Expr, ...]
    sizes: tuple[int, ...]
    slides: int | None = None


def tile_box(array: str, touched: Any, ranges: Ranges, extents: tuple[int, ...], always: bool,
             numbers: Any = None) -> tuple[TileBox, Any]:
    """Return the box for `touched`, an isl Map from values of `ranges` to elements; and such a Map for the whole box.

    That Map is read back from the expressions of the corner, and compared with `touched`. `always`: the box is computed
    even where nothing is accessed, so it must exist there, too (for `numbers`, an isl Set, if not for all).

    Raises:
        IllegalPlan: the box does not contain it (never seen; checked because results would be wrong).
    """
    lows = [touched.dim_min(d) for d in range(len(extents))]
    sizes = tuple(1 + value_range(touched.dim_max(d).sub(low))[1] for d, low in enumerate(lows))
    kept = [_at_most(low.coalesce(), n - size) for low, n, size in zip(lows, extents, sizes, strict=True)]
    found = TileBox(array, corner_of(kept, ranges), sizes)
    where = numbers if always else touched.domain()
    elements = elements_of(found, ranges, where, extents)
    if not touched.is_subset(elements):
        raise IllegalPlan(f"a block would not hold all that it touches of `{array}`")
    return found, elements


def numbers_of(ranges: Ranges) -> Iteration:
    """Return all numbers in `ranges`."""
    return region([name for name, _, _ in ranges], [(low, high) for _, low, high in ranges])


def corner_of(lows: Sequence[Any], ranges: Ranges) -> tuple[Expr, ...]:
    """Return isl PwAffs of the numbers of `ranges` as expressions of their names."""
    context, names = box_context(ranges), _named([name for name, _, _ in ranges])
    return tuple(_expression(low.coalesce(), context, names) for low in lows)


def _at_most(value: Any, most: int) -> Any:
    zero = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(value.domain().get_space()))
    return value.min(isl.PwAff.from_aff(zero.set_constant_val(isl.Val(most))))


def _named(names: Sequence[str]) -> Any:
    """Return the isl MultiPwAff of parameters with these names; None if there are none."""
    return isl.MultiPwAff(f"[{', '.join(names)}] -> {{ [{', '.join(f'({n})' for n in names)}] }}") if names else None


def _expression(value: Any, context: Any, names: Any) -> Expr:
    """Return a PwAff of the numbers as an expression of their `names`, simplified for `context`."""
    if names is not None:
        value = value.pullback_multi_pw_aff(names)
    return expression(isl.AstBuild.from_context(context).expr_from_pw_aff(value.gist_params(context)))


def elements_of(box: TileBox, ranges: Ranges, where: Any | None, extents: tuple[int, ...] | None) -> Any:
    """Return the isl Map from the numbers of `ranges`, those in the isl Set `where`, to the elements of `box` according
    to its printed corner.

    Raises IllegalPlan if one of them does not exist in an array of `extents` (None: some need not exist).
    """
    at = numbers_of(ranges)
    at = at if where is None else at.restrict(where)
    result = isl.Map.universe(isl.Space.alloc(isl.DEFAULT_CONTEXT, 0, len(at.iterators), 0)).intersect_domain(at.domain)
    for d, (first, size) in enumerate(zip(box.corner, box.sizes, strict=True)):
        start = affine(first, at).intersect_domain(at.domain)
        if extents is not None:
            low, high = value_range(start)
            if low < 0 or high + size > extents[d]:
                raise IllegalPlan(f"a block would hold elements of `{box.array}` that do not exist")
        result = result.flat_range_product(isl.Map.from_pw_aff(start).apply_range(
            isl.Map(f"{{ [i] -> [o] : i <= o < i + {size} }}")))
    return result.set_tuple_name(isl.dim_type.out, box.array)
