"""Texture objects through ctypes, for bindings that lack them.

The structures are those of cuda.h, fixed since CUDA 5.0; HIP's are the same.
"""

from __future__ import annotations

import ctypes
from typing import Any

from runners.driver import LaunchError
from runners.gpu.api import TextureMemory

LINEAR, PITCH_2D = 2, 3  # CUresourcetype
CLAMP, POINT, READ_AS_INTEGER = 1, 0, 1  # CUaddress_mode, CUfilter_mode, CU_TRSF_READ_AS_INTEGER


class _Linear(ctypes.Structure):
    _fields_ = (("address", ctypes.c_uint64), ("channel", ctypes.c_int), ("channels", ctypes.c_uint),
                ("bytes", ctypes.c_size_t))


class _Pitch2D(ctypes.Structure):
    _fields_ = (("address", ctypes.c_uint64), ("channel", ctypes.c_int), ("channels", ctypes.c_uint),
                ("width", ctypes.c_size_t), ("height", ctypes.c_size_t), ("pitch", ctypes.c_size_t))


class _Resource(ctypes.Union):
    _fields_ = (("linear", _Linear), ("pitch_2d", _Pitch2D), ("reserved", ctypes.c_int * 32))


class ResourceDescription(ctypes.Structure):
    """CUDA_RESOURCE_DESC."""

    _fields_ = (("kind", ctypes.c_int), ("of", _Resource), ("flags", ctypes.c_uint))


class TextureDescription(ctypes.Structure):
    """CUDA_TEXTURE_DESC."""

    _fields_ = (("address_modes", ctypes.c_int * 3), ("filter", ctypes.c_int), ("flags", ctypes.c_uint),
                ("max_anisotropy", ctypes.c_uint), ("mipmap_filter", ctypes.c_int), ("mipmap_bias", ctypes.c_float),
                ("mipmap_low", ctypes.c_float), ("mipmap_high", ctypes.c_float), ("border", ctypes.c_float * 4),
                ("reserved", ctypes.c_int * 12))


def make_texture(memory: TextureMemory, create: Any) -> int:
    """Return a texture object in the current context, by the driver's function `create`.

    Raises:
        LaunchError: the driver refuses it.
    """
    resource, made = ResourceDescription(), ctypes.c_uint64()
    part: _Linear | _Pitch2D
    if memory.height:
        resource.kind, part = PITCH_2D, resource.of.pitch_2d
        part.width, part.height, part.pitch = memory.width, memory.height, memory.pitch
    else:
        resource.kind, part = LINEAR, resource.of.linear
        part.bytes = memory.bytes
    part.address, part.channel, part.channels = memory.address, memory.channel.value, memory.channels
    reading = TextureDescription(address_modes=(ctypes.c_int * 3)(CLAMP, CLAMP, CLAMP), filter=POINT,
                                 flags=READ_AS_INTEGER)
    status = create(ctypes.byref(made), ctypes.byref(resource), ctypes.byref(reading), None)
    if status:
        raise LaunchError(f"the driver makes no texture of {memory.width} x {memory.height or 1} texels (error "
                          f"{status})")
    return made.value
