"""Stages of the whole tile: those that a block computes before its loops over steps and inner tiles (ours).

Halide's `compute_at`, where several loops of the consumer nest: at the loop over tiles, or at a loop inside that.
Usually a step or an inner tile computes what it needs of a stage, in a small box. For the whole tile, a stage takes
more room; but all threads have work at once, inner tiles that need the same elements do not compute them again, and
there are fewer barriers. Asked after sizes: the offered sets fit the tile.
"""

from __future__ import annotations

from generator.decisions.array_sets import SORTED_NAMES, Arrays, arrays_text
from generator.decisions.as_texts import TextsDecision
from generator.decisions.base import Known, Offer, Row
from generator.decisions.products import PRODUCTS
from generator.decisions.shape import Shape
from generator.decisions.size_lists import INNER_TILES
from generator.decisions.sizes import SIZES
from generator.decisions.walk import WALK


def _offer(known: Known) -> Offer[Arrays]:
    """Each stage with those that it is computed from; all of them only before inner tiles, as there is no step without
    any.
    """
    shape, walk = known.shape, known[WALK]
    tilable = shape.sequential and not shape.skewed
    if not (known.wide and shape.computes) or known[PRODUCTS] != PRODUCTS.default or not (walk or tilable):
        return Offer(((),))
    inner = 1 if walk else min(t for t in INNER_TILES if t > 1)
    every = {name for names in shape.apart for name in names}
    offered = tuple(names for names in shape.apart if not (walk and set(names) == every)
                    and shape.holding(names).shared_bytes(known[SIZES].tile, inner, copies=False)
                    <= known.target.local_bytes)
    return Offer(((), *offered), (("offered", " ".join(map(arrays_text, offered))),))


class _Whole(TextsDecision[Arrays]):
    """Later decisions see the kernel with boxes of the whole tile for these stages."""

    def turned(self, shape: Shape, value: Arrays) -> Shape:
        """See KernelDecision."""
        return shape.holding(value) if value else shape


WHOLE = _Whole(
    "whole",
    "stages of the whole tile",
    (),
    SORTED_NAMES,
    _offer,
    Row(
        "no stage, or one of the `block` stages with those that it is computed from",
        "a block computes these stages for its whole tile before it begins with steps (`walk`) or inner tiles, and the "
        "others for each step or inner tile",
        "wide, kernels with `block` stages, if there is room",
    ),
    arrays_text,
    younger=True,
)
