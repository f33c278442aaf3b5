"""Tuned code as a function on numpy and pyopencl arrays, in the caller's process: `calls.Caller` for OpenCL.

Everything that a call needs is made when a queue is first used: kernels with their fixed arguments, memory between
kernels, images. A call sets the caller's arguments and enqueues the launches. In-order queues keep the launches in
order.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, cast

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from generator.variant import Texture
from runners.calls import ArgumentError, Code, Parameter, check_form, lies_in_host, overlap, wrong
from runners.driver import check_limits
from runners.host_program import launches
from runners.opencl.cpu_name import repair_cpu_name
from runners.opencl.errors import in_words, refusals
from runners.opencl.images import image_over, make_image
from runners.opencl.platforms import SHORT_NAMES
from runners.opencl.probe import open_device
from runners.opencl.session import built

MOST_QUEUES = 16
"""The number of queues that stay ready; objects of the oldest are dropped, and made again if it is used again."""


@dataclass(frozen=True, slots=True)
class _Step:
    """A launch: the arguments that change between launches are the last ones."""

    kernel: cl.Kernel
    items: tuple[int, ...]
    block: tuple[int, ...]
    iterators: tuple[tuple[int, Any], ...]


@dataclass(slots=True)
class _Opened:
    """The code on a queue. `given` and `scalars`: kernel, position in it, place in the contract.

    `set_before` are the bytes of scalars in the latest call.
    """

    queue: cl.CommandQueue
    context: cl.Context
    own: dict[str, cl.Buffer]
    images: dict[Texture, tuple[cl.Image, cl.Buffer | None]] = field(default_factory=dict)
    given: list[tuple[cl.Kernel, int, int]] = field(default_factory=list)
    scalars: list[tuple[cl.Kernel, int, int]] = field(default_factory=list)
    set_before: list[bytes] = field(default_factory=list)
    steps: list[_Step] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)
    staged: dict[str, cl.Buffer] = field(default_factory=dict)


class OpenCLCaller:
    """`calls.Caller`."""

    def __init__(self, code: Code) -> None:
        """Opens nothing yet. Raises LaunchError if a kernel needs more than the device has."""
        self._code, self._lock = code, Lock()
        self._arrays = [(k, p) for k, p in enumerate(code.contract.parameters) if p.kind != "scalar"]
        target = code.device.target
        for kernel in code.variant.kernels:
            check_limits(kernel, target.max_threads, target.local_bytes)
        self._padded = [(k, p) for k, p in self._arrays if p.padded and p.array.name in code.own_arrays]
        self._programs: dict[int, tuple[cl.Context, cl.Program]] = {}
        self._opened: dict[int, _Opened] = {}
        self._own: _Opened | None = None

    def takes(self, value: object) -> bool:
        """See `Caller`: accepts pyopencl's arrays."""
        module = sys.modules.get("pyopencl.array")
        return module is not None and isinstance(value, module.Array)

    def prepare(self, queue: Any) -> None:
        """See `Caller`."""
        with refusals():
            self._own_queue() if queue is None else self._on(queue)

    def check(self, values: Sequence[Any], queue: Any) -> None:
        """See `Caller`."""
        with refusals():
            given = [(p, values[k]) for k, p in self._arrays if values[k] is not None and not lies_in_host(values[k])]
            if odd := next(((p, value) for p, value in given if not self.takes(value)), None):
                raise wrong(odd[0], f"a {type(odd[1]).__name__}")
            queue = self._queue_of([value for _, value in given], queue) if given else queue
            if queue is None:
                return
            if not isinstance(queue, cl.CommandQueue):
                raise ArgumentError(f"queue must be a pyopencl.CommandQueue, not a {type(queue).__name__}")
            self._check_queue(queue)
            for parameter, value in given:
                _check_array(parameter, value, queue.context)
            overlap([(p, *_addresses(value)) for p, value in given if p.kind != "changed"])  # changed arrays are copied

    def on_host(self, arrays: Mapping[str, NDArray[Any]], scalars: Sequence[Any], queue: Any) -> None:
        """See `Caller`. Raises InputError if the device is missing."""
        with refusals():
            self._on_host(arrays, scalars, self._own_queue() if queue is None else self._on(queue))

    def _on_host(self, arrays: Mapping[str, NDArray[Any]], scalars: Sequence[Any], opened: _Opened) -> None:
        with opened.lock:
            self._stage(opened)
            parameters = self._code.contract.parameters
            places = [opened.staged.get(parameter.name) for parameter in parameters]
            for parameter in parameters:
                if parameter.kind in ("read", "changed"):
                    cl.enqueue_copy(opened.queue, opened.staged[parameter.name],
                                    np.ascontiguousarray(arrays[parameter.name]))
            self._run(opened, places, scalars, None)
            for parameter in parameters:
                if parameter.written:
                    _read(opened, parameter, arrays[parameter.name])
            opened.queue.finish()

    def on_device(self, values: Sequence[Any], scalars: Sequence[Any], queue: Any, inplace: bool) -> list[Any]:
        """See `Caller`."""
        with refusals():
            return self._on_arrays(values, scalars, queue, inplace)

    def _on_arrays(self, values: Sequence[Any], scalars: Sequence[Any], queue: Any, inplace: bool) -> list[Any]:
        given = [values[number] for number, _ in self._arrays if values[number] is not None]
        opened, found = self._on(self._queue_of(given, queue)), list(values)
        allocator = next((value.allocator for value in given if value.allocator is not None), None)
        places: list[Any] = [None] * len(values)
        waits: list[cl.Event] = []
        addresses: list[tuple[Parameter, int, int]] = []
        for number, parameter in self._arrays:
            array = found[number] = self._own_array(opened, parameter, values[number], inplace, allocator)
            places[number] = _place(parameter, array)
            waits += array.events
            addresses.append((parameter, *_addresses(array)))
        overlap(addresses)
        with opened.lock:
            event = self._run(opened, places, scalars, waits or None)
        if event is not None:
            for number, parameter in self._arrays:
                if parameter.written:
                    found[number].events[:] = [event]  # the event depends on all earlier ones
        return found

    def _queue_of(self, given: Sequence[Any], queue: Any) -> Any:
        """Return the caller's queue, else that of the arrays. Raises ArgumentError if there is none."""
        if queue is None:
            queue = next((value.queue for value in given if value.queue is not None), None)
            if queue is None:
                raise ArgumentError("none of the arrays has a queue; give one with queue=")
        return queue

    def _own_array(self, opened: _Opened, parameter: Parameter, value: Any, inplace: bool, allocator: Any) -> Any:
        """Return the array for a kernel: `value`, a new one by `allocator`, or a copy of `value`."""
        if value is None:
            from pyopencl.array import empty

            return empty(opened.queue, parameter.shape, parameter.dtype, allocator=allocator)
        _check_array(parameter, value, opened.context)
        return value if inplace or parameter.kind != "changed" else value.copy(queue=opened.queue)

    def _on(self, queue: Any) -> _Opened:
        """Return the code on the caller's queue."""
        opened = self._opened.get(getattr(queue, "int_ptr", 0))
        if opened is not None:
            return opened
        if not isinstance(queue, cl.CommandQueue):
            raise ArgumentError(f"queue must be a pyopencl.CommandQueue, not a {type(queue).__name__}")
        self._check_queue(queue)
        repair_cpu_name(queue.device)  # the driver may have been loaded without the repair
        with self._lock:
            while len(self._opened) >= MOST_QUEUES:
                self._opened.pop(next(iter(self._opened)))
            return self._opened.setdefault(queue.int_ptr, self._open(queue, queue.context))

    def _check_queue(self, queue: cl.CommandQueue) -> None:
        device, info = queue.device, self._code.device
        platform = device.platform.name.strip()
        there = SHORT_NAMES.get(platform, platform), device.name.strip()
        if there != (info.platform, info.name):
            raise ArgumentError(f"the queue is of {there[0]}, {there[1]}, but the code is for {info.platform}, "
                                f"{info.name}; load it with device= for that one")
        if queue.properties & cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE:
            raise ArgumentError("the queue executes out of order, which would mix up the launches; give one in order")

    def _own_queue(self) -> _Opened:
        """Return the code on its own queue, for arrays from the host."""
        with self._lock:
            if self._own is None:
                context = cl.Context([open_device(self._code.device.key)])
                self._own = self._open(cl.CommandQueue(context), context)
            return self._own

    def _open(self, queue: cl.CommandQueue, context: cl.Context) -> _Opened:
        program = self._program(context, queue.device)
        own = {name: cl.Buffer(context, cl.mem_flags.READ_WRITE, array.bytes)
               for name, array in self._code.own_arrays.items()}
        opened = _Opened(queue, context, own)
        kernels = [cl.Kernel(program, kernel.name) for kernel in self._code.variant.kernels]
        for number, kernel in enumerate(kernels):
            self._bind(opened, number, kernel)
        variant = self._code.variant
        for launch in launches(variant):
            known = variant.kernels[launch.kernel]
            first = len(known.arrays) + len(known.scalars)
            iterators = tuple((first + k, np.int32(value)) for k, value in enumerate(launch.iterators))
            opened.steps.append(_Step(kernels[launch.kernel], launch.items, launch.block, iterators))
        return opened

    def _program(self, context: cl.Context, device: cl.Device) -> cl.Program:
        """Return the kernels, built once in a context; drivers and pyopencl cache them on disk."""
        if context.int_ptr not in self._programs:
            text = self._code.variant.source
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", cl.CompilerWarning)  # Intel's compiler always prints something
                self._programs[context.int_ptr] = context, built(lambda: cl.Program(context, text), device)
        return self._programs[context.int_ptr][1]

    def _bind(self, opened: _Opened, number: int, bound: cl.Kernel) -> None:
        """Set the fixed arguments, and note those that calls set."""
        kernel, code = self._code.variant.kernels[number], self._code
        textures = {placed.array: placed for placed in kernel.placements if isinstance(placed, Texture)}
        for name in kernel.arrays:
            position, place = kernel.arguments.index(name), code.given(name)
            if name in textures:
                texture = textures[name]
                if texture not in opened.images:
                    size = code.program.with_arrays(code.variant.scratch).array(name).bytes
                    opened.images[texture] = (
                        (image_over(opened.context, texture, opened.own[name]), None) if texture.in_place
                        else make_image(opened.context, texture, size))
                bound.set_arg(position, opened.images[texture][0])
            elif place is None:
                bound.set_arg(position, opened.own[name])
            else:
                opened.given.append((bound, position, place))
        for name in kernel.scalars:
            position, place = kernel.arguments.index(name), code.place(name)
            if place is None:
                bound.set_arg(position, dict(code.numbers)[name])
                continue
            opened.scalars.append((bound, position, place))
            opened.set_before.append(b"")

    def _stage(self, opened: _Opened) -> None:
        """Allocate memory on the device for all arrays from the host, once."""
        if not opened.staged:
            opened.staged = {p.name: cl.Buffer(opened.context, cl.mem_flags.READ_WRITE, p.array.own_bytes)
                             for p in self._code.contract.parameters if p.kind != "scalar"}

    def _run(self, opened: _Opened, places: Sequence[Any], scalars: Sequence[Any], waits: Any) -> Any:
        """Enqueue all launches; return the event of the last command, None if there is none."""
        for kernel, position, place in opened.given:
            kernel.set_arg(position, places[place])
        for at, (kernel, position, place) in enumerate(opened.scalars):
            value = scalars[place]
            if (words := value.tobytes()) != opened.set_before[at]:  # setting a number takes ten times as long
                kernel.set_arg(position, value)
                opened.set_before[at] = words
        if opened.own or opened.images:
            waits = self._copy_in(opened, places, waits)
        event = None
        for step in opened.steps:
            for position, value in step.iterators:
                step.kernel.set_arg(position, value)
            event = cl.enqueue_nd_range_kernel(opened.queue, step.kernel, step.items, step.block, wait_for=waits)
            waits = None
        for number, parameter in self._padded:
            if parameter.written:
                event = cl.enqueue_copy(opened.queue, places[number], opened.own[parameter.array.name],
                                        byte_count=parameter.array.own_bytes)
        return event

    def _copy_in(self, opened: _Opened, places: Sequence[Any], waits: Any) -> Any:
        """Copy arrays that kernels do not read in place: on the device, in the order of the queue."""
        for number, parameter in self._padded:
            cl.enqueue_copy(opened.queue, opened.own[parameter.array.name], places[number], wait_for=waits,
                            byte_count=parameter.array.own_bytes)
        for texture, (image, row) in opened.images.items():
            if texture.in_place:
                continue
            source = opened.own.get(texture.array)
            if source is None:
                place = self._code.place(texture.array)
                assert place is not None, "it is the caller's, or its copy is here"
                source = places[place]
            if row is not None:
                cl.enqueue_copy(opened.queue, row, source, wait_for=waits)
            else:
                copy: Any = cl.enqueue_copy  # its types lack the offset
                copy(opened.queue, image, source, offset=0, origin=(0, 0), region=texture.shape, wait_for=waits)
        return waits


