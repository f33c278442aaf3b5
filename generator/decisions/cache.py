"""Cache configuration: prefer shared memory or L1 cache in a multiprocessor's on-chip memory."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from generator.decisions.base import KernelDecision, Known, Offer, Row
from generator.decisions.products import PRODUCTS
from generator.decisions.shared import SHARED
from generator.forms import one_of

Cache: TypeAlias = Literal["none", "shared", "l1"]
_DEFAULT: Cache = "none"


def _offer(known: Known) -> Offer[Cache]:
    if not known.target.language.cache_preference:
        return Offer((_DEFAULT,))
    shared = known[SHARED] or known[PRODUCTS] != PRODUCTS.default
    offered: tuple[Cache, ...] = ("shared", "none", "l1") if shared else ("none", "l1")
    return Offer(offered, ((SHARED.name, shared),))


CACHE = KernelDecision("cache", "cache configuration", _DEFAULT, one_of(get_args(Cache)), _offer,
                       Row("none, shared, l1", "prefers shared memory or L1 cache in the on-chip memory", "CUDA"))
