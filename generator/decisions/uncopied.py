"""Arrays without a copy: arrays that a block reads from global memory although it copies others (ours).

If a cache serves an array as well, a copy wastes memory, barriers and instructions.
"""

from __future__ import annotations

from itertools import combinations

from generator.decisions.array_sets import SORTED_NAMES, Arrays, arrays_text
from generator.decisions.as_texts import TextsDecision
from generator.decisions.base import Known, Offer, Row
from generator.decisions.shared import SHARED

_FEW = 3
"""Up to so many arrays, all choices are offered; for more arrays, none, one, or all but one without a copy."""


def _offer(known: Known) -> Offer[Arrays]:
    """Offered if several arrays may be copied; at least one is."""
    arrays = sorted(known.shape.shareable)
    if not (known.wide and known[SHARED] and len(arrays) > 1) or known.target.shares_host_cores:
        return Offer(((),))
    counts = range(len(arrays)) if len(arrays) <= _FEW else (0, 1, len(arrays) - 1)
    offered = tuple(left for count in counts for left in combinations(arrays, count))
    return Offer(offered, (("arrays", arrays_text(tuple(arrays))),))


UNCOPIED = TextsDecision[Arrays](
    "uncopied",
    "arrays without a copy",
    (),
    SORTED_NAMES,
    _offer,
    Row(
        "no array, or any of those that may have one, but not all",
        "these arrays are read from global memory although others are copied to shared memory",
        "wide, on GPUs",
    ),
    arrays_text,
    younger=True,
)
