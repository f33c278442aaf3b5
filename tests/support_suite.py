"""PolyBench-style sources of the project as Programs and Problems, for tests."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from generator.frontend_c.source import Compilation
from generator.problem import Problem
from generator.reading import read_problem
from generator.target import Target

SUITE = Path(__file__).parents[1] / "experiments" / "suites" / "polybench"
NAMES = ("2mm", "atax", "bicg", "gemm", "gemver", "gesummv", "jacobi-2d", "mvt")
TARGET = Target("test device", "opencl", 1024, (1024, 1024, 64), 48 * 1024, 8, True, False)
# Sizes that no tile divides, different in every dimension.
ODD_SIZES = {
    "2mm": ("NI=37", "NJ=53", "NK=41", "NL=67"),
    "atax": ("M=61", "N=83"),
    "bicg": ("M=61", "N=83"),
    "gemm": ("NI=45", "NJ=71", "NK=53"),
    "gemver": ("N=67",),
    "gesummv": ("N=67",),
    "jacobi-2d": ("N=39", "TSTEPS=5"),
    "mvt": ("N=67",),
}


@lru_cache(maxsize=32)
def problem(name: str, defines: tuple[str, ...] = ("MINI_DATASET",)) -> Problem:
    """One of the suite's programs, captured."""
    return read_problem(SUITE / f"{name}.c", Compilation(defines=defines), None, None, {}, 0)
