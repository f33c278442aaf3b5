"""The examples in the papers of the cost models, as data flow, and their devices."""

from __future__ import annotations

from collections.abc import Sequence

from antune import halide as hl
from generator.dataflow import Dataflow
from generator.frontend_py.problem import program_of
from generator.polyhedral.pipelines.dataflow import dataflow
from generator.program import Program
from generator.target import Target
from metrics.costs.device import CostDevice, cost_device

KIB = 1024
RTX_2080_TI = cost_device(
    Target("RTX 2080 Ti", "cuda", 1024, (1024, 1024, 64), 64 * KIB, 68, True, False, 32, capability=(7, 5))
)
GTX_1080_TI = cost_device(
    Target("GTX 1080 Ti", "cuda", 1024, (1024, 1024, 64), 48 * KIB, 28, True, False, 32, capability=(6, 1))
)
CPU: CostDevice = cost_device(Target("CPU", "opencl", 4096, (4096, 4096, 4096), 256 * KIB, 2, True, True))


def kwhz_program(size: Sequence[int] = (1536, 2560)) -> Program:
    """Return the program of Sioutas et al. 2020, section 3: K of three channels, H, W of both, Z of five rows of W."""
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    image, k, h, w, z = hl.ImageParam(hl.Float(32), 2, "E"), hl.Func("K"), hl.Func("H"), hl.Func("W"), hl.Func("Z")
    k[x, y, c] = image[x, y] + image[x + 1, y] + image[x + 2, y] + hl.f32(c)
    h[x, y] = 4.0 * image[x, y]
    w[x, y] = k[x, y, 0] + k[x, y, 1] + k[x, y, 2] + 2.0 * h[x, y]
    z[x, y] = w[x, y] + w[x, y + 1] + w[x, y + 2] + w[x, y + 3] + w[x, y + 4]
    return program_of([z], size, "KWHZ")


def kwhz() -> Dataflow:
    """Return the data flow of this program."""
    return dataflow(kwhz_program())


def blur(width: int = 4096, height: int = 4096) -> Dataflow:
    """Return the program of Jangda & Guha 2020, section 4: means of columns, then of rows, of an image with three
    colours.
    """
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    image, columns, rows = hl.ImageParam(hl.Float(32), 3, "image"), hl.Func("columns"), hl.Func("rows")
    columns[x, y, c] = (image[x, y, c] + image[x, y + 1, c] + image[x, y + 2, c]) / 3.0
    rows[x, y, c] = (columns[x, y, c] + columns[x + 1, y, c] + columns[x + 2, y, c]) / 3.0
    return dataflow(program_of([rows], (width, height, 3), "blur"))
