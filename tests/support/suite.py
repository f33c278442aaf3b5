"""Programs of the suites as Programs and Problems: PolyBench, and pipelines of a small size."""

from __future__ import annotations

import re
from functools import lru_cache

from antune.parsing import parse_parameters, parse_size
from experiments.suites.image_pipelines import Pipeline, SizeName, pipeline
from generator.frontend_c.extract import extract
from generator.frontend_c.parse import read_scop
from generator.frontend_c.source import Compilation
from generator.frontend_py.load import load_pipeline
from generator.frontend_py.problem import program_of, read_pipeline, sizes_of
from generator.polyhedral.dependences.expansion import expand
from generator.problem import Problem
from generator.program import Program
from generator.reading import read_problem
from generator.target import Target
from tests.support.kept import kept
from tests.support.oracles import STEPS
from tests.support.paths import SUITES
from tests.support.programs import extents_of

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

# The parameters' names, their values in the LARGE dataset, and prime sizes.
PARAMETERS = {
    "2mm": ("NI NJ NK NL", (800, 900, 1100, 1200), (13, 17, 19, 23)),
    "3mm": ("NI NJ NK NL NM", (800, 900, 1000, 1100, 1200), (13, 17, 19, 23, 29)),
    "adi": ("TSTEPS N", (500, 1000), (STEPS, 19)), "atax": ("M N", (1900, 2100), (37, 41)),
    "bicg": ("M N", (1900, 2100), (37, 41)), "cholesky": ("N", (2000,), (37,)),
    "correlation": ("M N", (1200, 1400), (23, 37)), "covariance": ("M N", (1200, 1400), (23, 37)),
    "deriche": ("W H", (4096, 2160), (37, 23)), "doitgen": ("NQ NR NP", (140, 150, 160), (7, 11, 13)),
    "durbin": ("N", (2000,), (23,)), "fdtd-2d": ("TMAX NX NY", (500, 1000, 1200), (7, 17, 23)),
    "floyd-warshall": ("N", (2800,), (37,)), "gemm": ("NI NJ NK", (1000, 1100, 1200), (17, 23, 29)),
    "gemver": ("N", (2000,), (41,)), "gesummv": ("N", (1300,), (37,)),
    "gramschmidt": ("M N", (1000, 1200), (37, 17)), "heat-3d": ("TSTEPS N", (500, 120), (STEPS, 11)),
    "jacobi-1d": ("TSTEPS N", (500, 2000), (STEPS, 37)), "jacobi-2d": ("TSTEPS N", (500, 1300), (STEPS, 19)),
    "lu": ("N", (2000,), (37,)), "ludcmp": ("N", (2000,), (37,)), "mvt": ("N", (2000,), (43,)),
    "nussinov": ("N", (2500,), (37,)), "seidel-2d": ("TSTEPS N", (500, 2000), (STEPS, 19)),
    "symm": ("M N", (1000, 1200), (23, 37)), "syr2k": ("M N", (1000, 1200), (23, 37)),
    "syrk": ("M N", (1000, 1200), (23, 37)), "trisolv": ("N", (2000,), (37,)), "trmm": ("M N", (1000, 1200), (23, 37))}


@lru_cache(maxsize=64)
def problem(name: str, defines: tuple[str, ...] = ("MINI_DATASET",)) -> Problem:
    """Return one of the suite's programs, captured once per test run. Its arrays are read-only: tests share them."""
    file = SUITE / f"{name}.c"
    return read_only(kept(read_problem, file, Compilation(defines=defines), None, None, {}, 0, baselines=False))


def read_only(found: Problem) -> Problem:
    """Return `found`, whose arrays cannot be changed any more."""
    for values in (found.reference.inputs, found.reference.outputs, found.reference.rounding):
        for value in values.values():
            value.flags.writeable = False
    return found


@lru_cache(maxsize=64)
def polybench_program(name: str, defines: tuple[str, ...] = ("MINI_DATASET",)) -> Program:
    """Return the Program of `problem` without compiling and running it, which takes seconds at large sizes."""
    return kept(_program, name, defines)


def _program(name: str, defines: tuple[str, ...]) -> Program:
    source, sizes = read_scop(SUITE / f"{name}.c", Compilation(defines=defines)), _sizes(name, defines)
    return expand(extract(source, sizes, extents_of(source, sizes)))


def _sizes(name: str, defines: tuple[str, ...]) -> dict[str, int]:
    """Return the values of the parameters: those of the dataset in the program's header, unless `defines` has them."""
    dataset = next((word for word in defines if word.endswith("_DATASET")), "LARGE_DATASET")
    block = re.search(rf"if defined\({dataset}\)\n((?:#define .*\n)+)", (SUITE / f"{name}.h").read_text())
    assert block is not None
    values = dict(re.findall(r"#define (\w+)_OF_CLASS (\d+)", block[1]))
    values |= dict(word.split("=") for word in defines if "=" in word)
    return {size.lower(): int(value) for size, value in values.items()}


def large_program(name: str) -> Program:
    """Return one of the suite's programs at the sizes of the LARGE dataset, without running it."""
    return polybench_program(name, ("LARGE_DATASET",))


def small_problem(program: Pipeline) -> tuple[Problem, tuple[int, ...]]:
    """Return the Problem of a small size, computed once per test run, with the output's extents. Its arrays may be
    changed, as Halide's buffers want it.
    """
    parameters = dict(parse_parameters(parse_size(program.small))) | dict(program.parameters)
    return kept(read_pipeline, program.file, None, parameters, 7), sizes_of(parameters)


@lru_cache(maxsize=8)
def pipeline_program(name: str, size: SizeName = "full") -> Program:
    """Return the Program of a pipeline of the suite, without running anything."""
    given = pipeline(name)
    parameters = dict(given.parameters_at(size))
    return program_of(load_pipeline(given.file, parameters), sizes_of(parameters), name, str(given.file))
