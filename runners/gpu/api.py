"""The interface to the driver API of CUDA or HIP, implemented by each binding.

Numbers are those of cuda.h; a binding of HIP translates them if HIP's differ. Addresses are ints in bytes. Memory is
copied on the default stream unless another is given.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Protocol, assert_never

from numpy.typing import NDArray

from generator.errors import InputError
from runners.gpu.graphs import Library


class NoDriver(InputError):
    """There is no driver, or it has no device; the message says what to do."""


class DeviceAttribute(IntEnum):
    """CUdevice_attribute."""

    MAX_THREADS_PER_BLOCK = 1
    MAX_BLOCK_DIM_X = 2
    MAX_BLOCK_DIM_Y = 3
    MAX_BLOCK_DIM_Z = 4
    MAX_SHARED_MEMORY_PER_BLOCK = 8
    TOTAL_CONSTANT_MEMORY = 9
    WARP_SIZE = 10
    MULTIPROCESSOR_COUNT = 16
    L2_CACHE_SIZE = 38
    TEXTURE_PITCH_ALIGNMENT = 51
    MAXIMUM_TEXTURE1D_LINEAR_WIDTH = 69
    MAXIMUM_TEXTURE2D_LINEAR_WIDTH = 70
    MAXIMUM_TEXTURE2D_LINEAR_HEIGHT = 71
    MAXIMUM_TEXTURE2D_LINEAR_PITCH = 72
    COMPUTE_CAPABILITY_MAJOR = 75
    COMPUTE_CAPABILITY_MINOR = 76
    MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81
    MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97


class FunctionAttribute(IntEnum):
    """CUfunction_attribute; the last two can be set."""

    MAX_THREADS_PER_BLOCK = 0
    SHARED_SIZE_BYTES = 1
    LOCAL_SIZE_BYTES = 3
    NUM_REGS = 4
    MAX_DYNAMIC_SHARED_SIZE_BYTES = 8
    PREFERRED_SHARED_MEMORY_CARVEOUT = 9


class CachePreference(IntEnum):
    """CUfunc_cache."""

    PREFER_NONE = 0
    PREFER_SHARED = 1
    PREFER_L1 = 2


class Channel(IntEnum):
    """CUarray_format: the type of a channel of a texel."""

    UNSIGNED_INT8 = 0x01
    UNSIGNED_INT16 = 0x02
    UNSIGNED_INT32 = 0x03
    SIGNED_INT8 = 0x08
    SIGNED_INT16 = 0x09
    SIGNED_INT32 = 0x0A
    FLOAT = 0x20

    @property
    def bytes(self) -> int:
        """The size of such a channel."""
        match self:
            case Channel.UNSIGNED_INT8 | Channel.SIGNED_INT8:
                return 1
            case Channel.UNSIGNED_INT16 | Channel.SIGNED_INT16:
                return 2
            case Channel.UNSIGNED_INT32 | Channel.SIGNED_INT32 | Channel.FLOAT:
                return 4
            case _:
                assert_never(self)


@dataclass(frozen=True, slots=True)
class TextureMemory:
    """Linear memory to be read through a texture: `width` texels of `channels` numbers, without filter or
    conversion.

    `height` rows, `pitch` bytes apart; 0: one row, in one dimension.
    """

    address: int
    channel: Channel
    channels: int
    width: int
    height: int = 0
    pitch: int = 0

    @property
    def bytes(self) -> int:
        """The size of the texels of one row."""
        return self.channel.bytes * self.channels * self.width


class Api(Protocol):
    """A binding of the driver API. Except for queries of devices, methods need `open` or `entered`; all raise
    LaunchError.

    The types of modules, functions and events depend on the binding.
    """

    @property
    def name(self) -> str:
        """The name of the binding."""

    @property
    def version(self) -> str:
        """Its version."""

    def driver_version(self) -> int:
        """Return the greatest version of CUDA or HIP that the driver supports, as encoded by CUDA or HIP."""

    def device_count(self) -> int:
        """Return the number of devices."""

    def device_name(self, ordinal: int) -> str:
        """Return the vendor's name of a device."""

    def device_attribute(self, ordinal: int, attribute: DeviceAttribute) -> int:
        """Return a property of a device."""

    def open(self, ordinal: int) -> None:
        """Make the primary context of a device current in this thread, for the rest of the process."""

    def entered(self, ordinal: int) -> AbstractContextManager[None]:
        """Make the primary context of a device current in this thread; at the end, restore the previous one.

        The context exists until the process ends.
        """

    def synchronize(self) -> None:
        """Wait until all work is done. Raises errors of kernels."""

    def allocate(self, size: int) -> int:
        """Return the address of `size` new bytes; they exist until they are freed, or the process ends."""

    def free(self, address: int) -> None:
        """Free memory of `allocate`; wait for work that uses it."""

    def ordinal_of(self, address: int) -> int | None:
        """Return the device in whose memory an address lies; None if it is in none."""

    def write(self, address: int, contents: NDArray[Any]) -> None:
        """Copy from the host."""

    def copy(self, address: int, source: int, size: int, stream: Any = None) -> None:
        """Copy on the device in the order of a stream (None: the default one); do not wait."""

    def fill(self, address: int, byte: int, size: int) -> None:
        """Set `size` bytes to the same value, on the device."""

    def read(self, address: int, into: NDArray[Any]) -> None:
        """Copy to the host."""

    def texture(self, memory: TextureMemory) -> int:
        """Return a texture object over `memory`; it exists until it is freed, or the process ends."""

    def free_texture(self, texture: int) -> None:
        """Free a texture object."""

    def load(self, code: bytes) -> Any:
        """Load `code`, which was compiled for this device, and return the module."""

    def unload(self, module: Any) -> None:
        """Unload a module."""

    def symbol(self, module: Any, name: str) -> tuple[int, int]:
        """Return address and size in bytes of a global variable."""

    def function(self, module: Any, name: str) -> Any:
        """Return a kernel."""

    def function_attribute(self, function: Any, attribute: FunctionAttribute) -> int:
        """Return a property of a kernel."""

    def set_function_attribute(self, function: Any, attribute: FunctionAttribute, value: int) -> None:
        """Change a property of a kernel."""

    def set_cache_preference(self, function: Any, preference: CachePreference) -> None:
        """Set whether a kernel prefers shared memory or L1."""

    def stream(self) -> tuple[Any, int]:
        """Return a new stream, which waits for the default one, and its handle in the driver."""

    def foreign_stream(self, handle: int) -> Any:
        """Return a caller's stream for `launch`, from its handle in the driver (0: the default one)."""

    def library(self) -> Library:
        """Return the driver's library for graphs and events."""

    def launch(self, function: Any, grid: tuple[int, int, int], block: tuple[int, int, int], shared_bytes: int,
               arguments: bytes, stream: Any) -> None:
        """Launch a kernel, or record the launch; `arguments` are its parameters, each aligned to its size."""
