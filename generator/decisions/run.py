"""Runs of neighbours: the number of consecutive points along x per thread (ours).

    1:  thread  0 1 2 3 0 1 2 3        2:  thread  0 0 1 1 2 2 3 3
"""

from __future__ import annotations

from generator.decisions.base import KernelDecision, Known, Offer, Row
from generator.decisions.in_registers import IN_REGISTERS
from generator.decisions.products import PRODUCTS
from generator.decisions.sizes import SIZES
from generator.forms import POSITIVE

RUNS = (1, 2, 4)


def _offer(known: Known) -> Offer[int]:
    """Offered if a thread has so many points along x and neighbours along x. Not on CPUs, which vectorize across
    threads.
    """
    found = known[SIZES]
    if not found.block or found.block[-1] == 1 or known[IN_REGISTERS] or known[PRODUCTS] != PRODUCTS.default:
        return Offer((1,))
    if not known.wide or known.shape.timed or known.target.shares_host_cores:
        return Offer((1,))
    points = max(1, found.tile[-1] // found.block[-1])
    offered = tuple(run for run in RUNS if points % run == 0)
    return Offer(offered, (("points along x", points),) if len(offered) > 1 else ())


RUN = KernelDecision(
    "run",
    "neighbours in a row",
    1,
    POSITIVE,
    _offer,
    Row(
        "1, 2, 4",
        "number of consecutive points along x per thread: their loads are contiguous, and values that neighbouring "
        "points share (a stencil) are reused",
        "wide, on GPUs",
    ),
    younger=True,
)
