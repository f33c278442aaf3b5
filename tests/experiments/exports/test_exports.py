"""Exports of code: built by make and run, with nothing of antune."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from experiments.exports.kinds import Kind
from generator.errors import InputError
from generator.plan import KernelPlan, Plan
from generator.schedules.time_tiles import TimeTiles
from tests.support import exports as support
from tests.support.cuda_runtime import build_on_host
from tests.support.exports import (
    AGREES,
    GPU,
    STRICT,
    checked,
    exported,
    intel_library,
    placed,
    ran,
    stored_run,
    suite_run,
)
from tests.support.programs import write_c
from tests.support.slow import few
from tests.support.suite import SUITE

SLOW = ("durbin", "lu", "deriche", "gramschmidt", "nussinov")


@pytest.fixture(scope="module")
def gemm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return suite_run(tmp_path_factory.mktemp("runs") / "gemm", "gemm", unrolled)


def unrolled(plan: Plan) -> Plan:
    return replace(plan, kernels=tuple(replace(k, unroll=2) for k in plan.kernels))


def spoil(folder: Path) -> None:
    """Make the exported kernels compute something else."""
    text = (folder / "kernels.cl").read_text()
    assert " *= beta;" in text
    (folder / "kernels.cl").write_text(text.replace(" *= beta;", " *= 2 * beta;"))


def stepped(plan: Plan) -> Plan:
    """Several time steps per launch: the kernel has arrays of its own."""
    kernel = KernelPlan(tuple(sorted(name for k in plan.kernels for name in k.statements)), (8, 16), (1, 1))
    return Plan(TimeTiles(3), (kernel,))


def test_an_export_with_time_steps_agrees_with_the_sequential_code(pocl: Mapping[str, str], tmp_path: Path) -> None:
    folder = exported(suite_run(tmp_path / "run", "jacobi-2d", stepped), Kind.opencl, tmp_path / "export", 1)
    assert "A_next" in (folder / "kernels.cl").read_text()
    assert AGREES in checked(folder, pocl)


@pytest.mark.parametrize("name", few(["2mm", "jacobi-2d", *SLOW], 1))
def test_an_opencl_export_agrees_with_the_sequential_code(name: str, pocl: Mapping[str, str], tmp_path: Path) -> None:
    """A time-stepping stencil has host loops, 2mm several kernels."""
    folder = exported(suite_run(tmp_path / "run", name), Kind.opencl, tmp_path / "export")
    assert AGREES in checked(folder, pocl)


def test_a_wrong_export_is_found_out(gemm: Path, pocl: Mapping[str, str], tmp_path: Path) -> None:
    folder = exported(gemm, Kind.opencl, tmp_path)
    assert AGREES in checked(folder, pocl)
    spoil(folder)
    done = ran(folder, pocl, "make", "check")
    assert done.returncode and "selfcheck: FAILED" in done.stdout
    assert "C: element 0 (counted row by row) is" in done.stderr


def test_the_device_is_chosen_by_a_variable(gemm: Path, pocl: Mapping[str, str], tmp_path: Path) -> None:
    folder = exported(gemm, Kind.opencl, tmp_path)
    assert AGREES in checked(folder,
                             {"ANTUNE_OPENCL_DEVICE": "Portable", **pocl})  # or Intel, where PoCL does not know the CPU
    assert "POCL_AFFINITY=1" in (folder / "kernel_gemm.h").read_text()
    done = ran(folder, {**pocl, "ANTUNE_OPENCL_DEVICE": "no such"}, "./selfcheck")
    assert done.returncode == 1
    assert "kernel_gemm: no OpenCL device is called ANTUNE_OPENCL_DEVICE=no such; there are: " in done.stderr
    assert "Portable Computing Language: " in done.stderr


def test_the_platform_is_that_of_the_tuned_device(pocl: Mapping[str, str], tmp_path: Path) -> None:
    """Also where the device has another name."""
    if not intel_library() or "OCL_ICD_VENDORS" in os.environ or "ANTUNE_OPENCL_DEVICE" in pocl:
        pytest.skip("needs Intel's runtime beside PoCL, and a CPU that PoCL knows")
    for platform, runs in (("PoCL", False), ("Intel OpenCL", True)):  # as if PoCL's compiler failed
        run = suite_run(tmp_path / platform, "gemm", device=("some CPU", platform))
        folder = exported(run, Kind.opencl, tmp_path / f"{platform} export")
        assert ("POCL_AFFINITY=1" in (folder / "kernel_gemm.h").read_text()) == (platform == "PoCL")
        kernels = folder / "kernels.cl"
        kernels.write_text(f'#ifdef POCL_DEVICE_ADDRESS_BITS\n#error "compiled by PoCL"\n#endif\n{kernels.read_text()}')
        done = ran(folder, pocl, "make", "check")
        assert (AGREES in done.stdout) == runs and ("compiled by PoCL" in done.stderr) != runs, done.stderr


def test_other_sizes_are_refused(gemm: Path, pocl: Mapping[str, str], tmp_path: Path) -> None:
    """Also: a context runs any number of times, and the header alone does as well as the directory."""
    folder = exported(gemm, Kind.c_header, tmp_path)
    assert [path.name for path in folder.iterdir()] == ["kernel_gemm.h"]
    (folder / "main.c").write_text("""
