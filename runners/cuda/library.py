"""NVIDIA's driver through ctypes, for functions that the bindings lack."""

from __future__ import annotations

import ctypes

from runners.gpu.graphs import CUDA_NAMES, Library

DEVICE_ORDINAL = 9
"""CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL."""


def ordinal_of(address: int) -> int | None:
    """Return the device in whose memory an address lies; None if it is in none."""
    found = ctypes.c_int()
    status = ctypes.CDLL("libcuda.so.1").cuPointerGetAttribute(ctypes.byref(found), DEVICE_ORDINAL,
                                                               ctypes.c_uint64(address))
    return None if status else found.value


def cuda_library() -> Library:
    """Return the library that the binding in use has loaded."""
    functions = ctypes.CDLL("libcuda.so.1")

    def words(status: int) -> str:
        texts = [ctypes.c_char_p() for _ in range(2)]
        functions.cuGetErrorName(status, ctypes.byref(texts[0]))
        functions.cuGetErrorString(status, ctypes.byref(texts[1]))
        return ": ".join((text.value or b"an error of the driver").decode(errors="replace") for text in texts)

    return Library(functions, CUDA_NAMES, words)
