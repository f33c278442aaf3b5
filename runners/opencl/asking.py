"""Queries of OpenCL devices that pyopencl does not know, through its loader. Used in worker processes only."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

SUB_GROUP_SIZES_INTEL = 0x4108
"""CL_DEVICE_SUB_GROUP_SIZES_INTEL, in the text of cl_intel_required_subgroup_size."""
IMAGE_PITCH_ALIGNMENT = 0x104A
"""CL_DEVICE_IMAGE_PITCH_ALIGNMENT, of OpenCL 2.0 and cl_khr_image2d_from_buffer."""
LOADER = "libOpenCL"


def asked(device: Any, query: int, into: Any) -> int:
    """Return how many bytes the answer about `device`, a pyopencl device, has; it is written into `into`, a ctypes
    object. 0: the loader is not found, or the device refuses the query.
    """
    path = _loader()
    if path is None:
        return 0
    written = ctypes.c_size_t()
    status = ctypes.CDLL(path).clGetDeviceInfo(ctypes.c_void_p(device.int_ptr), query,
                                               ctypes.c_size_t(ctypes.sizeof(into)), ctypes.byref(into),
                                               ctypes.byref(written))
    return written.value if status == 0 else 0


def _loader() -> str | None:
    try:
        lines = Path("/proc/self/maps").read_text(errors="replace").splitlines()
    except OSError:  # no /proc
        return None
    paths = (line.split(maxsplit=5)[-1] for line in lines)
    return next((path for path in paths if Path(path).name.startswith(LOADER)), None)
