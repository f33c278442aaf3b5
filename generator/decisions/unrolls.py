"""Unroll factors of single loops, by their names in the text (ours; the paper has a factor per inner loop).

`unroll` is for all innermost loops, and others are not unrolled. A loop named here has its own factor: the loop over
tiles of k (`k_tile`), over k in a tile (`k`), over a thread's points along i (`i_point`) or over a run of them
(`i_next`).
"""

from __future__ import annotations

from typing import TypeAlias

from generator.decisions.as_texts import TextsDecision
from generator.decisions.base import Known, Offer, Row
from generator.decisions.depth import DEPTH
from generator.decisions.diagonals import DIAGONALS
from generator.decisions.in_registers import IN_REGISTERS
from generator.decisions.inner_tile import INNER_TILE
from generator.decisions.points_inside import POINTS_INSIDE
from generator.decisions.products import PRODUCTS
from generator.decisions.registers import REGISTERS
from generator.decisions.run import RUN
from generator.decisions.shared import SHARED
from generator.decisions.sizes import SIZES
from generator.decisions.thread_loops import POINTS, Loops
from generator.decisions.uncopied import UNCOPIED
from generator.decisions.unroll import UNROLL
from generator.decisions.walk import WALK
from generator.decisions.whole import WHOLE
from generator.forms import Form, are_pairs, is_positive

Factors: TypeAlias = tuple[tuple[str, int], ...]
FACTORS = (1, 2, 4)


def _text(factors: Factors) -> str:
    return ", ".join(f"{loop} {factor}" for loop, factor in factors) or "as others"


def _is_factors(value: object) -> bool:
    return are_pairs(is_positive, value) and isinstance(value, list) and value == sorted(value)


def _offer(known: Known) -> Offer[Factors]:
    """Offers one loop at a time, if there are several, with other factors than it has anyway: UNROLL if innermost, else
    1.

    Loops over points unroll completely where threads keep results, parts of sums or other values per point; loops with
    barriers are not unrolled on CPUs (`Language.unrolled_barriers`).
    """
    none: Factors = ()
    plain = not (known[WALK] or known[DIAGONALS] or known[IN_REGISTERS] or known.shape.timed or known.shape.skewed
                 or known.shape.coarse or known[PRODUCTS] != PRODUCTS.default)
    if not (plain and known.wide) or known.target.shares_host_cores:
        return Offer((none,))
    sizes = known[SIZES]
    loops = known.shape.loops(Loops(sizes.tile, sizes.block, known[RUN], known[INNER_TILE], known[POINTS_INSIDE],
                                    known[SHARED], known[UNCOPIED], known[WHOLE], known[DEPTH]))
    if len(loops) < 2:
        return Offer((none,))
    kept = known[REGISTERS] or known.shape.reduces or any(loop.own for loop in loops)
    whole = POINTS if kept else frozenset[str]()
    waits = known[SHARED] or known.shape.computes  # barriers around what an inner tile copies or computes
    fixed = whole | ({"tile", "around"} if waits and not known.target.language.unrolled_barriers else set())
    offered = (none, *(((loop.name, factor),) for loop in loops if loop.kind not in fixed for factor in FACTORS
                       if factor != (1 if loop.inside - whole else known[UNROLL])))
    return Offer(offered, (("offered", "; ".join(map(_text, offered))),))


UNROLLS = TextsDecision[Factors](
    "unrolls",
    "unroll factor of one loop",
    (),
    Form(_is_factors, "a sorted list of [loop, factor], each loop once, each factor a positive integer"),
    _offer,
    Row(
        "as others; any loop by its name in the text, 1, 2 or 4",
        "a loop with a factor of its own, which is not the one it has anyway (the unroll factor for innermost loops, 1 "
        "for others): over the tiles of k (`k_tile`), over k inside a tile (`k`), over a thread's "
        "points (`i_point`) or over a run of them (`i_next`); plans by hand name several loops: `[[\"k\", 4], "
        "[\"k_tile\", 2]]`",
        "wide, on GPUs, kernels with several loops",
    ),
    _text,
    title="unroll factors of single loops",
    younger=True,
)
