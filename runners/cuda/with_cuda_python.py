"""CUDA's driver API through NVIDIA's own binding (package cuda-bindings, a part of cuda-python)."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from typing import Any, Literal

import cuda.bindings.driver as cuda
from numpy.typing import NDArray

from runners.cuda.library import cuda_library
from runners.driver import LaunchError
from runners.gpu.api import CachePreference, DeviceAttribute, FunctionAttribute, NoDriver, TextureMemory
from runners.gpu.graphs import Library

PARAMETERS, PARAMETERS_SIZE, END = 1, 2, 0
"""CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE, CU_LAUNCH_PARAM_END."""
ORDINAL = cuda.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL


class CudaPython:
    """`api.Api`."""

    def __init__(self) -> None:
        """Loads the driver. Raises NoDriver if there is none."""
        try:
            (status,) = cuda.cuInit(0)
        except Exception as error:  # noqa: BLE001  the binding cannot find or load libcuda; it raises several kinds
            raise NoDriver(f"no NVIDIA driver could be loaded ({_first_line(error)})") from None
        if status != cuda.CUresult.CUDA_SUCCESS:
            raise NoDriver(f"the NVIDIA driver cannot start: {_words(status)}")
        self._contexts: dict[int, Any] = {}

    @property
    def name(self) -> Literal["cuda-python"]:
        """The name of the binding."""
        return "cuda-python"

    @property
    def version(self) -> str:
        """The version of cuda-bindings."""
        return metadata.version("cuda-bindings")

    def driver_version(self) -> int:
        """See `Api`."""
        return int(_done(cuda.cuDriverGetVersion()))

    def device_count(self) -> int:
        """See `Api`."""
        return int(_done(cuda.cuDeviceGetCount()))

    def device_name(self, ordinal: int) -> str:
        """See `Api`."""
        name: bytes = _done(cuda.cuDeviceGetName(256, _done(cuda.cuDeviceGet(ordinal))))
        return name.split(b"\0")[0].decode()

    def device_attribute(self, ordinal: int, attribute: DeviceAttribute) -> int:
        """See `Api`."""
        return int(_done(cuda.cuDeviceGetAttribute(cuda.CUdevice_attribute(attribute.value),
                                                   _done(cuda.cuDeviceGet(ordinal)))))

    def open(self, ordinal: int) -> None:
        """See `Api`."""
        _done(cuda.cuCtxSetCurrent(self._primary(ordinal)))

    @contextmanager
    def entered(self, ordinal: int) -> Iterator[None]:
        """See `Api`."""
        _done(cuda.cuCtxPushCurrent(self._primary(ordinal)))
        try:
            yield
        finally:
            _done(cuda.cuCtxPopCurrent())

    def _primary(self, ordinal: int) -> Any:
        if ordinal not in self._contexts:
            self._contexts[ordinal] = _done(cuda.cuDevicePrimaryCtxRetain(_done(cuda.cuDeviceGet(ordinal))))
        return self._contexts[ordinal]

    def synchronize(self) -> None:
        """See `Api`."""
        _done(cuda.cuCtxSynchronize())

    def allocate(self, size: int) -> int:
        """See `Api`."""
        return int(_done(cuda.cuMemAlloc(size)))

    def free(self, address: int) -> None:
        """See `Api`."""
        _done(cuda.cuMemFree(address))

    def ordinal_of(self, address: int) -> int | None:
        """See `Api`."""
        status, found = cuda.cuPointerGetAttribute(ORDINAL, address)
        return int(found) if status == cuda.CUresult.CUDA_SUCCESS else None

    def write(self, address: int, contents: NDArray[Any]) -> None:
        """See `Api`."""
        _done(cuda.cuMemcpyHtoD(address, contents.ctypes.data, contents.nbytes))

    def copy(self, address: int, source: int, size: int, stream: Any = None) -> None:
        """See `Api`."""
        _done(cuda.cuMemcpyDtoDAsync(address, source, size, stream))

    def fill(self, address: int, byte: int, size: int) -> None:
        """See `Api`."""
        _done(cuda.cuMemsetD8(address, byte, size))

    def read(self, address: int, into: NDArray[Any]) -> None:
        """See `Api`."""
        _done(cuda.cuMemcpyDtoH(into.ctypes.data, address, into.nbytes))

    def texture(self, memory: TextureMemory) -> int:
        """See `Api`."""
        channel = cuda.CUarray_format(memory.channel.value)
        resource, reading = cuda.CUDA_RESOURCE_DESC(), cuda.CUDA_TEXTURE_DESC()
        part: Any
        if memory.height:
            resource.resType, part = cuda.CUresourcetype.CU_RESOURCE_TYPE_PITCH2D, resource.res.pitch2D
            part.width, part.height, part.pitchInBytes = memory.width, memory.height, memory.pitch
        else:
            resource.resType, part = cuda.CUresourcetype.CU_RESOURCE_TYPE_LINEAR, resource.res.linear
            part.sizeInBytes = memory.bytes
        part.devPtr, part.format, part.numChannels = cuda.CUdeviceptr(memory.address), channel, memory.channels
        clamp = cuda.CUaddress_mode.CU_TR_ADDRESS_MODE_CLAMP
        reading.addressMode = [clamp, clamp, clamp]
        reading.filterMode = cuda.CUfilter_mode.CU_TR_FILTER_MODE_POINT
        reading.flags = cuda.CU_TRSF_READ_AS_INTEGER
        return int(_done(cuda.cuTexObjectCreate(resource, reading, None)))

    def free_texture(self, texture: int) -> None:
        """See `Api`."""
        _done(cuda.cuTexObjectDestroy(cuda.CUtexObject(texture)))

    def load(self, code: bytes) -> Any:
        """See `Api`."""
        return _done(cuda.cuModuleLoadData(code))

    def unload(self, module: Any) -> None:
        """See `Api`."""
        _done(cuda.cuModuleUnload(module))

    def symbol(self, module: Any, name: str) -> tuple[int, int]:
        """See `Api`."""
        address, size = _done(cuda.cuModuleGetGlobal(module, name.encode()))
        return int(address), int(size)

    def function(self, module: Any, name: str) -> Any:
        """See `Api`."""
        return _done(cuda.cuModuleGetFunction(module, name.encode()))

    def function_attribute(self, function: Any, attribute: FunctionAttribute) -> int:
        """See `Api`."""
        return int(_done(cuda.cuFuncGetAttribute(cuda.CUfunction_attribute(attribute.value), function)))

    def set_function_attribute(self, function: Any, attribute: FunctionAttribute, value: int) -> None:
        """See `Api`."""
        _done(cuda.cuFuncSetAttribute(function, cuda.CUfunction_attribute(attribute.value), value))

    def set_cache_preference(self, function: Any, preference: CachePreference) -> None:
        """See `Api`."""
        _done(cuda.cuFuncSetCacheConfig(function, cuda.CUfunc_cache(preference.value)))

    def stream(self) -> tuple[Any, int]:
        """See `Api`."""
        made = _done(cuda.cuStreamCreate(0))
        return made, int(made)

    def foreign_stream(self, handle: int) -> Any:
        """See `Api`."""
        return cuda.CUstream(handle)

    def library(self) -> Library:
        """See `Api`."""
        return cuda_library()

    def launch(self, function: Any, grid: tuple[int, int, int], block: tuple[int, int, int], shared_bytes: int,
               arguments: bytes, stream: Any) -> None:
        """See `Api`."""
        buffer = ctypes.create_string_buffer(arguments, max(len(arguments), 1))
        size = ctypes.c_size_t(len(arguments))
        extra = (ctypes.c_void_p * 5)(
            PARAMETERS, ctypes.addressof(buffer), PARAMETERS_SIZE, ctypes.addressof(size), END
        )
        _done(cuda.cuLaunchKernel(function, *grid, *block, shared_bytes, stream, 0, ctypes.addressof(extra)))


def _done(answer: tuple[Any, ...]) -> Any:
    """Return the results of a call besides its status: a value, several, or None. Raises LaunchError unless it
    succeeded.
    """
    status, *values = answer
    if status != cuda.CUresult.CUDA_SUCCESS:
        raise LaunchError(_words(status))
    return values[0] if len(values) == 1 else tuple(values) or None


def _words(status: Any) -> str:
    """Return the name of a status, and NVIDIA's sentence for it."""
    problem, text = cuda.cuGetErrorString(status)
    told = text.decode() if problem == cuda.CUresult.CUDA_SUCCESS and text else "an error of the driver"
    return f"{getattr(status, 'name', status)}: {told}"


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0] or type(error).__name__
