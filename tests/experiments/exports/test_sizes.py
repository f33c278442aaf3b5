"""Exports for several sizes: each is checked as it is made, the function takes them at run time and no others."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.exports.kinds import Kind
from experiments.exports.sizes import parse_size, sized
from experiments.store.seals import SEAL_FILE
from experiments.values.options import Budget, RunOptions
from generator.errors import InputError
from generator.frontend_c.source import Compilation, Invocation
from generator.plan import Plan
from runners.devices import find_device
from tests.support.cuda_runtime import build_on_host
from tests.support.exports import AGREES, checked, exported, placed, ran, stored_run
from tests.support.programs import write_c
from tests.support.slow import few, in_turn
from tests.support.suite import SUITE

# A size that is a macro, one that the program reads; two loops, of which one has the same kernel at all sizes of M.
SCALED = """
#include <stdio.h>
#include <stdlib.h>
#ifndef M
#define M 12
#endif
static double weight[32], A[64][M];
int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 20;
  for (int i = 0; i < n; i++) for (int j = 0; j < M; j++) A[i][j] = i - j;
#pragma scop
  for (int k = 0; k < 32; k++) weight[k] = 0.5 * k;
  for (int i = 0; i < n; i++) for (int j = 0; j < M; j++) A[i][j] = A[i][j] * weight[j] + 1;
#pragma endscop
  printf("%g %g\\n", A[n - 1][3], weight[2]);
  return 0;
}
"""

# Each element needs the one SHIFT before it: all are independent where there are at most SHIFT of them.
SHIFTED = """
#include <stdio.h>
#ifndef N
#define N 100
#endif
static double A[400];
int main(void) {
  for (int i = 0; i < 400; i++) A[i] = i;
#pragma scop
  for (int i = 0; i < N; i++) A[i + 100] = 0.5 * A[i];
#pragma endscop
  printf("%g\\n", A[150]);
  return 0;
}
"""


@pytest.fixture(scope="module")
def gemm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on this machine; evaluation 1 has one thread per block, evaluation 2 has arrays in constant memory."""
    folder = tmp_path_factory.mktemp("runs") / "gemm"
    return stored_run(folder, SUITE / "gemm.c", ("MINI_DATASET",),
                      [alone, lambda plan: placed("constant", "A", "B")(alone(plan))], here=find_device(None))


