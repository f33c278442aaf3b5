"""What antune needs of the driver API of CUDA or HIP, as a thin interface over whichever binding is installed.

Numbers are those of cuda.h; a binding of HIP translates where it has others. Addresses are ints in bytes. Memory is
copied on the default stream where no other is given.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Protocol

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
    """CUarray_format: what a channel of a texel holds."""

    UNSIGNED_INT32 = 0x03
    SIGNED_INT32 = 0x0A
    FLOAT = 0x20


@dataclass(frozen=True, slots=True)
class TextureMemory:
    """Linear memory to be read through a texture: `width` texels of `channels` words, without filter or conversion.

    `height` rows, each `pitch` bytes after the one before; 0: one row, in one dimension.
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
        return 4 * self.channels * self.width


class Api(Protocol):
    """A binding of the driver API. Every method but those for devices needs `open` or `entered`; all raise LaunchError.

    Modules, functions and events are whatever the binding makes of them.
    """

    @property
    def name(self) -> str:
        """Which binding this is."""

    @property
    def version(self) -> str:
        """Its version."""

    def driver_version(self) -> int:
        """The greatest version of CUDA or HIP that the driver supports, as CUDA or HIP encodes it."""

    def device_count(self) -> int:
        """The number of devices."""

    def device_name(self, ordinal: int) -> str:
        """What its vendor calls a device."""

    def device_attribute(self, ordinal: int, attribute: DeviceAttribute) -> int:
        """A property of a device."""

    def open(self, ordinal: int) -> None:
        """Make the primary context of a device current in this thread, for the rest of the process."""

    def entered(self, ordinal: int) -> AbstractContextManager[None]:
        """The primary context of a device is current in this thread; afterwards, what was current before.

        The context stays until the process ends.
        """

    def synchronize(self) -> None:
        """Wait until all is done. What a kernel did wrong is raised here."""

    def allocate(self, size: int) -> int:
        """The address of `size` new bytes; they stay until they are freed, or the process ends."""

    def free(self, address: int) -> None:
        """Give back what `allocate` gave; work that uses it is waited for."""

    def ordinal_of(self, address: int) -> int | None:
        """The device in whose memory an address lies; None where it lies in none."""

    def write(self, address: int, contents: NDArray[Any]) -> None:
        """Copy from the host."""

    def copy(self, address: int, source: int, size: int, stream: Any = None) -> None:
        """Copy on the device in the order of a stream (None: the default one); the host goes on."""

    def fill(self, address: int, byte: int, size: int) -> None:
        """Set `size` bytes to the same value, on the device."""

    def read(self, address: int, into: NDArray[Any]) -> None:
        """Copy to the host."""

    def texture(self, memory: TextureMemory) -> int:
        """A texture object over `memory`, which stays until it is freed, or the process ends."""

    def free_texture(self, texture: int) -> None:
        """Forget a texture object."""

    def load(self, code: bytes) -> Any:
        """The module in `code`, which a compiler made for this device."""

    def unload(self, module: Any) -> None:
        """Forget a module."""

    def symbol(self, module: Any, name: str) -> tuple[int, int]:
        """Address and size in bytes of a global variable."""

    def function(self, module: Any, name: str) -> Any:
        """A kernel."""

    def function_attribute(self, function: Any, attribute: FunctionAttribute) -> int:
        """A property of a kernel."""

    def set_function_attribute(self, function: Any, attribute: FunctionAttribute, value: int) -> None:
        """Change a property of a kernel."""

    def set_cache_preference(self, function: Any, preference: CachePreference) -> None:
        """How a kernel wants the memory of a multiprocessor divided."""

    def stream(self) -> tuple[Any, int]:
        """A new stream, which waits for the default one, and its handle in the driver."""

    def foreign_stream(self, handle: int) -> Any:
        """The caller's stream, as `launch` takes it, from its handle in the driver (0: the default one)."""

    def library(self) -> Library:
        """What makes graphs and events in the driver."""

    def launch(self, function: Any, grid: tuple[int, int, int], block: tuple[int, int, int], shared_bytes: int,
               arguments: bytes, stream: Any) -> None:
        """Begin a kernel, or record it; `arguments` are its parameters, each aligned to its size."""
