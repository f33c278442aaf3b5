"""The C programs of the PolyBench suite: they build cleanly, take any size, and compute what they say."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from experiments.suites.polybench import program_file, programs
from generator.capture import capture
from generator.errors import InputError
from generator.frontend_c.parse import read_scop
from generator.frontend_c.preprocess import find_compiler
from generator.frontend_c.source import Compilation
from tests.support.oracles import ORACLES
from tests.support.slow import few
from tests.support.suite import ALL_NAMES, ODD_SIZES, PARAMETERS, polybench_program, problem

FOLDER = program_file("gemm").parent

INTEGER = ("floyd-warshall", "nussinov")  # unless another element type is asked for
CANCELLING = ("gramschmidt", "trisolv")  # some results cancel to almost 0: they are judged by the greatest one
LOSSY = ("durbin",)  # the recurrence itself loses a digit more than the others
TYPES = {"DATA_TYPE_IS_DOUBLE": (np.float64, 1e-12), "DATA_TYPE_IS_FLOAT": (np.float32, 1e-4)}


def test_every_program_is_here() -> None:
    assert programs() == ALL_NAMES == tuple(sorted(PARAMETERS)) == tuple(sorted(ORACLES))
    assert all((FOLDER / f"{name}.h").is_file() and program_file(name).is_file() for name in programs())
    with pytest.raises(InputError, match=r"'gem'; there are: 2mm, 3mm, adi"):
        program_file("gem")


@pytest.mark.parametrize("variant", [
    (), ("-DDATA_TYPE_IS_FLOAT",), ("-DPOLYBENCH_USE_C99_PROTO", "-DPOLYBENCH_TIME"),
    ("-DPOLYBENCH_STACK_ARRAYS", "-DPOLYBENCH_USE_SCALAR_LB", "-DPOLYBENCH_DUMP_ARRAYS")], ids=str)
@pytest.mark.parametrize("name", few(ALL_NAMES, ("jacobi-2d",)))
def test_builds_without_warnings_and_runs(name: str, variant: tuple[str, ...], tmp_path: Path) -> None:
    program = tmp_path / name
    command = [find_compiler(), "-O3", "-Wall", "-Werror", "-DSMALL_DATASET", *variant, str(program_file(name)),
               str(FOLDER / "polybench.c"), "-o", str(program), "-lm"]
    subprocess.run(command, check=True)
    ended = subprocess.run([str(program)], check=True, capture_output=True, text=True)
    assert ("begin dump" in ended.stderr) == ("-DPOLYBENCH_DUMP_ARRAYS" in variant)
    assert "nan" not in ended.stderr and "inf" not in ended.stderr
    assert bool(ended.stdout) == ("-DPOLYBENCH_TIME" in variant)


def check(name: str, element: str, defines: tuple[str, ...]) -> None:
    """Capture the program, with polybench.c linked because it lies beside the included polybench.h."""
    sizes = dict(zip(PARAMETERS[name][0].split(), PARAMETERS[name][2], strict=True))
    source = read_scop(program_file(name), Compilation(
        defines=(*(f"{size}={value}" for size, value in sizes.items()), *defines)))
    captured = capture(source, {}, lambda *_: {}, seed=1, limit_s=60)
    assert captured.reference.origin == "capture" and captured.reference.warnings == ()
    assert captured.parameters == {size.lower(): value for size, value in sizes.items()}
    expected = ORACLES[name](captured.reference.inputs)
    assert set(expected) == set(captured.reference.outputs)
    dtype, rtol = TYPES.get(element, (np.int32, 0))
    rtol *= 10 if name in LOSSY else 1
    for array, value in expected.items():
        found = captured.reference.outputs[array]
        assert found.dtype == dtype
        atol = rtol * np.abs(value).max() if name in CANCELLING else 0
        np.testing.assert_allclose(found, value, rtol=rtol, atol=atol, err_msg=array)


@pytest.mark.parametrize("name", few(ALL_NAMES, ("2mm", "seidel-2d")))
def test_computes_what_it_says(name: str) -> None:
    check(name, "DATA_TYPE_IS_DOUBLE", ("DATA_TYPE_IS_DOUBLE", "POLYBENCH_USE_C99_PROTO"))


@pytest.mark.parametrize("name", few(ALL_NAMES, ("3mm",)))
def test_computes_what_it_says_in_float(name: str) -> None:
    check(name, "DATA_TYPE_IS_FLOAT", ("DATA_TYPE_IS_FLOAT",))


@pytest.mark.parametrize("name", INTEGER)
def test_computes_what_it_says_in_integers(name: str) -> None:
    check(name, "DATA_TYPE_IS_INT", ())


@pytest.mark.parametrize("name", ALL_NAMES)
def test_the_large_dataset_is_the_default(name: str) -> None:
    command = [find_compiler(), "-E", "-P", "-DPOLYBENCH_USE_SCALAR_LB", "-include", str(FOLDER / "polybench.h"),
               "-include", str(FOLDER / f"{name}.h"), "-xc", "-"]
    macros = PARAMETERS[name][0].split()
    ended = subprocess.run(command, input="SIZES: " + " ".join(f"_PB_{m}" for m in macros), text=True, check=True,
                           capture_output=True)
    assert tuple(map(int, ended.stdout.split("SIZES:")[1].split())) == PARAMETERS[name][1]


@pytest.mark.parametrize("name", few(ALL_NAMES, ("gemm", "jacobi-1d")))
def test_the_program_read_alone_is_that_of_its_run(name: str) -> None:
    """Of which tests take it if they need neither data nor results."""
    for defines in (("MINI_DATASET",), ODD_SIZES[name]):
        assert polybench_program(name, defines) == problem(name, defines).program
