"""Prologue of copies: operations on a copied element are computed once, while copying, instead of at every use (ours).

`alpha * A[i][k]` of gemm: a shared copy of A then holds the products. Compilers of fused kernels call operations on
operands before the main loop a prologue. Such copies pass through registers, so they are not asynchronous. See
`generator.lowering.memory.prologues`.
"""

from __future__ import annotations

from generator.decisions.base import Known, Offer, Row, flag, switch
from generator.decisions.shared import SHARED
from generator.decisions.uncopied import UNCOPIED


def _offer(known: Known) -> Offer[bool]:
    """Offered if a copy can hold the result of an operation."""
    operated = any(array not in known[UNCOPIED] for array in known.shape.operated)
    return switch(known.wide and known[SHARED] and operated, ((SHARED.name, known[SHARED]), ("operated", operated)))


PROLOGUE = flag(
    "prologue",
    "prologue of copies",
    _offer,
    Row(
        "no, yes",
        "if all uses of a copied element are in one operation with scalars and literals (`alpha * A[i][k]`), its "
        "result, of the same type, is computed while copying and stored in the copy; such copies pass through "
        "registers, also beside asynchronous ones ([more](copies.md#prologues-of-copies))",
        "wide, arrays that are copied and used so",
    ),
    younger=True,
)
