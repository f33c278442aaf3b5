"""The sizes of sub-groups of an OpenCL device, and whether kernels can request one. Only in worker processes.

Before a kernel is built, OpenCL has no query for it. Intel's, NVIDIA's and AMD's drivers have their own.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection
from typing import Any, TypeAlias

from generator.target import LANES
from runners.opencl.asking import SUB_GROUP_SIZES_INTEL, asked

REQUIRED = "cl_intel_required_subgroup_size"
SHUFFLES = "cl_khr_subgroup_shuffle"
MOST_SIZES = 32

AskSizes: TypeAlias = Callable[[Any], tuple[int, ...]]


def sub_group_sizes(device: Any, ask_intel: AskSizes | None = None) -> tuple[int, ...]:
    """Return the possible sizes of sub-groups of `device`, a pyopencl device; none if they are unknown.

    `ask_intel` queries Intel's extension; by default `intel_sizes`.
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
    """Return `Target.sub_group`: LANES if kernels can request groups of this size and shuffle values in them; else 0.
    """
    return LANES if {REQUIRED, SHUFFLES}.issubset(extensions) and LANES in sizes else 0


def intel_sizes(device: Any) -> tuple[int, ...]:
    """Return the sizes by Intel's extension; none if that fails."""
    sizes = (ctypes.c_size_t * MOST_SIZES)()
    return tuple(sizes[:asked(device, SUB_GROUP_SIZES_INTEL, sizes) // ctypes.sizeof(ctypes.c_size_t)])
