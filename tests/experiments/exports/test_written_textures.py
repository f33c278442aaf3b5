"""Arrays that one kernel writes and another reads as a texture, in exports."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.exports.kinds import Kind
from tests.support import exports as support
from tests.support.cuda_runtime import build_on_host
from tests.support.exports import AGREES, GPU, checked, exported, ran, stored_run
from tests.support.written import TURNED, textured

CUDA = replace(GPU, dialect="cuda", sub_group=32, local_bytes=227 * 1024, capability=(9, 0))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "turned.c").write_text(TURNED)
    return tmp_path / "turned.c"


@pytest.fixture
def intel(tmp_path: Path) -> Mapping[str, str]:
    """An environment for C programs on a device that reads images."""
    support.need_compiler()
    if support.intel_library() is None:
        pytest.skip("the extra `intel` is not installed, PoCL reads no images")
    return {**support.pocl_environment(tmp_path), "ANTUNE_OPENCL_DEVICE": "Intel"}


def test_opencl_and_python_exports_agree(file: Path, intel: Mapping[str, str], tmp_path: Path) -> None:
    run = stored_run(tmp_path / "run", file, (), [textured])
    folder = exported(run, Kind.opencl, tmp_path / "opencl", 1)
    text = (folder / "kernels.cl").read_text()
    assert "image1d_buffer_t halves" in text and "__global float *restrict halves" in text
    assert AGREES in checked(folder, intel)
    python = exported(run, Kind.python, tmp_path / "python", 1)
    done = ran(python, intel, sys.executable, "-m", next(python.glob("*.py")).stem)
    assert done.returncode == 0 and "selfcheck: ok" in done.stdout, done.stdout + done.stderr


def test_a_cuda_export_agrees_on_a_pretended_device(file: Path, tmp_path: Path) -> None:
    support.need_compiler()
    folder = exported(stored_run(tmp_path / "run", file, (), [textured], CUDA), Kind.cuda, tmp_path / "export", 1)
    build_on_host(folder)
    done = ran(folder, os.environ, "./selfcheck")
    assert done.returncode == 0 and AGREES in done.stdout, done.stdout + done.stderr
