"""Memory on OpenCL devices: a second upload, from copies on the device, repairs arrays and images like the first."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from runners.opencl.platforms import measuring_environment
from tests.support.paths import ROOT
from tests.support.runners import needed_device

TWICE = """
import sys
from dataclasses import replace
import numpy as np
import pyopencl as cl
from generator.lowering import lower
from generator.lowering.heuristics.default import default_plan
from runners.host_program import launches
from runners.opencl import device
from tests.support.mixed import mixed
from tests.support.runners import needed_device

found = mixed()
info = needed_device(sys.argv[1])
placed = (("A", "texture"), ("B", "constant"), ("e", "texture")) if info.target.images else ()
variant = lower(found.program, replace(default_plan(found.program, info.target), placement=placed), info.target)
opened = device.OpenCLDevice(info.key, found)
loaded = opened.load(variant, opened.compile(variant).codes)
memory, images = opened.memory, opened.memory._images
written = []
memory._room.write = lambda place, contents, write=memory._room.write: (written.append(place), write(place, contents))
for turn in range(3):
    memory.upload()
    assert bool(written) is (turn == 0)
    written.clear()
    loaded.run(tuple(launches(variant)))
    got = memory.read([array.name for array in found.program.outputs])
    assert all((abs(got[name] - found.reference.outputs[name]) < 1e-6).all() for name in got)
    assert memory.overrun() is None and memory.changed_input() is None
    for row in images._rows.values():
        cl.enqueue_copy(images._queue, row, np.zeros(16, np.uint8))
    for texture, image in images._images.items():
        if texture not in images._rows:
            words = np.zeros(texture.words * texture.shape[0] * texture.shape[1], np.uint32)
            cl.enqueue_copy(images._queue, image, words, origin=(0, 0), region=texture.shape)
print("repaired", len(images._images) == len(placed) - 1 or not placed)
"""


@pytest.mark.parametrize("platform", ["PoCL", "Intel OpenCL"])
def test_an_upload_from_copies_repairs_what_kernels_damaged(platform: str, tmp_path: Path) -> None:
    """Nothing is written from the host again; images are set to zero between the runs."""
    needed_device(platform)
    environment = os.environ | dict(measuring_environment(tmp_path)) | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", TWICE, platform], cwd=ROOT, env=environment, check=False,
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "repaired True\n"
