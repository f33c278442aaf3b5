"""Arrays that one kernel writes and another reads as a texture, in exports."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.exports.kinds import Kind
from generator.plan import Placement
from runners.base import DeviceInfo
from tests.support import exports as support
from tests.support.cuda_runtime import build_on_host
from tests.support.devices import device_named
from tests.support.exports import AGREES, GPU, checked, exported, ran, stored_run
from tests.support.slow import few, in_turn
from tests.support.written import SMALL, TURNED, small_textures, textured

CUDA = replace(GPU, dialect="cuda", sub_group=32, local_bytes=227 * 1024, capability=(9, 0))
MEMORIES: tuple[Placement, ...] = ("texture", "texture2d")
CASES = [(platform, memory) for platform in ("PoCL", "Intel OpenCL") for memory in MEMORIES]


def file(folder: Path, text: str) -> Path:
    (folder / "program.c").write_text(text)
    return folder / "program.c"


def environment_on(platform: str, memory: Placement, folder: Path) -> tuple[DeviceInfo, Mapping[str, str]]:
    """A device, and an environment in which C programs use it. Skips the test if the device cannot do this."""
    support.need_compiler()
    environment = support.pocl_environment(folder)
    if platform == "Intel OpenCL" and support.intel_library() is None:
        pytest.skip("the extra `intel` is not installed")
    if platform == "PoCL" and "ANTUNE_OPENCL_DEVICE" in environment:
        pytest.skip("PoCL does not know this CPU, which nothing repairs for C programs")
    device = device_named(platform)
    if not device.target.images or (memory == "texture2d" and not device.target.image_pitch):
        pytest.skip(f"{device.name} says that it has no such images")
    return device, {**environment, "ANTUNE_OPENCL_DEVICE": device.name}


@in_turn
@pytest.mark.parametrize(("platform", "memory"), few(CASES, (CASES[0], CASES[3])))
def test_opencl_and_python_exports_agree(platform: str, memory: Placement, tmp_path: Path) -> None:
    """The plan is for the real device, whose rows of two-dimensional images have units of their own."""
    device, environment = environment_on(platform, memory, tmp_path)
    run = stored_run(tmp_path / "run", file(tmp_path, SMALL), (), [small_textures(memory)], here=device)
    folder = exported(run, Kind.opencl, tmp_path / "opencl", 1)
    text = (folder / "kernels.cl").read_text()
    for name in ("bytes", "shorts") if memory == "texture" else ("bytes_rows", "shorts_rows"):
        assert f"{'image2d' if memory == 'texture2d' else 'image1d_buffer'}_t {name}" in text
        assert f"*restrict {name}" in text
    assert AGREES in checked(folder, environment)
    python = exported(run, Kind.python, tmp_path / "python", 1)
    done = ran(python, environment, sys.executable, "-m", next(python.glob("*.py")).stem)
    assert done.returncode == 0 and "selfcheck: ok" in done.stdout, done.stdout + done.stderr


@in_turn
@pytest.mark.parametrize("memory", few([None, *MEMORIES], MEMORIES[1:]))
def test_a_cuda_export_agrees_on_a_pretended_device(memory: Placement | None, tmp_path: Path) -> None:
    """`None`: floats, in one dimension."""
    support.need_compiler()
    text, change = (TURNED, textured) if memory is None else (SMALL, small_textures(memory))
    folder = exported(stored_run(tmp_path / "run", file(tmp_path, text), (), [change], CUDA), Kind.cuda,
                      tmp_path / "export", 1)
    build_on_host(folder)
    done = ran(folder, os.environ, "./selfcheck")
    assert done.returncode == 0 and AGREES in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("kind", [Kind.cuda, Kind.hip])
def test_a_plan_of_opencl_has_code_for_other_devices(kind: Kind, tmp_path: Path) -> None:
    """Their rows are not known: they are multiples of what all ask for."""
    run = stored_run(tmp_path / "run", file(tmp_path, SMALL), (), [small_textures("texture2d")])
    (text,) = exported(run, kind, tmp_path / "export", 1).glob("kernels.*")
    assert f"{kind.value}TextureObject_t bytes_rows" in text.read_text() and " * 256 + " in text.read_text()
