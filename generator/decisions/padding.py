"""Padding: elements added to the rows of shared copies, against bank conflicts (ours)."""

from __future__ import annotations

from generator.decisions.base import KernelDecision, Known, Offer, Row
from generator.decisions.fractions import fits_split, lanes_of
from generator.decisions.fragments import PADDINGS, tensor_depths
from generator.decisions.in_registers import IN_REGISTERS
from generator.decisions.inner_tile import INNER_TILE
from generator.decisions.products import PRODUCTS
from generator.decisions.shared import SHARED, fits
from generator.decisions.sizes import SIZES
from generator.decisions.uncopied import UNCOPIED
from generator.decisions.vector import VECTOR
from generator.forms import COUNT


def _offer(known: Known) -> Offer[int]:
    if known[PRODUCTS] != PRODUCTS.default:
        return _on_tensor_cores(known)
    shared = known[SHARED]
    padded = (shared or known.shape.computes) and known.wide
    sizes = (0, known[VECTOR])  # rows that begin at multiples of a vector
    if known[IN_REGISTERS]:
        lanes = lanes_of(known)
        return Offer((0, 1) if lanes and fits_split(known, lanes, known[IN_REGISTERS], 1) else (0,))
    offered = tuple(p for p in sizes if padded and fits(known, known[INNER_TILE], p, shared, known[UNCOPIED])) or (0,)
    return Offer(offered, (("elements per access", known[VECTOR]),) if known[VECTOR] > 1 else ())


def _on_tensor_cores(known: Known) -> Offer[int]:
    """Offers 0, or 8 elements if there is room."""
    fitting = (tensor_depths(known.shape, known.target, known[PRODUCTS], known[SIZES].tile, n) for n in PADDINGS)
    offered = tuple(n for n, depths in zip(PADDINGS, fitting, strict=True) if known[INNER_TILE] in depths)
    return Offer(offered, ((PRODUCTS.name, known[PRODUCTS]), ("offered", offered)))


PADDING = KernelDecision("padding", "padding", 0, COUNT, _offer,
                         Row("0, 1 (as many as elements per access; on tensor cores 8)",
                             "elements added to the rows of shared copies, against bank conflicts", "wide"))
