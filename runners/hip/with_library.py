"""HIP's driver API through ctypes: CUDA's calls under other names and with other numbers."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from numpy.typing import NDArray

from runners.driver import LaunchError
from runners.gpu.api import CachePreference, DeviceAttribute, FunctionAttribute, NoDriver, TextureMemory
from runners.gpu.graphs import HIP_NAMES, Library
from runners.gpu.texture_object import make_texture
from runners.hip.library import load

PARAMETERS, PARAMETERS_SIZE, END = 1, 2, 3
"""HIP_LAUNCH_PARAM_BUFFER_POINTER, HIP_LAUNCH_PARAM_BUFFER_SIZE, HIP_LAUNCH_PARAM_END."""
ATTRIBUTES: Mapping[DeviceAttribute, int] = {
    DeviceAttribute.MAX_THREADS_PER_BLOCK: 56, DeviceAttribute.MAX_BLOCK_DIM_X: 26, DeviceAttribute.MAX_BLOCK_DIM_Y: 27,
    DeviceAttribute.MAX_BLOCK_DIM_Z: 28, DeviceAttribute.MAX_SHARED_MEMORY_PER_BLOCK: 74,
    DeviceAttribute.TOTAL_CONSTANT_MEMORY: 83, DeviceAttribute.WARP_SIZE: 87, DeviceAttribute.MULTIPROCESSOR_COUNT: 63,
    DeviceAttribute.L2_CACHE_SIZE: 19, DeviceAttribute.TEXTURE_PITCH_ALIGNMENT: 82,
    DeviceAttribute.MAXIMUM_TEXTURE1D_LINEAR_WIDTH: 41, DeviceAttribute.MAXIMUM_TEXTURE2D_LINEAR_WIDTH: 43,
    DeviceAttribute.MAXIMUM_TEXTURE2D_LINEAR_HEIGHT: 44, DeviceAttribute.MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: 10002}
"""hipDeviceAttribute_t, by CUDA's names."""
DEVICE_ORDINAL = 9  # HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL
IMAGE_SUPPORT = 10014  # hipDeviceAttributeImageSupport
PROPERTIES_BYTES = 4096  # more than the size of hipDeviceProp_t in any version


