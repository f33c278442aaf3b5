"""Padding: by how many elements the rows of shared copies are longer, against bank conflicts (ours)."""

from __future__ import annotations

from generator.decisions.base import KernelDecision, Known, Offer, Row
from generator.decisions.inner_tile import INNER_TILE
from generator.decisions.shared import SHARED, fits
from generator.forms import COUNT

SIZES = (0, 1)


def _offer(known: Known) -> Offer[int]:
    shared = known[SHARED]
    padded = (shared or known.shape.computes) and known.wide
    return Offer(tuple(p for p in SIZES if padded and fits(known, known[INNER_TILE], p, shared)) or (0,))


PADDING = KernelDecision("padding", "padding", 0, COUNT, _offer,
                         Row("0, 1", "elements added to the rows of shared copies, against bank conflicts", "wide"))
