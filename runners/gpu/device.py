"""An open device of CUDA or HIP: arrays, modules and launches. Lives inside worker processes only."""

from __future__ import annotations

import struct
import time
import weakref
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import ceil
from typing import Any, assert_never

from numpy.typing import NDArray

from generator.errors import InputError
from generator.problem import Problem
from generator.target import LANGUAGES, Dialect
from generator.variant import Constant, Kernel, Texture, Variant
from metrics.resources import Resources
from runners.caches import flush_bytes
from runners.driver import MESSAGE_CHARS, BuildError, LaunchError, RunTime
from runners.gpu.api import Api, CachePreference, DeviceAttribute, FunctionAttribute
from runners.gpu.keys import device_keys
from runners.gpu.textures import Textures
from runners.gpu.units import Binary, unpacked
from runners.host_program import BoundLaunch
from runners.kernel_codes import alone
from runners.memory import GUARD, Bytes, GuardedMemory

EVENT_PAIRS = 1024
ALL_SHARED = 100  # per cent of a multiprocessor's memory


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of the device's memory."""

    address: int
    size: int


class Room:
    """`memory.Room` in linear memory."""

    def __init__(self, api: Api) -> None:
        """Nothing is allocated yet."""
        self._api = api

    def allocate(self, contents: Bytes) -> Piece:
        """New memory that holds `contents`."""
        piece = Piece(self._api.allocate(contents.nbytes), contents.nbytes)
        self._api.write(piece.address, contents)
        return piece

    def write(self, place: Piece, contents: Bytes) -> None:
        """Fill memory from the host."""
        self._api.write(place.address, contents)

    def copy(self, place: Piece, source: Piece) -> None:
        """Fill memory from other memory."""
        self._api.copy(place.address, source.address, source.size)

    def read(self, place: Piece, offset: int, into: NDArray[Any]) -> None:
        """Fill `into` from memory."""
        self._api.read(place.address + offset, into)

    def finish(self) -> None:
        """Wait for the device."""
        self._api.synchronize()


class GpuMemory(GuardedMemory[Piece]):
    """`driver.Memory` on a GPU, with the textures over it."""

    def __init__(self, api: Api, problem: Problem, pitch_alignment: int) -> None:
        """Allocates and fills everything. Raises LaunchError when it does not fit."""
        super().__init__(Room(api), problem)
        self._textures = Textures(api, self.values, pitch_alignment)

    def upload(self) -> None:
        """Write everything anew from the host, textures too."""
        self._textures.upload()
        super().upload()

    def pointer(self, name: str) -> int:
        """The address of an array's first element."""
        return self.whole[name].address + len(GUARD)

    def texture(self, texture: Texture) -> int:
        """The texture object of an array."""
        return self._textures.of(texture)


@dataclass(frozen=True, slots=True)
class _Bound:
    """A kernel with its fixed arguments; `layout` (of `struct`) is that of all arguments, iterators last."""

    function: Any
    layout: struct.Struct
    fixed: tuple[Any, ...]
    shared_bytes: int


class Events:
    """Pairs of events, made when first needed and used again and again."""

    def __init__(self, api: Api) -> None:
        """None is made yet."""
        self._api = api
        self._pairs: list[tuple[Any, Any]] = []

    def pair(self, number: int) -> tuple[Any, Any]:
        """The pair of this number, counted from 0 without gaps."""
        while number >= len(self._pairs):
            self._pairs.append((self._api.event(), self._api.event()))
        return self._pairs[number]

    def milliseconds(self, number: int) -> float:
        """The time between the events of a pair, once both have happened."""
        return self._api.elapsed_ms(*self._pairs[number])


