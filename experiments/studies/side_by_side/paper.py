"""The results of the paper on Coding Ants, for comparison with a suite at several levels.

Papenhausen & Mueller, "Coding Ants: Optimization of GPU code using ant colony optimization" (2018), section 7: average
speedups over the default of the compiler PPCG on PolyBench 4.2.1, with 50 evaluations. Its random walks go through the
graph of O2.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

PAPER_LEVELS = ("o1", "o2", "o3")
RANDOM, RANDOM_LEVEL = "random", "o2"
PAPER: Mapping[str, tuple[float, float, float, float]] = MappingProxyType(
    {"GT 755M": (2.85, 3.02, 2.44, 2.03), "GTX 1070": (1.58, 1.56, 1.30, 1.40)})
"""By GPU: the mean speedups at PAPER_LEVELS, and that of random walks."""
PAPER_WORDS = (
    "Coding Ants: means that its authors report for other GPUs, over the default of the compiler PPCG, after 50 "
    "evaluations; "
    "ours are geometric means"
)