def _read(opened: _Opened, parameter: Parameter, array: NDArray[Any]) -> None:
    """Copy a result to the host, in any order of its elements there."""
    into = array if array.flags.c_contiguous else np.empty(parameter.shape, parameter.dtype)
    cl.enqueue_copy(opened.queue, into, opened.staged[parameter.name])
    if into is not array:
        array[...] = into


def _place(parameter: Parameter, array: Any) -> Any:
    """Return the buffer at whose start the elements of an array are."""
    base = array.base_data
    if not isinstance(base, cl.MemoryObjectHolder):
        raise wrong(parameter, "one in shared virtual memory", "give one in a buffer")
    if not array.offset:
        return base
    try:
        whole = base if isinstance(base, cl.Buffer) else cl.Buffer.from_int_ptr(base.int_ptr, retain=True)
        return cast(cl.Buffer, whole).get_sub_region(array.offset, array.nbytes)  # buffers of a pool lack this method
    except cl.Error as error:
        raise wrong(parameter, f"one that begins at byte {array.offset} of its buffer", in_words(error)) from None


def _check_array(parameter: Parameter, value: Any, context: cl.Context) -> None:
    """Raise ArgumentError unless an array can be passed for `parameter` on a queue of `context`."""
    check_form(parameter, value.dtype, value.shape, value.flags.c_contiguous)
    if value.context != context:
        raise wrong(parameter, "one of another OpenCL context", "arrays and queue must belong together")


def _addresses(array: Any) -> tuple[int, int]:
    """Return the range of an array, with the handle of its buffer as the high bits: only ranges in one buffer are
    compared.
    """
    start = (array.base_data.int_ptr << 48) + array.offset
    return start, start + array.nbytes

