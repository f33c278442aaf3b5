"""An open device of CUDA or HIP: arrays, modules and launches. Used in worker processes only."""

from __future__ import annotations

import os
import struct
import time
import weakref
from collections.abc import Iterator, Sequence
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
from runners.gpu.graphs import Graphs
from runners.gpu.intervals import Part, parts
from runners.gpu.keys import device_keys
from runners.gpu.textures import Textures
from runners.gpu.units import Binary, unpacked
from runners.host_program import BoundLaunch
from runners.kernel_codes import alone
from runners.memory import GUARD, Bytes, GuardedMemory

MOST_KEPT = 16384
"""The maximum number of launches whose graphs are kept for the next run."""
ALL_SHARED = 100  # percent of a multiprocessor's memory


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of the device's memory."""

    address: int
    size: int


class Room:
    """`memory.Room` in linear memory."""

    def __init__(self, api: Api) -> None:
        """Nothing is allocated yet."""
        self._api = api

    def allocate(self, contents: Bytes) -> Piece:
        """Return new memory with `contents`."""
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
    """`driver.Memory` on a GPU, with its textures."""

    def __init__(self, api: Api, problem: Problem, pitch_alignment: int) -> None:
        """Allocates and fills everything. Raises LaunchError if it does not fit."""
        super().__init__(Room(api), problem)
        self._textures = Textures(api, self.values, pitch_alignment)

    def _write_all(self) -> None:
        self._textures.upload()
        super()._write_all()

    def _copy_all(self) -> None:
        super()._copy_all()
        self._textures.copy(self.pointer)

    def pointer(self, name: str) -> int:
        """Return the address of an array's first element."""
        return self.whole[name].address + len(GUARD)

    def texture(self, texture: Texture) -> int:
        """Return the texture object of an array. Guard zones keep the alignment that textures need."""
        return self._textures.of(texture, self.pointer(texture.array) if texture.in_place else None)


@dataclass(frozen=True, slots=True)
class _Bound:
    """A kernel with its fixed arguments; `layout` (of `struct`) is that of all arguments, iterators last."""

    function: Any
    layout: struct.Struct
    fixed: tuple[Any, ...]
    shared_bytes: int


@dataclass(frozen=True, slots=True)
class Clock:
    """A stream for launches, with graphs that time them."""

    stream: Any
    graphs: Graphs


@dataclass(frozen=True, slots=True)
class _Recorded:
    """The graphs of a program (if any): `of`, repeated `times`."""

    of: Sequence[BoundLaunch]
    times: int
    parts: tuple[tuple[Part, int], ...]


