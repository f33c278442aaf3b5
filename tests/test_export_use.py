"""Exports as a user meets them: OpenCL from pip alone, paths with spaces, results that the function makes, times."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyopencl as cl
import pytest

from experiments.exports.kinds import Kind
from experiments.exports.opencl_api import CONSTANTS
from experiments.exports.opencl_here import bundled_libraries
from tests import support_exports as support
from tests.support_exports import suite_run
from tests.test_exports import AGREES, checked, exported, ran


def test_make_check_finds_what_pip_installed(tmp_path: Path) -> None:
    """Nothing of OpenCL is set or installed in the system, and the path has spaces; the loader alone is not enough."""
    bundled = bundled_libraries()
    if bundled is None:
        pytest.skip("pyopencl uses the system's loader")
    support.need_compiler()
    pocl = support.pocl_environment(tmp_path)
    if "ANTUNE_OPENCL_DEVICE" in pocl:
        pytest.skip("PoCL's compiler does not know this CPU, which nothing repairs for C programs")
    bare = {key: value for key, value in pocl.items() if key not in ("ANTUNE_OPENCL_LIBRARY", "OCL_ICD_VENDORS", "PYOPENCL_HOME")}
    folder = exported(suite_run(tmp_path / "run", "gemm"), Kind.opencl, tmp_path / "an export")
    assert (folder / "vendors" / "pocl.icd").read_text() == f"{bundled[1]}\n"
    text = checked(folder, {**bare, "ANTUNE_OPENCL_DEVICE": "Portable"})
    assert AGREES in text
    if shutil.which("cmake"):
        build = tmp_path / "a build"
        for command in (["cmake", "-S", str(folder), "-B", str(build)], ["cmake", "--build", str(build)], ["ctest", "--test-dir", str(build)]):
            done = ran(tmp_path, bare, *command)
            assert done.returncode == 0, done.stdout + done.stderr
    done = ran(folder, {**bare, "ANTUNE_OPENCL_LIBRARY": "/no/such.so"}, "make", "check")
    assert done.returncode and "ANTUNE_OPENCL_LIBRARY=/no/such.so cannot be loaded" in done.stderr


def test_the_numbers_of_opencl_are_right() -> None:
    """As the bindings of pyopencl have them."""
    known = {"PLATFORM_NAME": cl.platform_info.NAME, "DEVICE_NAME": cl.device_info.NAME, "PROGRAM_BUILD_LOG": cl.program_build_info.LOG,
             "MEM_READ_WRITE": cl.mem_flags.READ_WRITE, "MEM_READ_ONLY": cl.mem_flags.READ_ONLY, "R": cl.channel_order.R,
             "RG": cl.channel_order.RG, "UNSIGNED_INT32": cl.channel_type.UNSIGNED_INT32,
             "MEM_OBJECT_IMAGE2D": cl.mem_object_type.IMAGE2D, "MEM_OBJECT_IMAGE1D_BUFFER": cl.mem_object_type.IMAGE1D_BUFFER}
    assert dict(CONSTANTS) == {name: known.get(name, getattr(cl.status_code, name, None)) for name, _ in CONSTANTS}