class GpuExecutable:
    """`driver.Executable`: a module for each kernel, which has its arguments. They are unloaded with this object."""

    def __init__(self, api: Api, events: Events, memory: GpuMemory, variant: Variant, binaries: Sequence[Binary],
                 unit_shared_bytes: int) -> None:
        """`unit_shared_bytes`: the shared memory of a multiprocessor. Raises BuildError and LaunchError."""
        self._api, self._events, self._variant, self._binaries = api, events, variant, binaries
        self._unit_shared_bytes = unit_shared_bytes
        self._kernels = [self._load(kernel, binary, memory)
                         for kernel, binary in zip(variant.kernels, binaries, strict=True)]

    def run(self, launches: Sequence[BoundLaunch]) -> RunTime:
        """Run `launches` in order and wait for the last; see `driver.Executable`."""
        totals = [0.0] * len(self._kernels)
        start = time.perf_counter()
        for first in range(0, len(launches), EVENT_PAIRS):
            some = launches[first:first + EVENT_PAIRS]
            for number, launch in enumerate(some):
                self._launch(launch, *self._events.pair(number))
            self._api.synchronize()
            host_ms = (time.perf_counter() - start) * 1e3
            for number, launch in enumerate(some):
                totals[launch.kernel] += self._events.milliseconds(number)
        return RunTime(tuple(totals), host_ms if launches else 0.0)

    def resources(self) -> tuple[tuple[str, Resources], ...]:
        """What the driver says of each kernel; spills are the compiler's word."""
        return tuple(
            (kernel.name, self._resources(binary, bound))
            for kernel, binary, bound in zip(self._variant.kernels, self._binaries, self._kernels, strict=True)
        )

    def _resources(self, binary: Binary, bound: _Bound) -> Resources:
        ask = self._api.function_attribute
        return Resources(ask(bound.function, FunctionAttribute.NUM_REGS), binary.spills,
                         ask(bound.function, FunctionAttribute.SHARED_SIZE_BYTES) + bound.shared_bytes,
                         ask(bound.function, FunctionAttribute.LOCAL_SIZE_BYTES))

    def _launch(self, launch: BoundLaunch, begin: Any, end: Any) -> None:
        bound = self._kernels[launch.kernel]
        x, y, z = (*(items // threads for items, threads in zip(launch.items, launch.block, strict=True)), 1, 1)[:3]
        width, height, depth = (*launch.block, 1, 1)[:3]
        arguments = bound.layout.pack(*bound.fixed, *launch.iterators)
        self._api.record(begin)
        self._api.launch(bound.function, (x, y, z), (width, height, depth), bound.shared_bytes, arguments)
        self._api.record(end)

    def _load(self, kernel: Kernel, binary: Binary, memory: GpuMemory) -> _Bound:
        try:
            module = self._api.load(binary.code)
        except LaunchError as error:
            raise BuildError(f"the driver does not load the code: {error}; is it older than the compiler? See "
                             "`antune devices`"[:MESSAGE_CHARS]) from None
        weakref.finalize(self, _unload, self._api, module).atexit = False
        self._fill_constants(kernel, module, memory)
        return self._bind(kernel, module, memory)

    def _fill_constants(self, kernel: Kernel, module: Any, memory: GpuMemory) -> None:
        """Constant memory belongs to the module: every module needs its own contents."""
        for constant in (placed for placed in kernel.placements if isinstance(placed, Constant)):
            address, size = self._api.symbol(module, constant.symbol)
            contents = memory.values[constant.array]
            if size != contents.nbytes:
                raise BuildError(f"{constant.symbol} has {size} bytes, {constant.array} has {contents.nbytes}")
            self._api.write(address, contents)

    def _bind(self, kernel: Kernel, module: Any, memory: GpuMemory) -> _Bound:
        try:
            function = self._api.function(module, alone(kernel, self._variant).kernels[0].name)
            self._configure(kernel, function)
            kinds, values = _arguments(kernel, memory)
        except LaunchError as error:
            raise LaunchError(f"{kernel.name}: {error}"[:MESSAGE_CHARS]) from None
        return _Bound(function, struct.Struct("@" + kinds + "i" * len(kernel.iterators)), values,
                      kernel.dynamic_bytes(self._variant.dialect))

    def _configure(self, kernel: Kernel, function: Any) -> None:
        """Ask for shared memory beyond what all devices have, and for the division of memory that the Plan wants."""
        if dynamic := kernel.dynamic_bytes(self._variant.dialect):
            self._api.set_function_attribute(function, FunctionAttribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, dynamic)
        match kernel.cache:
            case "none":
                return
            case "shared":
                preference, carveout = CachePreference.PREFER_SHARED, ALL_SHARED
            case "l1":
                needed = ceil(ALL_SHARED * kernel.local_bytes / self._unit_shared_bytes)
                preference, carveout = CachePreference.PREFER_L1, min(needed, ALL_SHARED)
            case _:
                assert_never(kernel.cache)
        self._api.set_cache_preference(function, preference)
        self._api.set_function_attribute(function, FunctionAttribute.PREFERRED_SHARED_MEMORY_CARVEOUT, carveout)


def _arguments(kernel: Kernel, memory: GpuMemory) -> tuple[str, tuple[Any, ...]]:
    """The kinds (of `struct`) and values of what comes before the iterators; constants are no arguments."""
    textures = {placed.array: placed for placed in kernel.placements if isinstance(placed, Texture)}
    values: list[Any] = [memory.texture(textures[name]) if name in textures else memory.pointer(name)
                         for name in kernel.arrays]
    scalars = [memory.scalars[name] for name in kernel.scalars]
    kinds = "Q" * len(values) + "".join(scalar.dtype.char for scalar in scalars)
    return kinds, (*values, *(scalar.item() for scalar in scalars))


def _unload(api: Api, module: Any) -> None:
    with suppress(LaunchError):  # the device is lost, and this process ends
        api.unload(module)


def open_gpu(api: Api, dialect: Dialect, key: str, problem: Problem) -> GpuDevice:
    """The device called `key` with the arrays of `problem`. Raises InputError, LaunchError."""
    keys = device_keys(api, dialect)
    if key not in keys:
        raise InputError(f"the {LANGUAGES[dialect].title} device {key} is not there; see `antune devices`")
    return GpuDevice(api, keys.index(key), problem)


class GpuDevice:
    """`driver.Device`."""

    def __init__(self, api: Api, ordinal: int, problem: Problem) -> None:
        """Opens a device and puts the arrays there. Raises LaunchError."""
        self._api = api
        self._api.open(ordinal)
        ask = self._api.device_attribute
        self._memory = GpuMemory(self._api, problem, ask(ordinal, DeviceAttribute.TEXTURE_PITCH_ALIGNMENT))
        self._unit_shared_bytes = ask(ordinal, DeviceAttribute.MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)
        self._flush_bytes = flush_bytes(ask(ordinal, DeviceAttribute.L2_CACHE_SIZE), False)
        self._flushed: int | None = None
        self._events = Events(self._api)

    @property
    def memory(self) -> GpuMemory:
        """The arrays."""
        return self._memory

    def flush(self) -> None:
        """Write more than the L2 cache holds; see `driver.Device`."""
        if self._flushed is None:
            self._flushed = self._api.allocate(self._flush_bytes)
        self._api.fill(self._flushed, 0, self._flush_bytes)
        self._api.synchronize()

    def load(self, variant: Variant, codes: Sequence[bytes]) -> GpuExecutable:
        """What a UnitCompiler made, ready to run; see `driver.Device`."""
        self._memory.hold(variant.scratch)
        binaries = [unpacked(code) for code in codes]
        return GpuExecutable(self._api, self._events, self._memory, variant, binaries, self._unit_shared_bytes)
