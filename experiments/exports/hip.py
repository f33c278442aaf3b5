"""A directory with a HIP program, for hipcc."""

from __future__ import annotations

from experiments.exports.chosen import Chosen, variant_of
from experiments.exports.runtime_api import RuntimeApi, program_files
from experiments.exports.templates import fill

HIP = RuntimeApi("hip", "hip/hip_runtime.h", "hipDeviceProp_t", "hipDeviceAttributeMaxSharedMemoryPerMultiprocessor")
UNTESTED = (
    "antune's HIP code is compiled by hipcc in its tests, but has not run on an AMD GPU yet: run the self-check first."
)


def hip_files(chosen: Chosen) -> dict[str, str | bytes]:
    """The files of the directory, by name."""
    values = {"F": chosen.name, "ARCH": chosen.info.device.target.architecture or "native"}
    build = {"Makefile": fill("hip_makefile.in", values), "CMakeLists.txt": fill("hip_cmake.in", values)}
    return program_files(chosen, HIP, variant_of(chosen, "hip").source, (UNTESTED,), build)