class HipLibrary:
    """`gpu.api.Api`."""

    def __init__(self) -> None:
        """Loads the library. Raises NoDriver if it is missing, or finds no device."""
        try:
            self._hip = load("libamdhip64")
        except OSError as error:
            raise NoDriver(f"HIP's library cannot be loaded ({error}); install ROCm") from None
        self._hip.hipGetErrorString.restype = ctypes.c_char_p
        if status := self._hip.hipInit(0):
            raise NoDriver(f"the AMD driver cannot start: {self._words(status)}; `rocminfo` shows what it finds")

    @property
    def name(self) -> str:
        """The name of the binding."""
        return "libamdhip64"

    @property
    def version(self) -> str:
        """The library's version of HIP."""
        major, rest = divmod(self.driver_version(), 10_000_000)
        return f"{major}.{rest // 100_000}.{rest % 100_000}"

    def driver_version(self) -> int:
        """See `Api`."""
        return self._number(self._hip.hipRuntimeGetVersion)

    def device_count(self) -> int:
        """See `Api`."""
        return self._number(self._hip.hipGetDeviceCount)

    def device_name(self, ordinal: int) -> str:
        """See `Api`."""
        name = ctypes.create_string_buffer(256)
        self._done(self._hip.hipDeviceGetName(name, len(name), ordinal))
        return name.value.decode(errors="replace")

    def architecture(self, ordinal: int) -> str:
        """Return its name for compilers, such as `gfx90a:sramecc+:xnack-`.

        It is searched in hipDeviceProp_t, whose layout differs between versions of HIP.
        """
        properties = ctypes.create_string_buffer(PROPERTIES_BYTES)
        self._done(self._hip.hipGetDeviceProperties(properties, ordinal))
        found = re.search(rb"gfx[0-9a-f]+(:[a-z]+[+-])*(?=\0)", properties.raw)
        if found is None:
            raise LaunchError(f"HIP does not say which architecture {self.device_name(ordinal)} has")
        return found[0].decode()

    def device_attribute(self, ordinal: int, attribute: DeviceAttribute) -> int:
        """See `Api`."""
        return self._number(self._hip.hipDeviceGetAttribute, ATTRIBUTES[attribute], ordinal)

    def has_images(self, ordinal: int) -> bool:
        """Return whether kernels can read textures: CDNA 2 and later cannot."""
        return bool(self._number(self._hip.hipDeviceGetAttribute, IMAGE_SUPPORT, ordinal))

    def open(self, ordinal: int) -> None:
        """See `Api`."""
        self._done(self._hip.hipSetDevice(ordinal))

    @contextmanager
    def entered(self, ordinal: int) -> Iterator[None]:
        """See `Api`."""
        before = self._number(self._hip.hipGetDevice)
        self.open(ordinal)
        try:
            yield
        finally:
            self.open(before)

    def synchronize(self) -> None:
        """See `Api`."""
        self._done(self._hip.hipDeviceSynchronize())

    def allocate(self, size: int) -> int:
        """See `Api`."""
        return self._pointer(self._hip.hipMalloc, ctypes.c_size_t(size)) or 0

    def free(self, address: int) -> None:
        """See `Api`."""
        self._done(self._hip.hipFree(ctypes.c_void_p(address)))

    def ordinal_of(self, address: int) -> int | None:
        """See `Api`."""
        found = ctypes.c_int()
        status = self._hip.hipPointerGetAttribute(ctypes.byref(found), DEVICE_ORDINAL, ctypes.c_void_p(address))
        return None if status else found.value

    def write(self, address: int, contents: NDArray[Any]) -> None:
        """See `Api`."""
        self._done(self._hip.hipMemcpyHtoD(ctypes.c_void_p(address), ctypes.c_void_p(contents.ctypes.data),
                                           ctypes.c_size_t(contents.nbytes)))

    def copy(self, address: int, source: int, size: int, stream: Any = None) -> None:
        """See `Api`."""
        self._done(self._hip.hipMemcpyDtoDAsync(ctypes.c_void_p(address), ctypes.c_void_p(source),
                                                ctypes.c_size_t(size), ctypes.c_void_p(stream)))

    def fill(self, address: int, byte: int, size: int) -> None:
        """See `Api`."""
        self._done(self._hip.hipMemsetD8(ctypes.c_void_p(address), ctypes.c_ubyte(byte), ctypes.c_size_t(size)))

    def read(self, address: int, into: NDArray[Any]) -> None:
        """See `Api`."""
        self._done(self._hip.hipMemcpyDtoH(ctypes.c_void_p(into.ctypes.data), ctypes.c_void_p(address),
                                           ctypes.c_size_t(into.nbytes)))

    def texture(self, memory: TextureMemory) -> int:
        """See `Api`."""
        return make_texture(memory, self._hip.hipTexObjectCreate)

    def free_texture(self, texture: int) -> None:
        """See `Api`."""
        self._done(self._hip.hipTexObjectDestroy(ctypes.c_uint64(texture)))

    def load(self, code: bytes) -> Any:
        """See `Api`."""
        return self._pointer(self._hip.hipModuleLoadData, code)

    def unload(self, module: Any) -> None:
        """See `Api`."""
        self._done(self._hip.hipModuleUnload(ctypes.c_void_p(module)))

    def symbol(self, module: Any, name: str) -> tuple[int, int]:
        """See `Api`."""
        address, size = ctypes.c_void_p(), ctypes.c_size_t()
        self._done(self._hip.hipModuleGetGlobal(ctypes.byref(address), ctypes.byref(size), ctypes.c_void_p(module),
                                                name.encode()))
        return address.value or 0, size.value

    def function(self, module: Any, name: str) -> Any:
        """See `Api`."""
        return self._pointer(self._hip.hipModuleGetFunction, ctypes.c_void_p(module), name.encode())

    def function_attribute(self, function: Any, attribute: FunctionAttribute) -> int:
        """See `Api`; the numbers are CUDA's."""
        return self._number(self._hip.hipFuncGetAttribute, attribute.value, ctypes.c_void_p(function))

    def set_function_attribute(self, function: Any, attribute: FunctionAttribute, value: int) -> None:
        """Raise LaunchError: HIP cannot do this for a kernel of a module, and no Variant in HIP needs it
        (`generator.target.Language`).
        """
        raise LaunchError(f"HIP cannot set {attribute.name} of a kernel")

    def set_cache_preference(self, function: Any, preference: CachePreference) -> None:
        """See `set_function_attribute`."""
        raise LaunchError(f"HIP cannot set {preference.name} of a kernel")

    def stream(self) -> tuple[Any, int]:
        """See `Api`."""
        made = self._pointer(self._hip.hipStreamCreate) or 0
        return made, made

    def foreign_stream(self, handle: int) -> Any:
        """See `Api`."""
        return handle

    def library(self) -> Library:
        """See `Api`."""
        return Library(self._hip, HIP_NAMES, self._words)

    def launch(self, function: Any, grid: tuple[int, int, int], block: tuple[int, int, int], shared_bytes: int,
               arguments: bytes, stream: Any) -> None:
        """See `Api`."""
        buffer = ctypes.create_string_buffer(arguments, max(len(arguments), 1))
        size = ctypes.c_size_t(len(arguments))
        extra = (ctypes.c_void_p * 5)(
            PARAMETERS, ctypes.addressof(buffer), PARAMETERS_SIZE, ctypes.addressof(size), END
        )
        self._done(self._hip.hipModuleLaunchKernel(ctypes.c_void_p(function), *grid, *block, shared_bytes,
                                                   ctypes.c_void_p(stream), None, extra))

    def _number(self, call: Any, *arguments: object) -> int:
        """Return the int that a call writes through its first argument."""
        found = ctypes.c_int()
        self._done(call(ctypes.byref(found), *arguments))
        return found.value

    def _pointer(self, call: Any, *arguments: object) -> int | None:
        """Return the pointer that a call writes through its first argument."""
        found = ctypes.c_void_p()
        self._done(call(ctypes.byref(found), *arguments))
        return found.value

    def _done(self, status: int) -> None:
        """Raise LaunchError unless a call succeeded."""
        if status:
            raise LaunchError(self._words(status))

    def _words(self, status: int) -> str:
        return f"HIP error {status}: {self._hip.hipGetErrorString(status).decode(errors='replace')}"
