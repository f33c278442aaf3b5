"""The unroll factor of the innermost loops."""

from __future__ import annotations

from generator.decisions.base import KernelDecision, Known, Offer, Row
from generator.decisions.sizes import SIZES
from generator.forms import POSITIVE

FACTORS = (1, 2, 4, 8)


def _offer(known: Known) -> Offer[int]:
    """Offered if a thread has a loop, also one over its points."""
    return Offer(FACTORS if known.shape.sequential or known[SIZES].several_points else (1,))


UNROLL = KernelDecision("unroll", "unroll factor", 1, POSITIVE, _offer,
                        Row("1, 2, 4, 8", "unrolls the innermost loops"))
