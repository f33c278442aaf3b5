"""Elements per access: how many adjacent elements one load or store transfers, where that is exactly equivalent (ours).

float4, float2 etc.: a quarter or half of the instructions for the same bytes. See `generator.lowering.core.wide`.
"""

from __future__ import annotations

from generator.decisions.base import KernelDecision, Known, Offer, Row
from generator.decisions.in_registers import IN_REGISTERS
from generator.decisions.products import PRODUCTS
from generator.decisions.run import RUN
from generator.decisions.shared import SHARED
from generator.decisions.unroll import UNROLL
from generator.forms import POSITIVE

WIDTHS = (1, 2, 4)


def _offer(known: Known) -> Offer[int]:
    """Offered if a thread accesses neighbours: in a run, an unrolled loop, or copies. Not on CPUs, which vectorize
    across threads.
    """
    if not known.wide or known.shape.timed or known.target.shares_host_cores or known[IN_REGISTERS]:
        return Offer((1,))
    copies = known[SHARED] or known[PRODUCTS] != PRODUCTS.default
    most = WIDTHS[-1] if copies else max(known[RUN], known[UNROLL])
    offered = tuple(width for width in WIDTHS if width <= most)
    return Offer(offered, (("offered", offered),) if len(offered) > 1 else ())


VECTOR = KernelDecision(
    "vector",
    "elements per access",
    1,
    POSITIVE,
    _offer,
    Row(
        "1, 2, 4",
        "number of contiguous elements, at most 16 bytes, per load or store (float4; in OpenCL, too, by aligned vector "
        "types, because `vload4` promises no alignment): in runs, in copies to shared memory, and in loops unrolled "
        "by the same factor; only where extents, alignment and conditions allow it exactly, otherwise one element at "
        "a time",
        "wide, on GPUs",
    ),
    younger=True,
)
