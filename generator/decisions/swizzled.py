"""Swizzled arrays: shared copies whose elements are permuted within each row, against bank conflicts (ours).

The alternative to padding that takes no memory: the column of an element is combined with its row by XOR. See
`generator.lowering.memory.swizzle`. It costs an instruction or two per access, so it is offered for each array alone.
"""

from __future__ import annotations

from math import prod

from generator.decisions.array_sets import SORTED_NAMES, Arrays, arrays_text
from generator.decisions.as_texts import TextsDecision
from generator.decisions.base import Known, Offer, Row
from generator.decisions.inner_tile import INNER_TILE
from generator.decisions.padding import PADDING
from generator.decisions.shared import SHARED
from generator.decisions.sizes import SIZES
from generator.decisions.uncopied import UNCOPIED
from generator.decisions.vector import VECTOR


def _offer(known: Known) -> Offer[Arrays]:
    """Offered for copies without padding whose rows it permutes, where a block has several threads.

    Kernels that compute stages have tiles of other sizes at some levels, which are decided later.
    """
    sizes = known[SIZES]
    plain = known.wide and known[SHARED] and not known[PADDING] and not known.shape.computes
    if not plain or known.target.shares_host_cores or prod(sizes.block) == 1:
        return Offer(((),))
    arrays = known.shape.swizzlable(sizes.tile, known[INNER_TILE], known[VECTOR], known[UNCOPIED])
    offered = dict.fromkeys([(), *((array,) for array in arrays), arrays])
    return Offer(tuple(offered), ((PADDING.name, 0), ("arrays", arrays_text(arrays))))


SWIZZLED = TextsDecision[Arrays](
    "swizzled",
    "swizzled arrays",
    (),
    SORTED_NAMES,
    _offer,
    Row(
        "no array, one, or all whose copies have rows of a multiple of two accesses",
        "the columns of these copies are combined with the rows by XOR, against bank conflicts: instead of padding, "
        "without memory, and with aligned vectors ([more](copies.md#padding-or-swizzle))",
        "wide, on GPUs, copies without padding",
    ),
    arrays_text,
    younger=True,
)
