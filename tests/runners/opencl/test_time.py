"""What is in a time of OpenCL: a batch of launches is timed as a whole, and nothing of the host is in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from runners.opencl.platforms import measuring_environment
from tests.support.paths import ROOT
from tests.support.runners import needed_device

SLOW_HOST_MS = 3
TIMES = """
import json, sys, time
from generator.target import Target
from runners.host_program import launches
from runners.opencl import device
from tests.support import runners as support

found = support.scale_problem()
opened = device.OpenCLDevice(sys.argv[1], found)
target = Target("device", "opencl", 1024, (1024, 1024, 64), 32768, 2, True, True)
variant = support.lower_by_hand(found.program, support.plan(support.LOOP), target)
built = opened.compile(variant)
loaded = opened.load(variant, built.codes)
opened.memory.upload()
program = tuple(launches(variant))
loaded.run(program)
plain = device.Executable._enqueue
def slow(self, launch, after=()):
    time.sleep(float(sys.argv[2]) / 1e3)
    return plain(self, launch, after)
device.Executable._enqueue = slow
begin = time.perf_counter()
times = loaded.run(program, 2)
print(json.dumps([len(program), times.device_ms, times.host_ms, sum(times.kernels_ms),
                  1e3 * (time.perf_counter() - begin)]))
"""


@pytest.mark.parametrize("platform", ["PoCL", "Intel OpenCL"])
def test_nothing_of_the_host_is_in_a_time(platform: str, tmp_path: Path) -> None:
    """Each launch takes the host milliseconds to enqueue, and the device some microseconds to run."""
    key = needed_device(platform).key
    environment = os.environ | dict(measuring_environment(tmp_path)) | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", TIMES, key, str(SLOW_HOST_MS)], capture_output=True, text=True,
                          check=False, env=environment, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    launches, device_ms, host_ms, kernels_ms, whole_ms = json.loads(done.stdout.splitlines()[-1])
    assert launches == 50 and whole_ms > 2 * launches * SLOW_HOST_MS
    assert 0 < device_ms <= host_ms and kernels_ms == pytest.approx(device_ms), "one of two runs, with all gaps"
    assert device_ms < launches * SLOW_HOST_MS / 3
