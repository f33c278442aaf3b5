"""Tensor cores: the precision in which the products of a kernel's sums are computed (ours).

Offered if the run allows it (`Target.products`), in CUDA, for kernels whose main part is a sum of products with rows
and columns (`generator.polyhedral.memory.contractions`). The warps of a block then multiply tiles of both factors,
rounded to the precision, and accumulate in fp32 (`generator.lowering.core.tensor_cores`).
"""

from __future__ import annotations

from typing import get_args

from generator.decisions.base import KernelDecision, Known, Offer, Row
from generator.decisions.fragments import tensor_tiles
from generator.decisions.shape import Shape
from generator.forms import one_of
from generator.precision import Products

_DEFAULT: Products = "full"


def _offer(known: Known) -> Offer[Products]:
    wanted = known.target.products
    if wanted == _DEFAULT or known.shape.contraction is None or not known.target.multiplies(wanted):
        return Offer((_DEFAULT,))
    some = bool(tensor_tiles(known.shape.on_tensor_cores(), known.target, wanted))
    offered: tuple[Products, ...] = (_DEFAULT, wanted) if some else (_DEFAULT,)
    return Offer(offered, (("offered", " ".join(offered)),))


class _Products(KernelDecision[Products]):
    """Later decisions see a kernel that neither copies nor keeps anything."""

    def turned(self, shape: Shape, value: Products) -> Shape:
        """See KernelDecision."""
        return shape if value == _DEFAULT else shape.on_tensor_cores()


PRODUCTS = _Products(
    "products",
    "precision of products",
    _DEFAULT,
    one_of(get_args(Products)),
    _offer,
    Row(
        "full; tf32, fp16 or bf16 (the one that the run allows)",
        "precision of the products in its sums: a lower one uses tensor cores (`wmma`), whose warps multiply tiles of"
        " both factors in shared memory and accumulate in fp32",
        "with `--precision-of-products`, NVIDIA GPUs with tensor cores, by CUDA, sums of products of float",
    ),
    younger=True,
)
