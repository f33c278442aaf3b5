"""Programs of the suites as Programs and Problems: PolyBench, and pipelines of a small size."""

from __future__ import annotations

from functools import lru_cache

from antune.options import parse_parameters, parse_size
from experiments.suites.image_pipelines import Pipeline
from generator.frontend_c.source import Compilation
from generator.frontend_py.problem import read_pipeline, sizes_of
from generator.problem import Problem
from generator.reading import read_problem
from generator.target import Target
from tests.support.paths import SUITES

SUITE = SUITES / "polybench"
NAMES = ("2mm", "atax", "bicg", "gemm", "gemver", "gesummv", "jacobi-2d", "mvt")
TARGET = Target("test device", "opencl", 1024, (1024, 1024, 64), 48 * 1024, 8, True, False)
MORE_NAMES = ("3mm", "adi", "cholesky", "correlation", "covariance", "deriche", "doitgen", "durbin", "fdtd-2d",
              "floyd-warshall", "gramschmidt", "heat-3d", "jacobi-1d", "lu", "ludcmp", "nussinov", "seidel-2d", "symm",
              "syr2k", "syrk", "trisolv", "trmm")
ALL_NAMES = tuple(sorted(NAMES + MORE_NAMES))
# Sizes that no tile divides, different in every dimension.
ODD_SIZES = {
    "2mm": ("NI=37", "NJ=53", "NK=41", "NL=67"),
    "3mm": ("NI=37", "NJ=53", "NK=41", "NL=67", "NM=29"),
    "adi": ("TSTEPS=3", "N=37"),
    "atax": ("M=61", "N=83"),
    "bicg": ("M=61", "N=83"),
    "cholesky": ("N=43",),
    "correlation": ("M=37", "N=53"),
    "covariance": ("M=37", "N=53"),
    "deriche": ("W=37", "H=53"),
    "doitgen": ("NQ=7", "NR=11", "NP=37"),
    "durbin": ("N=67",),
    "fdtd-2d": ("TMAX=5", "NX=37", "NY=53"),
    "floyd-warshall": ("N=43",),
    "gemm": ("NI=45", "NJ=71", "NK=53"),
    "gemver": ("N=67",),
    "gesummv": ("N=67",),
    "gramschmidt": ("M=61", "N=23"),
    "heat-3d": ("TSTEPS=3", "N=13"),
    "jacobi-1d": ("TSTEPS=5", "N=67"),
    "jacobi-2d": ("N=39", "TSTEPS=5"),
    "lu": ("N=43",),
    "ludcmp": ("N=43",),
    "mvt": ("N=67",),
    "nussinov": ("N=43",),
    "seidel-2d": ("TSTEPS=5", "N=37"),
    "symm": ("M=37", "N=53"),
    "syr2k": ("M=37", "N=53"),
    "syrk": ("M=37", "N=53"),
    "trisolv": ("N=67",),
    "trmm": ("M=37", "N=53"),
}


@lru_cache(maxsize=64)
def problem(name: str, defines: tuple[str, ...] = ("MINI_DATASET",)) -> Problem:
    """One of the suite's programs, captured."""
    return read_problem(SUITE / f"{name}.c", Compilation(defines=defines), None, None, {}, 0)


def small_problem(program: Pipeline) -> tuple[Problem, tuple[int, ...]]:
    """The Problem of a small size, with the output's extents."""
    parameters = dict(parse_parameters(parse_size(program.small))) | dict(program.parameters)
    return read_pipeline(program.file, None, parameters, 7), sizes_of(parameters)
