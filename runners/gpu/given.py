"""Arrays in a GPU's memory, of any library, through the two common protocols; nothing is copied.

`__cuda_array_interface__`: CuPy, PyTorch, Numba, JAX (version 3 of its description in Numba's documentation).
`__dlpack__`: all of these and more; a capsule holds a pointer to a `DLManagedTensor` (dlpack.h, version 0.8).
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from runners.calls import ArgumentError, Parameter, check_form, wrong

GPUS = {"cuda": (2, 3, 13), "hip": (10, 11)}
"""kDLCUDA, kDLCUDAHost, kDLCUDAManaged; kDLROCM, kDLROCMHost."""
DEVICE_MEMORY = (2, 10)
"""The types of memory on one device: kDLCUDA, kDLROCM."""
DEFAULT_STREAM = {"cuda": 1, "hip": 0}
"""The protocols' number of the default stream; if it is 1, 0 means "none"."""
_KINDS = {0: "i", 1: "u", 2: "f", 6: "b"}
_CAPSULE = b"dltensor"


class _Tensor(ctypes.Structure):
    """`DLTensor`, the first member of a `DLManagedTensor`."""

    _fields_ = (("data", ctypes.c_void_p), ("device_type", ctypes.c_int), ("device_id", ctypes.c_int),
                ("ndim", ctypes.c_int), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64))


@dataclass(frozen=True, slots=True)
class Given:
    """An array of the caller: `address` of its first element.

    In the order of `stream` its contents are complete; it is in the memory of `device`, if that is known. `keeper`, its
    DLPack capsule, must live as long as it is used.
    """

    address: int
    stream: int | None
    keeper: object = None
    device: int | None = None

    @property
    def ready(self) -> bool:
        """Whether the stream is known in whose order its contents are complete."""
        return self.stream is not None or self.keeper is not None


def is_given(value: object, dialect: str) -> bool:
    """Return whether `value` is in the memory of a GPU that is programmed in `dialect`."""
    if hasattr(value, "__cuda_array_interface__"):  # CuPy and PyTorch have it for AMD's GPUs, too
        return True
    device = getattr(value, "__dlpack_device__", None)
    return device is not None and int(device()[0]) in GPUS[dialect]


def check_address(parameter: Parameter, address: int, multiple: int) -> None:
    """Raise ArgumentError for an array that does not begin at a multiple of the bytes of a kernel's vectors: a GPU
    fails there, and all later calls in the same process with it.
    """
    if address % multiple:
        raise wrong(parameter, f"one that begins {address % multiple} bytes behind a multiple of {multiple}",
                    "kernels access it in vectors; give a copy of this part of an array")


def named_stream(value: object) -> int | None:
    """Return the stream that an array names, in whose order its contents are complete; None if it names none."""
    return (getattr(value, "__cuda_array_interface__", None) or {}).get("stream")


def given(parameter: Parameter, value: Any, stream: int | None) -> Given:
    """Return `value` as an array; its library makes it ready on `stream` (the protocol's number) if it uses DLPack.

    Raises ArgumentError if it does not fit `parameter`.
    """
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is None:
        return _from_dlpack(parameter, value, stream)
    if interface.get("mask") is not None:
        raise wrong(parameter, "one with a mask")
    dtype, shape, strides = np.dtype(interface["typestr"]), tuple(interface["shape"]), interface.get("strides")
    check_form(parameter, dtype, shape, strides is None or _dense(shape, strides, dtype.itemsize))
    address, read_only = interface["data"]
    if read_only and parameter.written:
        raise wrong(parameter, "one that cannot be written", "it takes a result")
    return Given(int(address), interface.get("stream"))


def _from_dlpack(parameter: Parameter, value: Any, stream: int | None) -> Given:
    capsule = value.__dlpack__(stream=stream)
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    tensor = ctypes.cast(pointer(capsule, _CAPSULE), ctypes.POINTER(_Tensor)).contents
    if tensor.lanes != 1 or tensor.code not in _KINDS:
        raise wrong(parameter, "one whose elements have another type", "types are built in")
    dtype = np.dtype(f"{_KINDS[tensor.code]}{tensor.bits // 8}")
    shape = tuple(tensor.shape[k] for k in range(tensor.ndim))
    strides = tuple(tensor.strides[k] * dtype.itemsize for k in range(tensor.ndim)) if tensor.strides else None
    check_form(parameter, dtype, shape, strides is None or _dense(shape, strides, dtype.itemsize))
    device = tensor.device_id if tensor.device_type in DEVICE_MEMORY else None
    return Given((tensor.data or 0) + tensor.byte_offset, None, capsule, device)  # the capsule frees its tensor


def _dense(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> bool:
    """Return whether elements are contiguous, the last dimension fastest."""
    return all(stride == itemsize * prod(shape[k + 1:]) for k, stride in enumerate(strides) if shape[k] > 1)


def handle_of(stream: object) -> int:
    """Return the driver's handle of a stream of CuPy, PyTorch, Numba, pycuda, cuda-python, or an int.

    Raises:
        ArgumentError: it is none of these.
    """
    if isinstance(stream, int) and not isinstance(stream, bool) and stream >= 0:
        return stream
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return int((protocol() if callable(protocol) else protocol)[1])
    for name in ("cuda_stream", "ptr", "handle"):
        found = getattr(stream, name, None)
        if isinstance(found, int):
            return found
        if isinstance(getattr(found, "value", None), int):  # Numba's are ctypes
            return int(found.value)  # type: ignore[union-attr]  # asked for in the line before
    raise ArgumentError(f"stream must be an int or a stream of CuPy, PyTorch, Numba or pycuda, not a "
                        f"{type(stream).__name__}")
