"""CUDA's driver API through pycuda, which lacks texture objects: `runners/gpu/texture_object.py` makes them."""

from __future__ import annotations

import atexit
import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import pycuda
import pycuda.driver as cuda
from numpy.typing import NDArray

from runners.cuda.library import cuda_library, ordinal_of
from runners.driver import LaunchError
from runners.gpu.api import CachePreference, DeviceAttribute, FunctionAttribute, NoDriver, TextureMemory
from runners.gpu.graphs import Library
from runners.gpu.texture_object import make_texture


class _Errors:
    """Converts pycuda's errors to LaunchError."""

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, cuda.Error):
            raise LaunchError(str(error)) from None


class PyCuda:
    """`api.Api`."""

    def __init__(self) -> None:
        """Loads the driver. Raises NoDriver if there is none."""
        try:
            cuda.init()
        except cuda.Error as error:
            raise NoDriver(f"the NVIDIA driver cannot start: {error}") from None
        self._contexts: dict[int, Any] = {}
        self._allocations: dict[int, Any] = {}
        self._errors = _Errors()

    @property
    def name(self) -> Literal["pycuda"]:
        """The name of the binding."""
        return "pycuda"

    @property
    def version(self) -> str:
        """The version of pycuda."""
        return str(pycuda.VERSION_TEXT)

    def driver_version(self) -> int:
        """See `Api`."""
        return int(cuda.get_driver_version())

    def device_count(self) -> int:
        """See `Api`."""
        with self._errors:
            return int(cuda.Device.count())

    def device_name(self, ordinal: int) -> str:
        """See `Api`."""
        with self._errors:
            return str(cuda.Device(ordinal).name())

    def device_attribute(self, ordinal: int, attribute: DeviceAttribute) -> int:
        """See `Api`."""
        with self._errors:
            return int(cuda.Device(ordinal).get_attribute(getattr(cuda.device_attribute, attribute.name)))

    def open(self, ordinal: int) -> None:
        """See `Api`."""
        with self._errors:
            self._primary(ordinal).push()
        atexit.register(cuda.Context.pop)  # pycuda aborts a process that ends with a context on its stack

    @contextmanager
    def entered(self, ordinal: int) -> Iterator[None]:
        """See `Api`."""
        with self._errors:
            self._primary(ordinal).push()
        try:
            yield
        finally:
            with self._errors:
                cuda.Context.pop()

    def _primary(self, ordinal: int) -> Any:
        """Return the same object each time: pycuda does not use the objects of one in another."""
        if ordinal not in self._contexts:
            self._contexts[ordinal] = cuda.Device(ordinal).retain_primary_context()
        return self._contexts[ordinal]

    def synchronize(self) -> None:
        """See `Api`."""
        with self._errors:
            cuda.Context.synchronize()

    def allocate(self, size: int) -> int:
        """See `Api`."""
        with self._errors:
            allocation = cuda.mem_alloc(size)
        self._allocations[int(allocation)] = allocation  # it would be freed with its last reference
        return int(allocation)

    def free(self, address: int) -> None:
        """See `Api`."""
        with self._errors:
            self._allocations.pop(address).free()

    def ordinal_of(self, address: int) -> int | None:
        """See `Api`."""
        return ordinal_of(address)

    def write(self, address: int, contents: NDArray[Any]) -> None:
        """See `Api`."""
        with self._errors:
            cuda.memcpy_htod(address, contents)

    def copy(self, address: int, source: int, size: int, stream: Any = None) -> None:
        """See `Api`."""
        with self._errors:
            cuda.memcpy_dtod_async(address, source, size, stream)

    def fill(self, address: int, byte: int, size: int) -> None:
        """See `Api`."""
        with self._errors:
            cuda.memset_d8(address, byte, size)

    def read(self, address: int, into: NDArray[Any]) -> None:
        """See `Api`."""
        with self._errors:
            cuda.memcpy_dtoh(into, address)

    def texture(self, memory: TextureMemory) -> int:
        """See `Api`."""
        return make_texture(memory, ctypes.CDLL("libcuda.so.1").cuTexObjectCreate)

    def free_texture(self, texture: int) -> None:
        """See `Api`."""
        if status := ctypes.CDLL("libcuda.so.1").cuTexObjectDestroy(ctypes.c_uint64(texture)):
            raise LaunchError(f"the driver does not free a texture (error {status})")

    def load(self, code: bytes) -> Any:
        """See `Api`."""
        with self._errors:
            return cuda.module_from_buffer(code)

    def unload(self, module: Any) -> None:
        """Do nothing: a module is unloaded with its last reference."""

    def symbol(self, module: Any, name: str) -> tuple[int, int]:
        """See `Api`."""
        with self._errors:
            address, size = module.get_global(name)
        return int(address), int(size)

    def function(self, module: Any, name: str) -> Any:
        """See `Api`."""
        with self._errors:
            return module.get_function(name)

    def function_attribute(self, function: Any, attribute: FunctionAttribute) -> int:
        """See `Api`."""
        with self._errors:
            return int(function.get_attribute(getattr(cuda.function_attribute, attribute.name)))

    def set_function_attribute(self, function: Any, attribute: FunctionAttribute, value: int) -> None:
        """See `Api`."""
        with self._errors:
            function.set_attribute(getattr(cuda.function_attribute, attribute.name), value)

    def set_cache_preference(self, function: Any, preference: CachePreference) -> None:
        """See `Api`."""
        with self._errors:
            function.set_cache_config(getattr(cuda.func_cache, preference.name))

    def stream(self) -> tuple[Any, int]:
        """See `Api`."""
        with self._errors:
            made = cuda.Stream()
        return made, int(made.handle)

    def foreign_stream(self, handle: int) -> Any:
        """See `Api`; pycuda only accepts its own streams."""
        if handle:
            raise LaunchError("pycuda cannot use the streams of others; `pip install cuda-bindings` for that")
        return None

    def library(self) -> Library:
        """See `Api`."""
        return cuda_library()

    def launch(self, function: Any, grid: tuple[int, int, int], block: tuple[int, int, int], shared_bytes: int,
               arguments: bytes, stream: Any) -> None:
        """See `Api`."""
        with self._errors:
            function._launch_kernel(grid, block, arguments, shared_bytes, stream)
