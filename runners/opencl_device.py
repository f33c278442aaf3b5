"""An open OpenCL device: buffers, programs and launches. Lives inside worker processes only.

pyopencl is imported here at module level: import this module only in a worker.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, assert_never

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from generator.problem import Problem
from generator.variant import Constant, Kernel, Placed, Texture, Variant
from runners.data import Values, initial_values, scalar_arguments
from runners.host_program import BoundLaunch
from runners.opencl_images import Images
from runners.opencl_probe import open_device

FLUSH_EVERY = 4096
GUARD = b"\xa5" * 4096  # a multiple of every driver's alignment for parts of buffers
MESSAGE_CHARS = 2000
FRAME = ("Build on <", "(options:", "(source saved as")
SOURCE_PATH = re.compile(r"/\S+\.cl:(?=\d)")


class BuildError(Exception):
    """The device's compiler refused the text; the message is the start of its log."""


class LaunchError(Exception):
    """The device refused or aborted a launch."""


@dataclass(frozen=True, slots=True)
class RunTime:
    """Times of one run of the whole host program in ms: by kernel (device events), and as the host saw it."""

    kernels_ms: tuple[float, ...]
    host_ms: float

    @property
    def device_ms(self) -> float:
        """The sum over all launches."""
        return sum(self.kernels_ms)


class Device:
    """The context and the profiling queue of one device."""

    def __init__(self, key: str) -> None:
        """Opens the device called `key`. Raises InputError when it is not there."""
        self.device = open_device(key)
        self.context = cl.Context([self.device])
        self.queue = cl.CommandQueue(self.context,
                                     properties=cl.command_queue_properties.PROFILING_ENABLE)

    def build(self, variant: Variant, binary: bytes | None = None) -> cl.Program:
        """The built program; from `binary` (see `binary_of`) when given, else from the text.

        Raises:
            BuildError: the compiler refused.
        """
        try:
            if binary is None:
                program = cl.Program(self.context, variant.source)
            else:
                program = cl.Program(self.context, [self.device], [binary])
            program.build()
        except cl.Error as error:
            raise BuildError(_short_log(str(error))) from None
        return program

    def binary_of(self, program: cl.Program) -> bytes:
        """The device code of a built program; after a launch it holds what the driver compiled lazily too."""
        binaries: Any = program.get_info(cl.program_info.BINARIES)
        return bytes(binaries[0])


class Memory:
    """The arrays of a Problem on a device, with a pristine copy of all that a run changes.

    Before and behind each array lies a guard zone, so that a kernel that writes out of bounds is found out.
    Kernels get `buffers`, which begin behind the first zone, or what `placed` makes of them.
    """

    def __init__(self, device: Device, problem: Problem) -> None:
        """Allocates and fills all buffers. Raises pyopencl.Error when they do not fit on the device."""
        self._device = device
        self._values: Values = initial_values(problem)
        self.scalars = scalar_arguments(problem, self._values)
        self.buffers: dict[str, cl.Buffer] = {}
        self._whole: dict[str, cl.Buffer] = {}
        self._pristine: dict[str, cl.Buffer] = {}
        self._constants: dict[str, cl.Buffer] = {}
        self._images = Images(device.context, device.queue, self._values)
        for array in problem.program.arrays:
            if array.by_value:
                continue
            whole = self._whole[array.name] = self._buffer(array.name)
            self.buffers[array.name] = whole.get_sub_region(len(GUARD), self._values[array.name].nbytes + len(GUARD))
            if array.role != "in":
                self._pristine[array.name] = self._buffer(array.name)

    def _buffer(self, name: str) -> cl.Buffer:
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        return cl.Buffer(self._device.context, flags, hostbuf=self._zoned(name))

    def _zoned(self, name: str) -> NDArray[np.uint8]:
        """The bytes of an array between its guard zones."""
        return np.frombuffer(GUARD + self._values[name].tobytes() + GUARD, np.uint8)

    def placed(self, placed: Placed) -> cl.Image | cl.Buffer:
        """The argument for an array that a kernel reads as a texture or from constant memory.

        Raises:
            pyopencl.Error: the device has no room for it.
        """
        match placed:
            case Texture():
                return self._images.of(placed)
            case Constant(name, _):
                return self.constant(name)
            case _:
                assert_never(placed)

    def constant(self, name: str) -> cl.Buffer:
        """The bare array: its guard zones would take room in constant memory."""
        if name not in self._constants:  # a kernel does not keep its arguments alive
            self._constants[name] = self._whole[name].get_sub_region(len(GUARD), self._values[name].nbytes)
        return self._constants[name]

    def upload(self) -> None:
        """Write everything anew from the host: what an earlier variant may have damaged is whole again."""
        for buffers in (self._whole, self._pristine):
            for name, buffer in buffers.items():
                cl.enqueue_copy(self._device.queue, buffer, self._zoned(name))
        self._images.upload()
        self._device.queue.finish()

    def restore(self) -> None:
        """Undo what a run wrote, on the device, and wait for it: the next run starts from the same data."""
        for name, pristine in self._pristine.items():
            cl.enqueue_copy(self._device.queue, self._whole[name], pristine)
        self._device.queue.finish()

    def read(self, names: Sequence[str]) -> Values:
        """The present contents of the arrays `names`."""
        contents: dict[str, NDArray[Any]] = {}
        for name in names:
            contents[name] = np.empty_like(self._values[name])
            cl.enqueue_copy(self._device.queue, contents[name], self.buffers[name])
        return contents

    def overrun(self) -> str | None:
        """The first array that was written out of its bounds, in words."""
        zone = np.empty(len(GUARD), np.uint8)
        for name, whole in self._whole.items():
            for words, offset in (("before its start", 0), ("past its end", whole.size - len(GUARD))):
                cl.enqueue_copy(self._device.queue, zone, whole, src_offset=offset)
                if zone.tobytes() != GUARD:
                    return f"{name} was written {words}"
        return None

    def changed_input(self) -> str | None:
        """The first array that the program only reads and that is not as it was uploaded, in words."""
        for name in self._whole:
            if name not in self._pristine and self.read([name])[name].tobytes() != self._values[name].tobytes():
                return f"{name} was written, which the program only reads"
        return None


