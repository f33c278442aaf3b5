"""A script that runs a program with the OpenCL of the Python environment that made the export.

Packages of pip register neither their loader nor their drivers with the system, so that no C program finds them.
"""

from __future__ import annotations

import shlex
from importlib.util import find_spec
from pathlib import Path

from experiments.exports.templates import fill
from runners.opencl.platforms import registrations

SCRIPT, VENDORS = "opencl-here.sh", "vendors"


def here_files() -> dict[str, str | bytes]:
    """The script, and the registrations of drivers that it names."""
    bundled = bundled_libraries()
    loader, drivers = "", {}
    if bundled is not None:
        loader, drivers = str(bundled[0]), {**registrations(), "pocl.icd": f"{bundled[1]}\n"}
    script = fill("opencl_here.sh.in", {"LIBRARY": shlex.quote(loader)})
    return {SCRIPT: script, **{f"{VENDORS}/{name}": text for name, text in drivers.items()}}


def bundled_libraries() -> tuple[Path, Path] | None:
    """The OpenCL loader that came with pyopencl, and PoCL beside it; None where pyopencl uses the system's."""
    spec = find_spec("pyopencl")
    if spec is None or spec.origin is None:
        return None
    found = [sorted((Path(spec.origin).parent / ".libs").glob(f"{name}*.so*")) for name in ("libOpenCL", "libpocl")]
    return (found[0][0], found[1][0]) if all(found) else None
