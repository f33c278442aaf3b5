"""What the compile pool made is complete: the device worker's first launch compiles nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from runners.opencl.platforms import driver_environment, measuring_environment
from tests.support.paths import ROOT
from tests.support.runners import needed_device
from tests.support.slow import few

PLATFORMS = ("PoCL", "Intel OpenCL")
BOTH = """
import json, pickle, sys, time
from pathlib import Path
from generator.lowering import lower
from generator.lowering.heuristics.default import default_plan
from runners.host_program import launches
from runners.opencl.device import OpenCLDevice
from runners.opencl.session import FROM_TEXT
from runners.opencl.probe import _target, open_device
from tests.support.suite import ODD_SIZES, problem

role, key, file, travels = sys.argv[1:]
found, file = problem("gemm", ODD_SIZES["gemm"]), Path(file)
variant = lower(found.program, default_plan(found.program, _target(open_device(key))), _target(open_device(key)))
device = OpenCLDevice(key, found, travels=travels == "travels")
if role == "compile":
    start = time.perf_counter()
    codes = device.compile(variant).codes
    spent = time.perf_counter() - start
    print(json.dumps({"compile": spent, "text": all(code.startswith(FROM_TEXT.encode()) for code in codes)}))
    file.write_bytes(pickle.dumps(codes))
else:
    start = time.perf_counter()
    loaded = device.load(variant, pickle.loads(file.read_bytes()))
    told = {"load": time.perf_counter() - start}
    for name in ("first", "second", "third", "fourth"):
        start = time.perf_counter()
        loaded.run(tuple(launches(variant)))
        told[name] = time.perf_counter() - start
    print(json.dumps(told))
"""


def seconds(role: str, key: str, travels: bool, folder: Path) -> dict[str, float]:
    """Seconds by step in a process of its own, whose driver finds nothing that another process has cached if code
    `travels`."""
    cache = folder / (role if travels else "both")
    drivers = measuring_environment(folder) if role == "run" else driver_environment(folder)
    environment = os.environ | dict(drivers) | {
        "PYTHONPATH": str(ROOT), "POCL_CACHE_DIR": str(cache), "NEO_CACHE_PERSISTENT": "0"}
    cache.mkdir(exist_ok=True)
    words = [role, key, str(folder / "codes"), "travels" if travels else "stays"]
    done = subprocess.run([sys.executable, "-c", BOTH, *words], capture_output=True, text=True, check=False,
                          env=environment, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    told: dict[str, float] = json.loads(done.stdout)
    return told


@pytest.mark.parametrize("travels", few([False, True], 1))
@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_first_launch_of_compiled_code_is_cheap(platform: str, travels: bool, tmp_path: Path) -> None:
    device = needed_device(platform)
    made = seconds("compile", device.key, travels, tmp_path)
    compiled = made["compile"]
    assert bool(made["text"]) == (platform == "PoCL" and not travels), "PoCL is not asked for code that does not travel"
    told = seconds("run", device.key, travels, tmp_path)
    later = sorted((told["second"], told["third"], told["fourth"]))[1]
    assert told["load"] + told["first"] < compiled / 3, (compiled, told)
    assert told["first"] - later < 0.2 * compiled, (compiled, told)
