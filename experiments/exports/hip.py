"""A directory with a HIP program, for hipcc."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.exports.chosen import Chosen
from experiments.exports.runtime_api import RuntimeApi, program_files
from experiments.exports.selfcheck import build_values
from experiments.exports.templates import fill
from experiments.exports.versions import exported

HIP = RuntimeApi("hip", "hip/hip_runtime.h", "hipDeviceProp_t", "hipDeviceAttributeMaxSharedMemoryPerMultiprocessor")
UNTESTED = (
    "antune's HIP code is compiled by hipcc in its tests, but has not run on an AMD GPU yet: run the self-check first."
)


def hip_files(chosen: Sequence[Chosen]) -> dict[str, str | bytes]:
    """Return the files of the directory, by name."""
    code = exported(chosen, "hip")
    architecture = code.chosen.info.device.target.architecture or "native"
    values = {"F": code.name, "ARCH": architecture, **build_values(code)}
    build = {"Makefile": fill("hip_makefile.in", values), "CMakeLists.txt": fill("hip_cmake.in", values)}
    return program_files(code, HIP, code.parts, (UNTESTED,), build)
