"""Combining threads: how the threads of a block combine a reduction (ours)."""

from __future__ import annotations

from math import prod
from typing import Literal, TypeAlias, get_args

from generator.decisions.asynchronous import kept_bytes
from generator.decisions.base import Depends, KernelDecision, Known, Offer, Row
from generator.decisions.parts import parts_bytes_of
from generator.decisions.run import RUN
from generator.decisions.size_lists import Sizes
from generator.decisions.sizes import SIZES
from generator.decisions.walk import WALK
from generator.forms import one_of
from generator.target import LANES

Combine: TypeAlias = Literal["atomic", "shared", "shuffle", "private"]
_DEFAULT: Combine = "atomic"


def _offer(known: Known) -> Offer[Combine]:
    """A thread alone in its block updates atomically, or in a private copy if there is room for one. Where threads
    combine nothing, they may own lines.
    """
    private = known.wide and known.shape.privatizes
    private = private and kept_bytes(known, known[SIZES].tile, True) <= known.target.local_bytes
    if not known.shape.reduces and private and not known[WALK]:
        return Offer((_DEFAULT, "private"), (("lines", True),))
    block = known[SIZES].block
    alone = prod(block) == 1
    if not known.shape.reduces or (alone and not private):
        return Offer((_DEFAULT,))
    shuffles = known.target.sub_group >= LANES and block[-1] % LANES == 0
    room = kept_bytes(known, known[SIZES].tile, False) + _all_parts(known, block) <= known.target.local_bytes
    offered: tuple[Combine, ...] = ("atomic", "shared", "shuffle") if shuffles else ("atomic", "shared")
    if alone or not room:  # shuffles use shared memory for what no whole warp combines
        offered = (_DEFAULT,)
    if not known.wide:
        return Offer(offered[-1:])
    depends: Depends = (("shuffles", shuffles), *(() if room else (("room for parts", room),)))
    if private:
        offered, depends = (*offered, "private"), (*depends, ("private", True), ("alone", alone))
    return Offer(offered, depends)


def _all_parts(known: Known, threads: Sizes) -> int:
    """Return the most shared memory in which so many `threads` combine all arrays that they can keep in registers."""
    found, run = known[SIZES], known[RUN]
    x, total = len(found.tile) - 1, 0
    for owned in known.shape.kept:
        points = []
        for d in owned:
            inside = run if d == x else 1
            points += [(d, found.tile[d] // (found.block[d] * inside)), (d, inside)]
        total += parts_bytes_of(threads, owned, points)
    return total


def parts_bytes(known: Known, threads: Sizes) -> int:
    """Return the shared memory for combining of the `threads` that share a tile. For later decisions."""
    return 0 if known[COMBINE] == _DEFAULT else _all_parts(known, threads)


COMBINE = KernelDecision(
    "combine",
    "combining threads",
    _DEFAULT,
    one_of(get_args(Combine)),
    _offer,
    Row(
        "atomic, shared, shuffle, private",
        "how the threads of a block combine a reduction: each by an atomic update; in shared memory; or by shuffles "
        "within a warp, then one atomic update per block or warp. private is like shared, and reductions that no "
        "thread can keep in registers (a histogram) are updated in a copy per block. Without parallel reductions, "
        "lines of an array that one thread owns, such as the bins of a cell, are in shared memory while the kernel "
        "runs ([more](sums_and_stores.md#lines-of-single-threads))",
        "wide",
    ),
)
