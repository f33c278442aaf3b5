"""The C programs of the PolyBench suite: they build cleanly, take any size, and compute what they say."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from experiments.suites.polybench import program_file, programs
from generator.capture import capture
from generator.errors import InputError
from generator.frontend_c.parse import read_scop
from generator.frontend_c.preprocess import find_compiler
from generator.frontend_c.source import Compilation

FOLDER = program_file("gemm").parent
Data: TypeAlias = Mapping[str, NDArray[Any]]

# Sizes that divide nothing, and the parameters' names.
SIZES = {"gemm": ("NI=17", "NJ=23", "NK=29"), "2mm": ("NI=13", "NJ=17", "NK=19", "NL=23"), "atax": ("M=37", "N=41"),
         "bicg": ("M=37", "N=41"), "mvt": ("N=43",), "gesummv": ("N=37",), "gemver": ("N=41",),
         "jacobi-2d": ("TSTEPS=7", "N=19")}
LARGE = {"gemm": (1000, 1100, 1200), "2mm": (800, 900, 1100, 1200), "atax": (1900, 2100), "bicg": (1900, 2100),
         "mvt": (2000,), "gesummv": (1300,), "gemver": (2000,), "jacobi-2d": (500, 1300)}


def gemm(d: Data) -> dict[str, Any]:
    return {"C": d["beta"] * d["C"] + d["alpha"] * d["A"] @ d["B"]}


def mm2(d: Data) -> dict[str, Any]:
    tmp = d["alpha"] * d["A"] @ d["B"]
    return {"tmp": tmp, "D": d["beta"] * d["D"] + tmp @ d["C"]}


def atax(d: Data) -> dict[str, Any]:
    tmp = d["A"] @ d["x"]
    return {"tmp": tmp, "y": d["A"].T @ tmp}


def bicg(d: Data) -> dict[str, Any]:
    return {"s": d["A"].T @ d["r"], "q": d["A"] @ d["p"]}


def mvt(d: Data) -> dict[str, Any]:
    return {"x1": d["x1"] + d["A"] @ d["y_1"], "x2": d["x2"] + d["A"].T @ d["y_2"]}


def gesummv(d: Data) -> dict[str, Any]:
    tmp = d["A"] @ d["x"]
    return {"tmp": tmp, "y": d["alpha"] * tmp + d["beta"] * (d["B"] @ d["x"])}


def gemver(d: Data) -> dict[str, Any]:
    a = d["A"] + np.outer(d["u1"], d["v1"]) + np.outer(d["u2"], d["v2"])
    x = d["x"] + d["beta"] * a.T @ d["y"] + d["z"]
    return {"A": a, "x": x, "w": d["w"] + d["alpha"] * a @ x}


def jacobi_2d(d: Data) -> dict[str, Any]:
    a, b = d["A"].copy(), d["B"].copy()
    for _ in range(7):
        for source, target in ((a, b), (b, a)):
            target[1:-1, 1:-1] = 0.2 * (source[1:-1, 1:-1] + source[1:-1, :-2] + source[1:-1, 2:] + source[2:, 1:-1]
                                        + source[:-2, 1:-1])
    return {"A": a, "B": b}


EXPECTED: dict[str, Callable[[Data], dict[str, Any]]] = {
    "gemm": gemm, "2mm": mm2, "atax": atax, "bicg": bicg, "mvt": mvt, "gesummv": gesummv, "gemver": gemver,
    "jacobi-2d": jacobi_2d}


def test_every_program_is_here() -> None:
    assert set(programs()) >= set(SIZES)
    assert all((FOLDER / f"{name}.h").is_file() and program_file(name).is_file() for name in programs())
    with pytest.raises(InputError, match=r"'gem'; there are: 2mm, atax"):
        program_file("gem")


@pytest.mark.parametrize("variant", [
    (), ("-DDATA_TYPE_IS_FLOAT",), ("-DPOLYBENCH_USE_C99_PROTO", "-DPOLYBENCH_TIME"),
    ("-DPOLYBENCH_STACK_ARRAYS", "-DPOLYBENCH_USE_SCALAR_LB", "-DPOLYBENCH_DUMP_ARRAYS")], ids=str)
@pytest.mark.parametrize("name", ["gemm", "jacobi-2d",
                                  *(pytest.param(n, marks=pytest.mark.slow) for n in SIZES
                                    if n not in ("gemm", "jacobi-2d"))])
def test_builds_without_warnings_and_runs(name: str, variant: tuple[str, ...], tmp_path: Path) -> None:
    program = tmp_path / name
    command = [find_compiler(), "-O3", "-Wall", "-Werror", "-DSMALL_DATASET", *variant, str(program_file(name)),
               str(FOLDER / "polybench.c"), "-o", str(program), "-lm"]
    subprocess.run(command, check=True)
    ended = subprocess.run([str(program)], check=True, capture_output=True, text=True)
    assert ("begin dump" in ended.stderr) == ("-DPOLYBENCH_DUMP_ARRAYS" in variant)
    assert bool(ended.stdout) == ("-DPOLYBENCH_TIME" in variant)


@pytest.mark.parametrize(("dataset", "float_"), [("C99", False), ("CONSTANT", True)])
@pytest.mark.parametrize("name", list(SIZES))
def test_computes_what_it_says(name: str, dataset: str, float_: bool) -> None:
    """Captured, with polybench.c linked because it lies beside the included polybench.h."""
    defines = (*SIZES[name], *(("POLYBENCH_USE_C99_PROTO",) if dataset == "C99" else ()),
               *(("DATA_TYPE_IS_FLOAT",) if float_ else ()))
    source = read_scop(program_file(name), Compilation(defines=defines))
    captured = capture(source, {}, lambda _: {}, seed=1, limit_s=60)
    assert captured.reference.origin == "capture" and captured.reference.warnings == ()
    assert captured.parameters == {s.split("=")[0].lower(): int(s.split("=")[1]) for s in SIZES[name]}
    expected = EXPECTED[name](captured.reference.inputs)
    assert set(expected) == set(captured.reference.outputs)
    for array, value in expected.items():
        found = captured.reference.outputs[array]
        assert found.dtype == (np.float32 if float_ else np.float64)
        np.testing.assert_allclose(found, value, rtol=1e-4 if float_ else 1e-12, err_msg=array)


@pytest.mark.parametrize("name", list(LARGE))
def test_the_large_dataset_is_the_default(name: str) -> None:
    command = [find_compiler(), "-E", "-P", "-DPOLYBENCH_USE_SCALAR_LB", "-include", str(FOLDER / "polybench.h"),
               "-include", str(FOLDER / f"{name}.h"), "-xc", "-"]
    macros = [s.split("=")[0] for s in SIZES[name]]
    ended = subprocess.run(command, input="SIZES: " + " ".join(f"_PB_{m}" for m in macros), text=True, check=True,
                           capture_output=True)
    assert tuple(map(int, ended.stdout.split("SIZES:")[1].split())) == LARGE[name]
