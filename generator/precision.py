"""Precisions of tensor cores: how the factors of a product are rounded before they are multiplied.

Sums are always accumulated in fp32 (CUDA C++ Programming Guide, "Warp Matrix Functions").
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

Precision: TypeAlias = Literal["tf32", "fp16", "bf16"]
Products: TypeAlias = Literal["full", "tf32", "fp16", "bf16"]
"""The precision of a kernel's products: `full`, in the type of the program, or in a lower precision."""

ROUND_OFF: Mapping[str, float] = {"tf32": 2.0**-11, "fp16": 2.0**-11, "bf16": 2.0**-8}
"""The unit round-off u: a number x becomes x(1 + d), |d| <= u. Significands have 11, 11 and 8 bits. For fp16 this holds
between 2^-14 and 65504 only; the others have the range of fp32.
"""

DEPTH: Mapping[str, int] = {"tf32": 8, "fp16": 16, "bf16": 16}
"""The number of terms of a sum that a warp multiplies in one step: the third size of fragments, after 16 x 16."""

SIDE = 16
"""Rows and columns of a fragment of sums."""

LEAST_CAPABILITY: Mapping[str, tuple[int, int]] = {"tf32": (8, 0), "fp16": (7, 0), "bf16": (8, 0)}
"""The first compute capability whose tensor cores support the precision."""

WORD: Mapping[str, Literal["float", "half"]] = {"tf32": "float", "fp16": "half", "bf16": "half"}
"""The type of the words that hold a factor in shared memory: 32 or 16 bits."""

SAFETY = 8.0


def product_tolerance(precision: str, kernels: int) -> float:
    """Return the relative difference that factors of `precision` can cause if `kernels` kernels multiply in sequence.

    It is relative to `generator.rounding.scale`: the size of a value plus that of a usual one. Both factors of each
    product p_i are rounded: it becomes p_i (1 + d_i), |d_i| <= 2u + u^2. So the error of a sum of k products is at most

        2u (|p_1| + .. + |p_k|) <= 2u k max|p_i|.

    If all products have one sign, that is 2u times the sum itself. If signs are random, sum and error both grow with
    sqrt(k): the error is about 2u sqrt(p_1^2 + .. + p_k^2), and a usual sum is as large as that root (N. J. Higham,
    Accuracy and Stability of Numerical Algorithms, 2nd ed. 2002, sections 2.8 and 3.1). So 2u times both sizes covers
    both cases and those between; k cancels. SAFETY allows for the largest of many errors. The next kernel multiplies
    the rounded results again, so errors add up. A kernel in a host loop counts once: none of its factors depends on
    sums of its earlier launches (`generator.polyhedral.memory.contractions`).
    """
    return SAFETY * 2 * ROUND_OFF[precision] * kernels