#include "kernel_gemm.h"
static double C[20][25], A[20][30], B[30][25];
int main(void) {
  struct kernel_gemm_context *context = kernel_gemm_init();
  if (!context) return puts(kernel_gemm_error()), 2;
  A[2][0] = 3;
  B[0][4] = 5;
  C[2][4] = 1;
  for (int k = 0; k < 2; ++k)
    if (kernel_gemm_run(context, 20, 25, 30, 2.0, 10.0, C, A, B)) return puts(kernel_gemm_error()), 3;
  printf("%g %g\\n", C[2][4], C[2][3]);
  kernel_gemm_release(context);
  kernel_gemm(20, 25, 31, 2.0, 10.0, C, A, B);
  return 0;
}
""")
    for compiler in (["cc", "-std=c99"], ["c++", "-std=c++11", "-x", "c++"]):
        built = ran(folder, pocl, *compiler, "-Wall", "-Wextra", "-Werror", "main.c", "-ldl", "-o", "main")
        assert built.returncode == 0, built.stderr
        done = ran(folder, pocl, "./main")
        assert (done.returncode, done.stdout) == (1, "430 0\n"), done.stderr
        assert "nk is 31, but the code was tuned for 30 and works for that only" in done.stderr


# Sizes, scalars and arrays from everywhere: what the SCoP takes from outside becomes a parameter, in this order.
SCATTERED = """
typedef double real;
typedef struct { int unused; } options;
int size = 24;
static real table[24];
real total = 1.5;
static void work(int n, int lda, const real *x, real (*pair)[2][24], options *how, real first, char tag,
                 real A[n][lda]) {
  real scratch[n];
  real weight = 0.25 * first;
  (void)how; (void)tag;
  int i, j;
#pragma scop
  for (i = 0; i < size; i++) {
    real halved = 0.5 * x[i];
    scratch[i] = halved + table[i];
  }
  for (i = 0; i < n; i++)
    for (j = 0; j < 20; j++)
      A[i][j] = A[i][j] * weight + scratch[i] + (*pair)[1][j];
  for (i = 0; i < n; i++)
    total += A[i][3];
  first = first * 2;
#pragma endscop
  table[0] = first;
}
int main(void) {
  static real x[24], pair[2][24], A[24][20];
  for (int i = 0; i < 24; i++) {
    x[i] = i; pair[0][i] = 1; pair[1][i] = i * 3; table[i] = 1.0 / (i + 1);
    for (int j = 0; j < 20; j++) A[i][j] = i - j;
  }
  work(24, 20, x, &pair, 0, 4.0, 'a', A);
  return 0;
}
"""


def test_what_a_scop_takes_from_elsewhere_is_a_parameter(pocl: Mapping[str, str], tmp_path: Path) -> None:
    run = stored_run(tmp_path / "run", write_c(SCATTERED, tmp_path))
    folder = exported(run, Kind.opencl, tmp_path / "export")
    header = (folder / "work.h").read_text()
    assert ("void work(int n, int lda, const double x[24], double (*pair)[2][24], void *how, double *first, char tag, "
            "double A[24][20], double weight, double table[24], double *total);") in header
    assert "`weight`, `table`, `total`: no parameter of the original function" in header.replace("\n * ", " ")
    assert "`first`: passed by address" in header.replace("\n * ", " ")
    assert AGREES in checked(folder, pocl)
    python = exported(run, Kind.python, tmp_path / "python")
    done = ran(python, pocl, sys.executable, "-m", "work")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_lost_header_leaves_sizes_scalars_arrays(pocl: Mapping[str, str], tmp_path: Path) -> None:
    for name in ("gemm.c", "gemm.h", "polybench.c", "polybench.h"):
        shutil.copy(SUITE / name, tmp_path / name)
    run = stored_run(tmp_path / "run", tmp_path / "gemm.c", ("MINI_DATASET",))
    (tmp_path / "gemm.h").unlink()
    folder = exported(run, Kind.opencl, tmp_path / "export")
    header = (folder / "kernel_gemm.h").read_text()
    assert "The original declarations could not be read again" in header
    assert ("void kernel_gemm(long ni, long nj, long nk, double alpha, double beta, double C[20][25], "
            "double A[20][30], double B[30][25]);") in header
    assert "agree with the results that the tuning run stored" in checked(folder, pocl)


def checked_everywhere(run: Path, folder: Path, environment: Mapping[str, str]) -> str:
    """The text of the kernels of evaluation 1, whose OpenCL and Python exports agree with the original."""
    opencl = exported(run, Kind.opencl, folder / "opencl", 1)
    assert AGREES in checked(opencl, environment)
    python = exported(run, Kind.python, folder / "python", 1)
    module = next(python.glob("*.py")).stem
    done = ran(python, environment, sys.executable, "-m", module)
    assert done.returncode == 0, done.stdout + done.stderr
    return (opencl / "kernels.cl").read_text()


@pytest.mark.slow
def test_constant_memory(pocl: Mapping[str, str], tmp_path: Path) -> None:
    run = suite_run(tmp_path / "run", "gemm", placed("constant", "A", "B"))
    assert "__constant const double" in checked_everywhere(run, tmp_path, pocl)


@pytest.mark.parametrize(
    ("name", "array", "kind"), few([("gemm", "A", "image2d_t"), ("atax", "x", "image1d_buffer_t")], 1)
)
def test_textures(name: str, array: str, kind: str, pocl: Mapping[str, str], tmp_path: Path) -> None:
    """PoCL has no texels of two words: doubles are two texels there."""
    run = suite_run(tmp_path / "run", name, placed("texture", array), target=replace(GPU, image_pairs=False))
    assert kind in checked_everywhere(run, tmp_path, pocl)


@pytest.mark.parametrize("name", few(["gemm", "jacobi-2d"], 1))
def test_a_python_module_checks_itself(name: str, gemm: Path, tmp_path: Path) -> None:
    run = gemm if name == "gemm" else suite_run(tmp_path / "run", name)
    folder = exported(run, Kind.python, tmp_path / "python")
    module = next(folder.glob("*.py"))
    clean = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = ran(folder, clean, sys.executable, "-m", module.stem)
    assert done.returncode == 0 and done.stdout.startswith("selfcheck: ok"), done.stdout + done.stderr


@pytest.mark.slow
def test_a_python_module_with_time_steps_checks_itself(tmp_path: Path) -> None:
    folder = exported(suite_run(tmp_path / "run", "fdtd-2d", stepped), Kind.python, tmp_path / "python", 1)
    done = ran(folder, {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}, sys.executable, "-m",
               next(folder.glob("*.py")).stem)
    assert done.returncode == 0 and done.stdout.startswith("selfcheck: ok"), done.stdout + done.stderr


def test_the_python_function_takes_numpy_arrays(gemm: Path, tmp_path: Path) -> None:
    folder = exported(gemm, Kind.python, tmp_path)
    (folder / "use.py").write_text("""