class GpuExecutable:
    """`driver.Executable`: a module for each kernel, with its arguments. They are unloaded with this object."""

    def __init__(self, api: Api, clock: Clock, memory: GpuMemory, variant: Variant, binaries: Sequence[Binary],
                 unit_shared_bytes: int) -> None:
        """`unit_shared_bytes`: the shared memory of a multiprocessor. Raises BuildError and LaunchError."""
        self._api, self._clock, self._variant, self._binaries = api, clock, variant, binaries
        self._unit_shared_bytes = unit_shared_bytes
        self._recorded: _Recorded | None = None
        self._graphs: list[int] = []
        weakref.finalize(self, _forget, clock.graphs, self._graphs).atexit = False
        self._kernels = [self._load(kernel, binary, memory)
                         for kernel, binary in zip(variant.kernels, binaries, strict=True)]

    def run(self, launches: Sequence[BoundLaunch], times: int = 1, by_kernel: bool = False) -> RunTime:
        """Run `launches` in order and wait for the last; see `driver.Executable`."""
        kernels_ms = [0.0] * len(self._kernels)
        device_ms = host_ms = 0.0
        for part, graph in self._prepared(launches, times, by_kernel):
            start = time.perf_counter()
            if graph is None:
                self._queue(part)
            else:
                self._clock.graphs.launch(graph)
            self._api.synchronize()
            host_ms += (time.perf_counter() - start) * 1e3
            for number, interval in enumerate(part):
                taken_ms = self._clock.graphs.milliseconds(number, number + 1)
                device_ms += taken_ms
                if interval.kernel is not None:
                    kernels_ms[interval.kernel] += taken_ms
        if not by_kernel:
            kernels_ms = [device_ms] if len(kernels_ms) == 1 else []
        return RunTime(device_ms / times, host_ms / times, tuple(ms / times for ms in kernels_ms))

    def _prepared(self, launches: Sequence[BoundLaunch], times: int,
                  by_kernel: bool) -> Iterator[tuple[Part, int | None]]:
        """Yield the parts of a program with their graphs. Those of a short program are kept for its next run."""
        graphs, kept = self._clock.graphs, self._recorded
        if not graphs.records:
            yield from ((part, None) for part in parts(launches, times, by_kernel))
        elif kept is not None and not by_kernel and kept.of is launches and kept.times == times:
            yield from kept.parts
        elif not by_kernel and len(launches) * times <= MOST_KEPT:
            self._forget()
            made = [(part, self._record(part)) for part in parts(launches, times, by_kernel)]
            self._recorded = _Recorded(launches, times, tuple(made))
            yield from made
        else:
            self._forget()
            for part in parts(launches, times, by_kernel):
                yield part, self._record(part)
                self._forget()

    def _record(self, part: Part) -> int:
        graph = self._clock.graphs.recorded(lambda: self._queue(part))
        self._graphs.append(graph)
        return graph

    def _forget(self) -> None:
        self._recorded = None
        _forget(self._clock.graphs, self._graphs)

    def _queue(self, part: Part) -> None:
        self._clock.graphs.mark(0)
        for number, interval in enumerate(part, 1):
            for launch in interval.launches:
                self._launch(launch)
            self._clock.graphs.mark(number)

    def resources(self) -> tuple[tuple[str, Resources], ...]:
        """Return the resources of each kernel as the driver reports them; spills are reported by the compiler."""
        return tuple(
            (kernel.name, self._resources(binary, bound))
            for kernel, binary, bound in zip(self._variant.kernels, self._binaries, self._kernels, strict=True)
        )

    def _resources(self, binary: Binary, bound: _Bound) -> Resources:
        ask = self._api.function_attribute
        return Resources(ask(bound.function, FunctionAttribute.NUM_REGS), binary.spills,
                         ask(bound.function, FunctionAttribute.SHARED_SIZE_BYTES) + bound.shared_bytes,
                         ask(bound.function, FunctionAttribute.LOCAL_SIZE_BYTES))

    def _launch(self, launch: BoundLaunch) -> None:
        bound = self._kernels[launch.kernel]
        x, y, z = (*(items // threads for items, threads in zip(launch.items, launch.block, strict=True)), 1, 1)[:3]
        width, height, depth = (*launch.block, 1, 1)[:3]
        arguments = bound.layout.pack(*bound.fixed, *launch.iterators)
        self._api.launch(bound.function, (x, y, z), (width, height, depth), bound.shared_bytes, arguments,
                         self._clock.stream)

    def _load(self, kernel: Kernel, binary: Binary, memory: GpuMemory) -> _Bound:
        module = loaded_module(self._api, binary)
        weakref.finalize(self, _unload, self._api, module).atexit = False
        self._fill_constants(kernel, module, memory)
        return self._bind(kernel, module, memory)

    def _fill_constants(self, kernel: Kernel, module: Any, memory: GpuMemory) -> None:
        """Fill constant memory, which belongs to the module: every module needs its own contents."""
        for constant in (placed for placed in kernel.placements if isinstance(placed, Constant)):
            address, size = self._api.symbol(module, constant.symbol)
            contents = memory.values[constant.array]
            if size != contents.nbytes:
                raise BuildError(f"{constant.symbol} has {size} bytes, {constant.array} has {contents.nbytes}")
            self._api.write(address, contents)

    def _bind(self, kernel: Kernel, module: Any, memory: GpuMemory) -> _Bound:
        function = configured(self._api, kernel, self._variant, module, self._unit_shared_bytes)
        try:
            kinds, values = _arguments(kernel, memory)
        except LaunchError as error:
            raise LaunchError(f"{kernel.name}: {error}"[:MESSAGE_CHARS]) from None
        return _Bound(function, struct.Struct("@" + kinds + "i" * len(kernel.iterators)), values,
                      kernel.dynamic_bytes(self._variant.dialect))


def loaded_module(api: Api, binary: Binary) -> Any:
    """Return the module of a kernel. Raises BuildError if the driver refuses the code."""
    try:
        return api.load(binary.code)
    except LaunchError as error:
        raise BuildError(f"the driver does not load the code: {error}; is it older than the compiler? See "
                         "`antune devices`"[:MESSAGE_CHARS]) from None


def configured(api: Api, kernel: Kernel, variant: Variant, module: Any, unit_shared_bytes: int) -> Any:
    """Return the function of a kernel of `variant` in its module, with its shared memory. Raises LaunchError."""
    try:
        function = api.function(module, alone(kernel, variant).kernels[0].name)
        _configure(api, kernel, function, variant.dialect, unit_shared_bytes)
    except LaunchError as error:
        raise LaunchError(f"{kernel.name}: {error}"[:MESSAGE_CHARS]) from None
    return function


def _configure(api: Api, kernel: Kernel, function: Any, dialect: Dialect, unit_shared_bytes: int) -> None:
    """Request shared memory beyond the general limit, and the division of memory that the Plan chooses.

    Raises:
        LaunchError: the driver refuses.
    """
    if dynamic := kernel.dynamic_bytes(dialect):
        api.set_function_attribute(function, FunctionAttribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, dynamic)
    match kernel.cache:
        case "none":
            return
        case "shared":
            preference, carveout = CachePreference.PREFER_SHARED, ALL_SHARED
        case "l1":
            needed = ceil(ALL_SHARED * kernel.local_bytes / unit_shared_bytes)
            preference, carveout = CachePreference.PREFER_L1, min(needed, ALL_SHARED)
        case _:
            assert_never(kernel.cache)
    api.set_cache_preference(function, preference)
    api.set_function_attribute(function, FunctionAttribute.PREFERRED_SHARED_MEMORY_CARVEOUT, carveout)


def _arguments(kernel: Kernel, memory: GpuMemory) -> tuple[str, tuple[Any, ...]]:
    """Return the kinds (of `struct`) and values of the arguments before the iterators; constants are not arguments."""
    textures = {placed.array: placed for placed in kernel.placements if isinstance(placed, Texture)}
    kinds, values, scalars = "", list[Any](), frozenset(kernel.scalars)
    for name in kernel.arguments:
        if name in scalars:
            kinds += memory.scalars[name].dtype.char
            values.append(memory.scalars[name].item())
        else:
            kinds += "Q"
            values.append(memory.texture(textures[name]) if name in textures else memory.pointer(name))
    return kinds, tuple(values)


def _unload(api: Api, module: Any) -> None:
    with suppress(LaunchError):  # the device is lost, and this process ends
        api.unload(module)


def _forget(graphs: Graphs, numbers: list[int]) -> None:
    while numbers:
        with suppress(LaunchError):  # see `_unload`
            graphs.forget(numbers.pop())


def open_gpu(api: Api, dialect: Dialect, key: str, problem: Problem) -> GpuDevice:
    """Open the device `key` with the arrays of `problem`. Raises InputError, LaunchError."""
    keys = device_keys(api, dialect)
    if key not in keys:
        raise InputError(f"the {LANGUAGES[dialect].title} device {key} is not there; see `antune devices`")
    return GpuDevice(api, keys.index(key), problem)


class GpuDevice:
    """`driver.Device`."""

    def __init__(self, api: Api, ordinal: int, problem: Problem) -> None:
        """Opens a device and copies the arrays there. Raises LaunchError."""
        self._api = api
        self._api.open(ordinal)
        ask = self._api.device_attribute
        self._memory = GpuMemory(self._api, problem, ask(ordinal, DeviceAttribute.TEXTURE_PITCH_ALIGNMENT))
        self._unit_shared_bytes = ask(ordinal, DeviceAttribute.MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)
        self._flush_bytes = flush_bytes(ask(ordinal, DeviceAttribute.L2_CACHE_SIZE), False)
        self._flushed: int | None = None
        stream, handle = self._api.stream()
        self._clock = Clock(stream, Graphs(self._api.library(), handle, os.environ.get("ANTUNE_GRAPHS") != "0"))

    @property
    def memory(self) -> GpuMemory:
        """The arrays."""
        return self._memory

    @property
    def least_ms(self) -> float:
        """The resolution of events is half a microsecond (cuEventElapsedTime in NVIDIA's driver API)."""
        return 0.5

    def flush(self) -> None:
        """Write more than the L2 cache holds; see `driver.Device`."""
        if self._flushed is None:
            self._flushed = self._api.allocate(self._flush_bytes)
        self._api.fill(self._flushed, 0, self._flush_bytes)
        self._api.synchronize()

    def load(self, variant: Variant, codes: Sequence[bytes]) -> GpuExecutable:
        """Load the result of a UnitCompiler; see `driver.Device`."""
        self._memory.hold(variant.scratch)
        binaries = [unpacked(code) for code in codes]
        return GpuExecutable(self._api, self._clock, self._memory, variant, binaries, self._unit_shared_bytes)
