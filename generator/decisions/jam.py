"""Unroll and jam: the rows of a thread's points are computed together, column by column (ours).

    for y: for x: out[y][x] = a[y][x] + a[y + 1][x]      becomes      for x: out[0][x] = ..; out[1][x] = ..; ..

The loop over x is what a compiler for CPUs vectorizes. A vector of each row that several results need is then loaded
once, and expressions that they share are computed once (Allen & Cocke, "A catalogue of optimizing transformations",
1972; Callahan, Cocke & Kennedy, "Estimating interlock and improving balance for pipelined architectures", 1988).
"""

from __future__ import annotations

from generator.decisions.base import Known, Offer, Row, flag, switch
from generator.decisions.diagonals import DIAGONALS
from generator.decisions.in_registers import IN_REGISTERS
from generator.decisions.products import PRODUCTS
from generator.decisions.registers import REGISTERS
from generator.decisions.sizes import SIZES
from generator.decisions.walk import WALK, walked

MOST_ROWS = 8
"""Each row needs vector registers of its own."""


def _offer(known: Known) -> Offer[bool]:
    """Offered on CPUs if a thread has 2 to MOST_ROWS rows of several points, and every thread has as many: conditions
    for missing rows would be inside the loop over x.
    """
    shape, sizes = known.shape, known[SIZES]
    others = (known[DIAGONALS] or known[IN_REGISTERS] or known[REGISTERS] or known[PRODUCTS] != PRODUCTS.default
              or shape.sequential or shape.coarse or shape.timed or shape.skewed)
    if others or len(sizes.tile) < 2 or not (known.wide and known.target.shares_host_cores):
        return switch(False)
    y = walked(len(sizes.tile))
    together = known[WALK] or sizes.tile[y]
    rows, columns = together // sizes.block[y], sizes.tile[-1] // sizes.block[-1]
    return switch(2 <= rows <= MOST_ROWS and columns > 1 and shape.extents[y] % together == 0)


JAM = flag(
    "jam",
    "rows together",
    _offer,
    Row(
        "no, yes",
        "unroll and jam: the loop over a thread's rows (of a step, if it walks) is inside the loop over its columns, "
        "and unrolled completely; loads and expressions that several rows need are shared",
        "wide, on CPUs, threads with 2, 4 or 8 rows and no loops of the program inside",
    ),
    younger=True,
)
