"""Exports as a user meets them: OpenCL from pip alone, paths with spaces, results that the function makes, times."""

from __future__ import annotations

import os
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pyopencl as cl
import pytest

from experiments.exports.kinds import Kind
from experiments.exports.opencl_api import CONSTANTS
from experiments.exports.opencl_here import bundled_libraries
from generator.plan import Plan
from tests.support import exports as support
from tests.support.cuda_runtime import build_on_host
from tests.support.exports import AGREES, checked, exported, ran, stored_run, suite_run
from tests.support.programs import write_c
from tests.support.slow import in_turn
from tests.support.targets import CUDA


@in_turn
def test_make_check_finds_what_pip_installed(tmp_path: Path) -> None:
    """Nothing of OpenCL is set or installed in the system, and the path has spaces; the loader alone is not enough."""
    bundled = bundled_libraries()
    if bundled is None:
        pytest.skip("pyopencl uses the system's loader")
    support.need_compiler()
    pocl = support.pocl_environment(tmp_path)
    if "ANTUNE_OPENCL_DEVICE" in pocl:
        pytest.skip("PoCL's compiler does not know this CPU, which nothing repairs for C programs")
    bare = {
        key: value
        for key, value in pocl.items()
        if key not in ("ANTUNE_OPENCL_LIBRARY", "OCL_ICD_VENDORS", "PYOPENCL_HOME")
    }
    folder = exported(suite_run(tmp_path / "run", "gemm"), Kind.opencl, tmp_path / "an export")
    assert (folder / "vendors" / "pocl.icd").read_text() == f"{bundled[1]}\n"
    text = checked(folder, {**bare, "ANTUNE_OPENCL_DEVICE": "Portable"})
    assert AGREES in text
    assert re.search(r"selfcheck: the kernels take [0-9.e+]+ (ns|us|ms) here on the wall clock, without copies; "
                     r"when tuned 4.00 ms of device time, 5.00 ms on the wall clock, on pthread \(PoCL\)", text)
    if shutil.which("cmake"):
        build = tmp_path / "a build"
        for command in (
            ["cmake", "-S", str(folder), "-B", str(build)],
            ["cmake", "--build", str(build)],
            ["ctest", "--test-dir", str(build)],
        ):
            done = ran(tmp_path, bare, *command)
            assert done.returncode == 0, done.stdout + done.stderr
    done = ran(folder, {**bare, "ANTUNE_OPENCL_LIBRARY": "/no/such.so"}, "make", "check")
    assert done.returncode and "ANTUNE_OPENCL_LIBRARY=/no/such.so cannot be loaded" in done.stderr


def test_the_numbers_of_opencl_are_right() -> None:
    """As the bindings of pyopencl have them."""
    known = {
        "PLATFORM_NAME": cl.platform_info.NAME,
        "DEVICE_NAME": cl.device_info.NAME,
        "PROGRAM_BUILD_LOG": cl.program_build_info.LOG,
        "MEM_READ_WRITE": cl.mem_flags.READ_WRITE,
        "MEM_READ_ONLY": cl.mem_flags.READ_ONLY,
        "R": cl.channel_order.R,
        "RG": cl.channel_order.RG,
        "SIGNED_INT32": cl.channel_type.SIGNED_INT32,
        "UNSIGNED_INT8": cl.channel_type.UNSIGNED_INT8,
        "UNSIGNED_INT16": cl.channel_type.UNSIGNED_INT16,
        "UNSIGNED_INT32": cl.channel_type.UNSIGNED_INT32,
        "FLOAT": cl.channel_type.FLOAT,
        "MEM_OBJECT_IMAGE2D": cl.mem_object_type.IMAGE2D,
        "MEM_OBJECT_IMAGE1D_BUFFER": cl.mem_object_type.IMAGE1D_BUFFER,
    }
    assert dict(CONSTANTS) == {name: known.get(name, getattr(cl.status_code, name, None)) for name, _ in CONSTANTS}


