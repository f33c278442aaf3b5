"""The box of an array that holds all that a block, or a tile inside of it, touches.

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

    `slides`: in this dimension alone, and forwards, does the box move from step to step of a block (`WALK`).
    """

    array: str
    corner: tuple[Expr, ...]
    sizes: tuple[int, ...]
    slides: int | None = None


def tile_box(array: str, touched: Any, ranges: Ranges, extents: tuple[int, ...], always: bool,
             numbers: Any = None) -> tuple[TileBox, Any]:
    """The box for what is `touched`, an isl Map from values of `ranges` to elements; and such a Map for all of the box.

    That Map is read back from the expressions of the corner, and compared with what is touched. `always`: the box is
    computed even where nothing is touched, so it must exist there, too (for `numbers`, an isl Set, if not for all).

    Raises:
        IllegalPlan: the box does not hold it (never seen; checked because wrong results would come of it).
    """
    lows = [touched.dim_min(d) for d in range(len(extents))]
    sizes = tuple(1 + value_range(touched.dim_max(d).sub(low))[1] for d, low in enumerate(lows))
    context, names = box_context(ranges), _named([name for name, _, _ in ranges])
    corner = tuple(_expression(_at_most(low.coalesce(), n - size).coalesce(), context, names)
                   for low, n, size in zip(lows, extents, sizes, strict=True))
    found = TileBox(array, corner, sizes)
    at = region([name for name, _, _ in ranges], [(low, high) for _, low, high in ranges])
    where = numbers if always else touched.domain()
    elements = _elements(found, at if where is None else at.restrict(where), extents)
    if not touched.is_subset(elements):
        raise IllegalPlan(f"a block would not hold all that it touches of `{array}`")
    return found, elements


def _at_most(value: Any, most: int) -> Any:
    zero = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(value.domain().get_space()))
    return value.min(isl.PwAff.from_aff(zero.set_constant_val(isl.Val(most))))


def _named(names: Sequence[str]) -> Any:
    """The isl MultiPwAff of parameters with these names; None for none."""
    return isl.MultiPwAff(f"[{', '.join(names)}] -> {{ [{', '.join(f'({n})' for n in names)}] }}") if names else None


def _expression(value: Any, context: Any, names: Any) -> Expr:
    """A PwAff of the numbers as an expression of their `names`, of which `context` is known."""
    if names is not None:
        value = value.pullback_multi_pw_aff(names)
    return expression(isl.AstBuild.from_context(context).expr_from_pw_aff(value.gist_params(context)))


def _elements(box: TileBox, at: Iteration, extents: tuple[int, ...]) -> Any:
    """All elements of `box`, as its printed corner says. Raises IllegalPlan if one of them does not exist."""
    result = isl.Map.universe(isl.Space.alloc(isl.DEFAULT_CONTEXT, 0, len(at.iterators), 0)).intersect_domain(at.domain)
    for first, size, extent in zip(box.corner, box.sizes, extents, strict=True):
        start = affine(first, at).intersect_domain(at.domain)
        low, high = value_range(start)
        if low < 0 or high + size > extent:
            raise IllegalPlan(f"a block would hold elements of `{box.array}` that do not exist")
        result = result.flat_range_product(isl.Map.from_pw_aff(start).apply_range(
            isl.Map(f"{{ [i] -> [o] : i <= o < i + {size} }}")))
    return result.set_tuple_name(isl.dim_type.out, box.array)