@pytest.fixture(scope="module")
def two_sizes(gemm: Path, pocl: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its default plan as a C function for two sizes, which was checked."""
    folder = exported(gemm, Kind.opencl, tmp_path_factory.mktemp("exports"), 0, ["NI=16 NJ=24 NK=8"])
    text = checked(folder, pocl)
    assert f"{AGREES} for ni = 20, nj = 25, nk = 30 (" in text and f"{AGREES} for ni = 16, nj = 24, nk = 8 (" in text
    return folder


def alone(plan: Plan) -> Plan:
    kernels = tuple(replace(kernel, shared=False, block=(1,) * len(kernel.block)) for kernel in plan.kernels)
    return replace(plan, kernels=kernels)


@pytest.mark.slow
def test_a_c_function_takes_the_sizes_that_it_was_exported_for(
    two_sizes: Path, pocl: Mapping[str, str], tmp_path: Path
) -> None:
    folder = shutil.copytree(two_sizes, tmp_path / "export")
    prototype = "void kernel_gemm(int ni, int nj, int nk, double alpha, double beta, void *C, void *A, void *B);"
    assert prototype in (folder / "kernel_gemm.h").read_text()
    (folder / "main.c").write_text("""
#include <stdio.h>
#include "kernel_gemm.h"
static double C[20][25], A[20][30], B[30][25], c[16][24], a[16][8], b[8][24];
int main(void) {
  A[2][0] = a[2][0] = 3;
  B[0][4] = b[0][4] = 5;
  C[2][4] = c[2][4] = 1;
  struct kernel_gemm_context *context = kernel_gemm_init();
  if (!context || !kernel_gemm_kernels(context)) return 1;
  puts(kernel_gemm_error());
  for (int k = 0; k < 2; ++k)
    if (kernel_gemm_run(context, 20, 25, 30, 2.0, 10.0, C, A, B) ||
        kernel_gemm_run(context, 16, 24, 8, 2.0, 10.0, c, a, b)) return 2;
  printf("%g %g %g\\n", C[2][4], c[2][4], c[2][3]);
  kernel_gemm_release(context);
  kernel_gemm(20, 25, 8, 2.0, 10.0, C, A, B);
  return 0;
}
""")
    built = ran(folder, pocl, "cc", "-std=c99", "-Wall", "-Werror", "main.c", "kernel_gemm.o", "-ldl", "-o", "main")
    assert built.returncode == 0, built.stderr
    done = ran(folder, pocl, "./main")
    assert (done.returncode, done.stdout.splitlines()[1]) == (1, "430 430 0"), done.stderr
    assert "call kernel_gemm_copy_in or kernel_gemm_run before kernel_gemm_kernels" in done.stdout
    assert ("there is no code for ni = 20, nj = 25, nk = 8, only for (ni = 20, nj = 25, nk = 30); "
            "(ni = 16, nj = 24, nk = 8)") in done.stderr


@in_turn
def test_a_size_with_wrong_code_is_found_out(two_sizes: Path, pocl: Mapping[str, str], tmp_path: Path) -> None:
    folder = shutil.copytree(two_sizes, tmp_path / "export")
    before, last, after = (folder / "kernels.cl").read_text().rpartition(" *= beta;")
    assert last and " *= beta;" in before
    (folder / "kernels.cl").write_text(f"{before} *= 2 * beta;{after}")
    done = ran(folder, pocl, "make", "check")
    assert done.returncode and f"{AGREES} for ni = 20" in done.stdout and "selfcheck: FAILED" in done.stdout


@in_turn
def test_the_shapes_of_arrays_tell_a_python_function_the_size(gemm: Path, tmp_path: Path) -> None:
    folder = exported(gemm, Kind.python, tmp_path, 2, ["NI=16 NJ=24 NK=8"])
    (folder / "use.py").write_text("""
import numpy as np
from kernel_gemm import kernel_gemm, selfcheck
assert selfcheck()
rng = np.random.default_rng(0)
for ni, nj, nk in (20, 25, 30), (16, 24, 8), (20, 25, 30), (5, 6, 7):
    A, B, C = rng.random((ni, nk)), rng.random((nk, nj)), rng.random((ni, nj))
    try:
        assert np.allclose(kernel_gemm(2.0, 10.0, C, A, B, ni=ni), 10.0 * C + 2.0 * A @ B)
    except ValueError as error:
        print(error)
""")
    done = ran(folder, os.environ, sys.executable, "use.py")
    assert done.returncode == 0, done.stderr
    *checks, refused = done.stdout.splitlines()
    assert [line.partition(" arrays")[0] for line in checks if "agree" in line] == ["selfcheck: ok: 1"] * 2
    assert refused == ("there is no code for ni = 5, C of shape (5, 6), A of shape (5, 7), B of shape (7, 6), only for "
                       "(ni = 20, nj = 25, nk = 30); (ni = 16, nj = 24, nk = 8)")


@in_turn
@pytest.mark.parametrize(("number", "namespaces"), few([(2, True), (1, False)], 1))
def test_a_cuda_export_has_all_sizes(number: int, namespaces: bool, gemm: Path, tmp_path: Path) -> None:
    """Evaluation 2 has arrays in constant memory, whose names are the same at all sizes."""
    folder = exported(gemm, Kind.cuda, tmp_path, number, ["NI=16 NJ=24 NK=8"])
    assert ("namespace" in (folder / "kernels.cu").read_text()) == namespaces
    build_on_host(folder)
    for program in "./selfcheck", "./selfcheck_2":
        done = ran(folder, os.environ, program)
        assert done.returncode == 0 and AGREES in done.stdout, done.stdout + done.stderr


@pytest.mark.slow
def test_macros_and_variables_become_parameters(pocl: Mapping[str, str], tmp_path: Path) -> None:
    """The kernel that has the same text at all sizes is there once."""
    run = stored_run(tmp_path / "run", write_c(SCALED, tmp_path), here=find_device(None))
    folder = exported(run, Kind.opencl, tmp_path / "export", None, ["M=8", "M=16 --args='24 ignored'"])
    assert "void main_scop(double weight[32], void *A, int n, int M);" in (folder / "main_scop.h").read_text()
    text = checked(folder, pocl)
    for size in "n = 20, M = 12", "n = 20, M = 8", "n = 24, M = 16":
        assert f"{AGREES} for {size} (" in text
    assert (folder / "kernels.cl").read_text().count("__kernel") == 4


@in_turn
def test_a_plan_that_is_illegal_at_a_size_is_refused(tmp_path: Path) -> None:
    run = stored_run(tmp_path / "run", write_c(SHIFTED, tmp_path), here=find_device(None))
    exported(run, Kind.c_header, tmp_path / "fine", None, ["N=50"])
    refused = r"--size 'N=200': the plan of evaluation 0 does not work there \(illegal\): .*; choose another with --pl"
    with pytest.raises(InputError, match=refused):
        exported(run, Kind.c_header, tmp_path / "export", None, ["N=50", "N=200"])
    assert not (tmp_path / "export").exists()


@in_turn
def test_what_is_no_size_is_refused(gemm: Path, tmp_path: Path) -> None:
    for size, message in (
        ("", "is not a size"),
        ("-DNI=3", "is not a size"),
        ("NI='3", "cannot be read"),
        ("XYZ=3", "'XYZ=3' makes the same program as the tuned size"),
        ("NI=0", "the SCoP holds no statement"),
    ):
        with pytest.raises(InputError, match=f"--size .*{message}"):
            exported(gemm, Kind.opencl, tmp_path / "export", None, [size])
    with pytest.raises(InputError, match="--size: --to csv exports no code"):
        exported(gemm, Kind.csv, tmp_path / "export", None, ["NI=8"])


def test_the_source_must_be_what_was_tuned(tmp_path: Path) -> None:
    """And the run the user's own."""
    file = write_c(SCALED, tmp_path)
    run = stored_run(tmp_path / "run", file, here=find_device(None))
    text = file.read_text()
    file.write_text(text + "\n")
    with pytest.raises(InputError, match="changed since it was tuned, so that other sizes would be of another program"):
        exported(run, Kind.opencl, tmp_path / "export", None, ["M=8"])
    file.write_text(text)
    shutil.move(run / SEAL_FILE, tmp_path / "elsewhere")
    with pytest.raises(InputError, match="was not begun by you on this machine; give --trust"):
        exported(run, Kind.opencl, tmp_path / "export", None, ["M=8"])


def test_a_size_replaces_what_was_said_of_it() -> None:
    compilation = Compilation(defines=("N=4", "FAST", "MINI_DATASET"), invocation=Invocation(("10",)))
    options = RunOptions("f.c", compilation, Budget(evaluations=1), parameters=(("k", 3),))
    changed = sized(options, parse_size("N=8 k=5 SMALL_DATASET --args='20 a'"), {"k"})
    assert changed.compilation.defines == ("FAST", "N=8", "SMALL_DATASET")
    assert (changed.parameters, changed.compilation.invocation.arguments) == ((("k", 5),), ("20", "a"))
    with pytest.raises(InputError, match="k is a size of the function; give it a number"):
        sized(options, parse_size("k=N"), {"k"})