class Executable:
    """A built Variant with its arguments bound to a Memory: ready to run any number of times."""

    def __init__(self, device: Device, program: cl.Program, variant: Variant, memory: Memory) -> None:
        """Raises LaunchError when a kernel exceeds the device's limits or does not take its arguments."""
        self._device = device
        self._kernels = []
        self._first_iterator = []
        for kernel in variant.kernels:
            _check_limits(device.device, kernel)
            self._kernels.append(_bind(program, kernel, memory))
            self._first_iterator.append(len(kernel.arrays) + len(kernel.scalars))

    def run(self, launches: Sequence[BoundLaunch]) -> RunTime:
        """Run `launches` in order and wait for the last.

        Raises:
            LaunchError: the device refused or aborted one of them.
        """
        totals = [0] * len(self._kernels)
        start = time.perf_counter()
        events: list[tuple[int, cl.Event]] = []
        try:
            for launch in launches:
                events.append((launch.kernel, self._enqueue(launch)))
                if len(events) >= FLUSH_EVERY:  # a driver keeps all events alive: bound them
                    self._collect(events, totals)
            self._device.queue.finish()
            host_ms = (time.perf_counter() - start) * 1e3
            self._collect(events, totals)
        except cl.Error as error:
            raise LaunchError(str(error)[:MESSAGE_CHARS]) from None
        return RunTime(tuple(total * 1e-6 for total in totals), host_ms)

    def _enqueue(self, launch: BoundLaunch) -> cl.Event:
        kernel, first = self._kernels[launch.kernel], self._first_iterator[launch.kernel]
        for position, value in enumerate(launch.iterators, first):
            kernel.set_arg(position, np.int32(value))
        return cl.enqueue_nd_range_kernel(self._device.queue, kernel, launch.items, launch.block)

    def _collect(self, events: list[tuple[int, cl.Event]], totals: list[int]) -> None:
        """Add the events' durations (ns) to `totals` and forget them."""
        self._device.queue.finish()
        for kernel, event in events:
            if event.command_execution_status < 0:
                raise LaunchError(f"a launch was aborted with status {event.command_execution_status}")
            profile = event.profile
            totals[kernel] += profile.end - profile.start
        events.clear()


def _bind(program: cl.Program, kernel: Kernel, memory: Memory) -> cl.Kernel:
    try:
        bound = cl.Kernel(program, kernel.name)
        elsewhere = {placed.array: memory.placed(placed) for placed in kernel.placements}
        for position, name in enumerate(kernel.arrays):
            bound.set_arg(position, elsewhere[name] if name in elsewhere else memory.buffers[name])
        for position, name in enumerate(kernel.scalars, len(kernel.arrays)):
            bound.set_arg(position, memory.scalars[name])
    except cl.Error as error:
        raise LaunchError(f"{kernel.name}: {error}"[:MESSAGE_CHARS]) from None
    return bound


def _check_limits(device: cl.Device, kernel: Kernel) -> None:
    """Refuse here what some drivers accept and then crash on."""
    threads = int(np.prod(kernel.block or (1,)))
    if kernel.local_bytes > device.local_mem_size:
        raise LaunchError(f"{kernel.name} needs {kernel.local_bytes} bytes of local memory; the device has "
                          f"{device.local_mem_size}")
    if threads > device.max_work_group_size:
        raise LaunchError(f"{kernel.name} has {threads} threads per block; the device allows "
                          f"{device.max_work_group_size}")


def _short_log(text: str) -> str:
    """The compiler's log without the frame that pyopencl puts around it."""
    body = text.split("\n\n", 1)[-1] if "BUILD_PROGRAM_FAILURE" in text else text
    lines = [SOURCE_PATH.sub("", line) for line in body.splitlines()
             if line.strip() and not line.startswith(FRAME)]
    return "\n".join(lines)[:MESSAGE_CHARS] or text[:MESSAGE_CHARS]