BLEND = """
#define N 12
static void blend(int n, float weight, const float *a, float *sum, const float *b, float *total, float *count) {
#pragma scop
  for (int i = 0; i < n; i++) sum[i] = weight * a[i] + b[i];
  for (int i = 0; i < n; i++) total[i] += sum[i];
  for (int i = 1; i < n; i++) count[i] = i;
#pragma endscop
}
int main(void) {
  static float a[N], b[N], sum[N], total[N], count[N];
  for (int i = 0; i < N; i++) a[i] = i, b[i] = 2 * i;
  blend(N, 0.5f, a, sum, b, total, count);
  return 0;
}
"""
USE = """
import numpy as np
from blend import blend
a, b, total = np.arange(12, dtype="f4"), np.ones(12, "f4"), np.full(12, 3, "f4")
kept = np.full(12, 9, "f4")
made, new, count = blend(0.5, a, b, total, kept)
assert (made == a / 2 + 1).all() and (new == made + 3).all()
assert (total == 3).all() and (kept == 9).all() and count[0] == 9 and count[5] == 5
place = np.empty(12, "f4")
assert blend(0.5, a, b, total, kept, sum=place, n=12)[0] is place and (place == made).all()
assert blend(0.5, a, b, total, kept, inplace=True)[1] is total and (total == new).all()
try:
    blend(0.5, a[:6], b, total, kept)
except ValueError as error:
    print(error)
"""


@in_turn
def test_a_python_function_makes_its_results(tmp_path: Path) -> None:
    """`out = mine(a, b)`: what is written as a whole need not be given; `count[0]` is kept, so `count` must be."""
    folder = exported(stored_run(tmp_path / "run", write_c(BLEND, tmp_path)), Kind.python, tmp_path / "a module")
    assert (
        "def blend(weight, a, b, total, count, *, sum=None, n=12, inplace=False):" in (folder / "blend.py").read_text()
    )
    (folder / "use.py").write_text(USE)
    done = ran(folder, os.environ, sys.executable, "use.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        "a must be a numpy array of float32 with shape (12,), the shape that the code was tuned for, not float32 with "
        "shape (6,)\n"
    )
    done = ran(folder, os.environ, sys.executable, "-m", "blend")
    assert done.returncode == 0 and "here on the wall clock, without copies; when tuned 4.00 ms of" in done.stdout, (
        done.stdout + done.stderr
    )


@in_turn
def test_a_python_module_finds_the_driver_of_pip_that_it_was_tuned_with(tmp_path: Path) -> None:
    if support.intel_library() is None:
        pytest.skip("the extra `intel` is not installed")
    run = suite_run(tmp_path / "run", "gemm", device=("some CPU", "Intel OpenCL"))
    folder = exported(run, Kind.python, tmp_path / "python")
    bare = {key: value for key, value in os.environ.items() if key != "OCL_ICD_VENDORS"}
    code = "import kernel_gemm as k; assert k.selfcheck(); print(k._opened.device.platform.name)"
    done = ran(folder, bare, sys.executable, "-c", code)
    assert done.returncode == 0 and done.stdout.endswith("Intel(R) OpenCL\n"), done.stdout + done.stderr
    (folder / "kernel_gemm_vendors" / "intel.icd").write_text("/no/such.so\n")
    done = ran(folder, {**bare, "ANTUNE_OPENCL_DEVICE": "Portable"}, sys.executable, "-c", code)
    assert done.returncode == 0 and done.stdout.endswith("Portable Computing Language\n"), done.stdout + done.stderr


def without_shared(plan: Plan) -> Plan:
    return replace(plan, kernels=tuple(replace(kernel, shared=False) for kernel in plan.kernels))


@pytest.mark.parametrize(("kind", "suffix"), [(Kind.cuda, "cu"), (Kind.hip, "hip")])
def test_the_rest_of_the_program_may_use_another_device(kind: Kind, suffix: str, tmp_path: Path) -> None:
    """Memory and kernels stay on the context's device when another one is the thread's current device."""
    run = suite_run(tmp_path / "run", "atax", without_shared, target=CUDA)
    folder = exported(run, kind, tmp_path / "export", 1)
    source, check = folder / f"kernel_atax.{suffix}", folder / "selfcheck.c"
    source.write_text(f'{source.read_text()}\nextern "C" void elsewhere(void) {{ (void){kind.value}SetDevice(1); }}\n')
    text = check.read_text().replace("  int failed = !context;", "  int failed = !context;\n  elsewhere();")
    check.write_text("void elsewhere(void);\n" + re.sub(r"(begin = selfcheck_clock_ms\(\);)", r"\1 elsewhere();", text))
    build_on_host(folder, suffix)
    done = ran(folder, os.environ, "./selfcheck")
    assert done.returncode == 0 and AGREES in done.stdout, done.stdout + done.stderr
