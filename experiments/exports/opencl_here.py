"""A script that runs a program with the OpenCL of the Python environment that made the export.

Packages installed by pip do not register their loader and drivers with the system, so C programs do not find them.
"""

from __future__ import annotations

import shlex
from importlib.util import find_spec
from pathlib import Path

from experiments.exports.templates import fill
from runners.opencl.platforms import registrations

SCRIPT, VENDORS = "opencl-here.sh", "vendors"


def here_files() -> dict[str, str | bytes]:
    """Return the script, and the driver registrations that it refers to."""
    bundled = bundled_libraries()
    loader, drivers = "", {}
    if bundled is not None:
        loader, drivers = str(bundled[0]), {**registrations(), "pocl.icd": f"{bundled[1]}\n"}
    script = fill("opencl_here.sh.in", {"LIBRARY": shlex.quote(loader)})
    return {SCRIPT: script, **{f"{VENDORS}/{name}": text for name, text in drivers.items()}}


def bundled_libraries() -> tuple[Path, Path] | None:
    """Return the OpenCL loader in the pyopencl package and PoCL next to it; None if pyopencl uses the system's."""
    spec = find_spec("pyopencl")
    if spec is None or spec.origin is None:
        return None
    found = [sorted((Path(spec.origin).parent / ".libs").glob(f"{name}*.so*")) for name in ("libOpenCL", "libpocl")]
    return (found[0][0], found[1][0]) if all(found) else None
