"""Streaming stores: arrays that a kernel writes past the caches (ours).

An ordinary store first reads its cache line from memory, to own it, and later evicts another line. A non-temporal store
of whole lines does neither: a kernel limited by memory then moves less data. But a later kernel finds nothing of the
array in the caches, so it only pays for arrays that would not stay there. See `generator.emit.streams`.
"""

from __future__ import annotations

from math import prod

from generator.decisions.array_sets import SORTED_NAMES, Arrays, arrays_text
from generator.decisions.as_texts import TextsDecision
from generator.decisions.base import Known, Offer, Row
from generator.decisions.diagonals import DIAGONALS
from generator.decisions.in_registers import IN_REGISTERS
from generator.decisions.jam import JAM
from generator.decisions.products import PRODUCTS
from generator.decisions.shape import Shape
from generator.decisions.sizes import SIZES
from generator.target import Target

LEAST_SHARE = 4
"""Offered from a quarter of the last-level cache on: a copy was faster from half of it on (docs/sums_and_stores.md),
and other kernels read more.
"""


def exceeding(shape: Shape, target: Target, share: int = LEAST_SHARE) -> Arrays:
    """Return the arrays of which one launch writes at least `1 / share` of the last-level cache, and reads nothing."""
    if not target.cache_bytes:
        return ()
    return tuple(sorted(name for name, size in shape.written if size * share >= target.cache_bytes))


def _offer(known: Known) -> Offer[Arrays]:
    """All of these arrays or none; on CPUs only where a thread is alone in its block, so that it writes whole rows."""
    alone = prod(known[SIZES].block) == 1
    others = known[DIAGONALS] or known[IN_REGISTERS] or known[JAM] or known[PRODUCTS] != PRODUCTS.default
    if not known.wide or others or (known.target.shares_host_cores and not alone):
        return Offer(((),))
    arrays = exceeding(known.shape, known.target)
    return Offer(((), arrays) if arrays else ((),), (("arrays", arrays_text(arrays)),))


STREAMED = TextsDecision[Arrays](
    "streamed",
    "streaming stores",
    (),
    SORTED_NAMES,
    _offer,
    Row(
        "no array, or all that the kernel writes and does not read, and of which one launch writes at least a quarter "
        "of the last-level cache",
        "these arrays are written past the caches (non-temporal stores, `__stcs` in CUDA)",
        "wide; on CPUs, blocks of one thread",
    ),
    arrays_text,
    younger=True,
)