import numpy as np
from kernel_gemm import kernel_gemm
rng = np.random.default_rng(0)
A, B, C = rng.random((20, 30)), rng.random((30, 25)), rng.random((20, 25))
want = 10.0 * C + 2.0 * A @ B
before = C.copy()
assert np.allclose(kernel_gemm(2.0, 10.0, C, A, B, ni=20, nj=25, nk=30), want)
assert (C == before).all()
assert kernel_gemm(2.0, 10.0, C, A, B, inplace=True) is C
assert np.allclose(C, want)
C.flags.writeable = False
for bad in (lambda: kernel_gemm(2.0, 10.0, C, A, B, nk=31), lambda: kernel_gemm(2.0, 10.0, C, A.astype("float32"), B),
            lambda: kernel_gemm(2.0, 10.0, C, A, B[:, :5]), lambda: kernel_gemm(2.0, 10.0, C, A, B, inplace=True)):
    try:
        bad()
    except ValueError as error:
        print(error)
""")
    done = ran(folder, os.environ, sys.executable, "use.py")
    assert done.returncode == 0, done.stderr
    first, second, third, fourth = done.stdout.splitlines()
    assert third.startswith("B must be a numpy array of float64 with shape (30, 25), the shape that the code was "
                            "tuned for, not ")
    assert third.endswith("float64 with shape (30, 5)") and fourth == "C must be writeable: it takes a result"
    assert first == "nk is 31, but the code was tuned for 30 and works for that only"
    assert second.startswith("A must be a numpy array of float64 with shape (20, 30), the shape that the code was "
                             "tuned for, not float32")


CUDA = replace(GPU, dialect="cuda", sub_group=32, local_bytes=227 * 1024, capability=(9, 0))


def shared_much(plan: Plan) -> Plan:
    return replace(plan, kernels=tuple(replace(k, shared=True, cache="shared") for k in plan.kernels))


@pytest.mark.parametrize(("name", "changes"), few([
    ("gemm", (placed("texture", "A", "B"),)), ("jacobi-2d", ()), ("2mm", (placed("constant", "A"),)),
    ("gemm", (shared_much,))], 1))
def test_a_cuda_export_compiles(name: str, changes: tuple[support.Change, ...], tmp_path: Path) -> None:
    if shutil.which("nvcc") is None:
        pytest.skip("nvcc is not installed")
    folder = exported(suite_run(tmp_path / "run", name, *changes, target=CUDA), Kind.cuda, tmp_path / "export")
    done = ran(folder, os.environ, "make", STRICT, "NVCCFLAGS=-O1 -Werror all-warnings")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (folder / "selfcheck").exists()


def without_shared(plan: Plan) -> Plan:
    return replace(plan, kernels=tuple(replace(k, shared=False, cache="l1") for k in plan.kernels))


@pytest.mark.parametrize(("name", "change"), few([
    ("jacobi-2d", stepped), ("gemm", placed("texture", "A", "B")), ("jacobi-2d", without_shared),
    ("gemm", placed("constant", "A", "B")), ("atax", placed("texture", "x"))], 1))
def test_a_cuda_export_agrees_on_a_pretended_device(name: str, change: support.Change, tmp_path: Path) -> None:
    run = suite_run(tmp_path / "run", name, lambda plan: change(plan if change is stepped else without_shared(plan)),
                    target=CUDA)
    folder = exported(run, Kind.cuda, tmp_path / "export", 1)
    build_on_host(folder)
    done = ran(folder, os.environ, "./selfcheck")
    assert done.returncode == 0 and AGREES in done.stdout, done.stdout + done.stderr


def test_cuda_memory_is_as_the_kernels_say(tmp_path: Path) -> None:
    def large(plan: Plan) -> Plan:
        return replace(plan, kernels=tuple(
            replace(k, shared=True, tile=(16, 16), block=(16, 16), inner_tile=256, cache="l1") for k in plan.kernels))

    run = stored_run(tmp_path / "run", SUITE / "gemm.c", ("NI=64", "NJ=64", "NK=256"), (large,), CUDA)
    text = (exported(run, Kind.cuda, tmp_path / "export") / "kernel_gemm.cu").read_text()
    assert "kernel_gemm_shared((const void *)kernel0" in text
    assert "kernel_gemm_divide((const void *)kernel0, \"kernel0\", 0, " in text


class Spilling:
    """Stands for a CUDA compiler that spills registers unless it is asked for one block per multiprocessor."""

    name: Literal["NVRTC"] = "NVRTC"
    version = (13, 0)

    def capabilities(self) -> tuple[tuple[int, int], ...]:
        return ((9, 0),)

    def translate(self, text: str, capability: tuple[int, int]) -> tuple[bytes, str]:
        ((bounds, name),) = re.findall(r"__launch_bounds__\(([^)]*)\)\s+void (\w+)\(", text)
        spilled = 0 if bounds.endswith(", 1") else 8
        return b"", (f"Compiling entry function '{name}' for 'sm_90'\n0 bytes stack frame, {spilled} bytes spill "
                     "stores, "
                     f"{spilled} bytes spill loads\nUsed 32 registers\n")


def test_cuda_kernels_have_the_bounds_with_which_they_were_timed(gemm: Path, tmp_path: Path,
                                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    run = suite_run(tmp_path / "run", "gemm", target=CUDA)
    monkeypatch.setattr("experiments.exports.cuda.open_translator", Spilling)
    folder = exported(run, Kind.cuda, tmp_path / "bounded")
    bounds = re.findall(r"__launch_bounds__\((.*)\)", (folder / "kernels.cu").read_text())
    assert bounds and all(re.fullmatch(r"\d+, 1", bound) for bound in bounds)
    assert "These were found by NVRTC 13.0 for sm_90." in words_of(folder / "kernel_gemm.h")

    def nothing() -> Spilling:
        raise InputError("no CUDA compiler is installed")

    monkeypatch.setattr("experiments.exports.cuda.open_translator", nothing)
    for source in (run, gemm):  # gemm was tuned elsewhere: the architecture is not known
        folder = exported(source, Kind.cuda, tmp_path / source.name / "plain")
        assert all(re.fullmatch(r"\d+", bound) for bound in re.findall(r"__launch_bounds__\((.*)\)",
                                                                       (folder / "kernels.cu").read_text()))
        assert "no CUDA compiler for the tuned device was at hand" in words_of(folder / "kernel_gemm.h")


def words_of(header: Path) -> str:
    """A file on one line, without what makes comments of its lines."""
    return " ".join(header.read_text().replace("*", " ").split())


def test_an_opencl_plan_can_become_cuda(gemm: Path, tmp_path: Path) -> None:
    header = (exported(gemm, Kind.cuda, tmp_path) / "kernel_gemm.h").read_text()
    assert "The plan was tuned in opencl and was never timed as cuda." in header


def test_only_timed_evaluations_that_exist_are_exported(tmp_path: Path) -> None:
    run = support.with_failures(tmp_path / "run")
    with pytest.raises(InputError, match=r"--plan 2: that evaluation failed \(compile failed\); choose one that"):
        exported(run, Kind.json, tmp_path / "out", 2)
    with pytest.raises(InputError, match=r"--plan 7: .* has no such evaluation; its evaluations are 0 .* to 5"):
        exported(run, Kind.opencl, tmp_path / "out", 7)
    with pytest.raises(InputError, match="--to csv holds all plans of the run; leave --plan out"):
        exported(run, Kind.csv, tmp_path / "out", 1)
    assert not (tmp_path / "out").exists()


def test_nothing_is_overwritten(gemm: Path, tmp_path: Path) -> None:
    exported(gemm, Kind.c_header, tmp_path)
    with pytest.raises(InputError, match=r"kernel_gemm.h is there already, and nothing was written"):
        exported(gemm, Kind.opencl, tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        exported(gemm, Kind.opencl, tmp_path / "file")
