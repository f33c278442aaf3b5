"""How many threads a sub-group of an OpenCL device has, and whether ours can be asked for. Only in worker processes.

OpenCL has no question for it before a kernel is built. Intel's, NVIDIA's and AMD's drivers have their own.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, TypeAlias

from generator.target import LANES

REQUIRED = "cl_intel_required_subgroup_size"
SHUFFLES = "cl_khr_subgroup_shuffle"
SIZES_INTEL = 0x4108
"""CL_DEVICE_SUB_GROUP_SIZES_INTEL, in the extension's text; pyopencl does not know it."""
LOADER = "libOpenCL"
MOST_SIZES = 32

AskSizes: TypeAlias = Callable[[Any], tuple[int, ...]]


def sub_group_sizes(device: Any, ask_intel: AskSizes | None = None) -> tuple[int, ...]:
    """The sizes that sub-groups of `device`, one of pyopencl's, can have; none where nobody says.

    `ask_intel` asks as Intel's extension says; `intel_sizes` if it is not given.
    """
    extensions = device.extensions.split()
    if REQUIRED in extensions:
        return (ask_intel or intel_sizes)(device)
    if "cl_nv_device_attribute_query" in extensions:
        return (int(device.warp_size_nv),)
    if "cl_amd_device_attribute_query" in extensions:
        return (int(device.wavefront_width_amd),)
    return ()


def shuffling(extensions: Collection[str], sizes: Collection[int]) -> int:
    """`Target.sub_group`: LANES where values are exchanged in groups of so many, which kernels ask for; else 0."""
    return LANES if {REQUIRED, SHUFFLES}.issubset(extensions) and LANES in sizes else 0


def intel_sizes(device: Any) -> tuple[int, ...]:
    """What Intel's extension says, asked through the loader that pyopencl brings along; none where that fails."""
    path = _loader()
    if path is None:
        return ()
    sizes, written = (ctypes.c_size_t * MOST_SIZES)(), ctypes.c_size_t()
    status = ctypes.CDLL(path).clGetDeviceInfo(ctypes.c_void_p(device.int_ptr), SIZES_INTEL,
                                               ctypes.c_size_t(ctypes.sizeof(sizes)), sizes, ctypes.byref(written))
    return tuple(sizes[:written.value // ctypes.sizeof(ctypes.c_size_t)]) if status == 0 else ()


def _loader() -> str | None:
    try:
        lines = Path("/proc/self/maps").read_text(errors="replace").splitlines()
    except OSError:  # no /proc
        return None
    paths = (line.split(maxsplit=5)[-1] for line in lines)
    return next((path for path in paths if Path(path).name.startswith(LOADER)), None)
