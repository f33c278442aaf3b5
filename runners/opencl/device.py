"""An open OpenCL device: launches, and compilation. Used in worker processes only.

pyopencl is imported here at module level: import this module only in a worker.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyopencl as cl

from generator.problem import Problem
from generator.variant import Kernel, Variant
from metrics.resources import Resources
from runners.driver import BuildError, Built, LaunchError, RunTime, check_limits
from runners.host_program import BoundLaunch, first_launches
from runners.kernel_codes import KernelCodes, alone, errors_name, together
from runners.opencl.errors import refusals
from runners.opencl.flush import Flusher
from runners.opencl.memory import Memory
from runners.opencl.session import Function, Session, code_of, text_of

BATCH = 512
"""The number of launches that are enqueued before the first may start: drivers have room for about a thousand."""


class Executable:
    """A built Variant with its arguments bound to a Memory, which can run any number of times."""

    def __init__(self, session: Session, functions: Sequence[Function], variant: Variant, memory: Memory,
                 in_place: Collection[str]) -> None:
        """`functions` are the kernels of `variant`; `in_place` is that of the whole variant, of which it may be a part.

        Raises LaunchError if a kernel exceeds the device's limits or does not accept its arguments.
        """
        self._session, self._variant = session, variant
        self._kernels = []
        self._first_iterator = []
        for function, kernel in zip(functions, variant.kernels, strict=True):
            check_limits(kernel, session.device.max_work_group_size, session.device.local_mem_size)
            self._kernels.append(_bind(function, kernel, memory, in_place))
            self._first_iterator.append(len(kernel.arrays) + len(kernel.scalars))

    def run(self, launches: Sequence[BoundLaunch], times: int = 1, by_kernel: bool = False) -> RunTime:
        """Run `launches` in order and wait for the last; see `driver.Executable`.

        Kernels are timed each time: a launch from the end of the previous one to its own.

        Raises:
            LaunchError: the device refused or aborted one of them.
        """
        kernels_ns = [0] * len(self._kernels)
        host_s = 0.0
        several = tuple(launches) * times
        for first in range(0, len(several), BATCH):
            some = several[first:first + BATCH]
            with refusals():
                events, seconds = self._batch(some)
                host_s += seconds
                before_ns = events[0].profile.start
                for launch, event in zip(some, events, strict=True):
                    end_ns = event.profile.end
                    kernels_ns[launch.kernel] += end_ns - before_ns
                    before_ns = end_ns
        kernels_ms = tuple(ns * 1e-6 / times for ns in kernels_ns)
        return RunTime(sum(kernels_ms), host_s * 1e3 / times, kernels_ms)

    def _batch(self, launches: Sequence[BoundLaunch]) -> tuple[list[cl.Event], float]:
        """Enqueue all launches before the first starts; return their events, and the seconds that they took.

        On devices that run a launch as it is enqueued, there is no queue.
        """
        if self._session.runs_at_once:
            start = time.perf_counter()
            events = [self._enqueue(launch) for launch in launches]
            self._session.queue.finish()
            return _completed(events), time.perf_counter() - start
        gate = cl.UserEvent(self._session.context)
        try:
            events = [self._enqueue(launches[0], [gate]), *map(self._enqueue, launches[1:])]
        finally:
            start = time.perf_counter()
            gate.set_status(cl.command_execution_status.COMPLETE)
            self._session.queue.finish()
        seconds = time.perf_counter() - start
        return _completed(events), seconds

    def resources(self) -> tuple[tuple[str, Resources], ...]:
        """Return local and private memory per kernel, as far as the driver reports them; OpenCL has no registers."""
        return tuple((kernel.name, _resources(bound, self._session.device))
                     for kernel, bound in zip(self._variant.kernels, self._kernels, strict=True))

    def _enqueue(self, launch: BoundLaunch, after: Sequence[cl.Event] = ()) -> cl.Event:
        kernel, first = self._kernels[launch.kernel], self._first_iterator[launch.kernel]
        for position, value in enumerate(launch.iterators, first):
            kernel.set_arg(position, np.int32(value))
        return cl.enqueue_nd_range_kernel(self._session.queue, kernel, launch.items, launch.block, wait_for=after)


def _completed(events: list[cl.Event]) -> list[cl.Event]:
    """Return `events`. Raises LaunchError if a launch was aborted."""
    for event in events:
        if event.command_execution_status < 0:
            raise LaunchError(f"a launch was aborted with status {event.command_execution_status}")
    return events


def _bind(function: Function, kernel: Kernel, memory: Memory, in_place: Collection[str]) -> cl.Kernel:
    with refusals(f"{kernel.name}: "):
        bound = cl.Kernel(function.program, function.name)
        elsewhere = {placed.array: memory.placed(placed) for placed in kernel.placements}
        scalars = frozenset(kernel.scalars)
        for position, name in enumerate(kernel.arguments):
            value = (memory.scalars[name] if name in scalars else elsewhere[name] if name in elsewhere
                     else memory.in_global(name, in_place))
            bound.set_arg(position, value)
    return bound


def _resources(bound: cl.Kernel, device: cl.Device) -> Resources:
    told: list[int | None] = []
    for question in (cl.kernel_work_group_info.LOCAL_MEM_SIZE, cl.kernel_work_group_info.PRIVATE_MEM_SIZE):
        try:
            told.append(int(bound.get_work_group_info(question, device)))
        except cl.Error:  # the driver does not know it
            told.append(None)
    return Resources(shared=told[0], private=told[1])


class OpenCLDevice:
    """`driver.Device` and `driver.Compiler`: PoCL and others compile at the first launch, so compiling needs the
    arrays, too.
    """

    def __init__(self, key: str, problem: Problem, folder: Path | None = None, travels: bool = True) -> None:
        """Opens the device `key` and copies the arrays there; `folder` is that of `kernel_codes.KernelCodes`.

        `travels`: code may go to another machine. If not, a driver that caches by text is not asked for its code: PoCL
        would compile every kernel once more, for any block size.

        Raises:
            InputError: the device is missing.
            LaunchError: the arrays do not fit.
        """
        self._codes = KernelCodes(folder)
        self._session = Session(key)
        self._by_text = not travels and self._session.caches_text
        self._memory = Memory(self._session, problem)
        self._flusher: Flusher | None = None

    @property
    def memory(self) -> Memory:
        """The arrays."""
        return self._memory

    @property
    def least_ms(self) -> float:
        """See `driver.Device`; CPUs count nanoseconds, some GPUs microseconds."""
        return float(self._session.device.profiling_timer_resolution) * 1e-3

    def flush(self) -> None:
        """Write more on the device than its caches hold; see `driver.Device`."""
        with refusals("flushing the caches: "):
            if self._flusher is None:
                self._flusher = Flusher(self._session.context, self._session.queue, self._session.device)
            self._flusher.run()

    def compile(self, variant: Variant, begin: Callable[[], None] = lambda: None) -> Built:
        """Build every kernel and launch it once with its real range; see `driver.Compiler`."""
        self._memory.hold(variant.scratch)
        firsts: dict[int, BoundLaunch | None] = {launch.kernel: launch for launch in first_launches(variant)}
        order = firsts | {number: None for number in range(len(variant.kernels)) if number not in firsts}
        units = [alone(kernel, variant) for kernel in variant.kernels]
        known = {number: self._codes.get(units[number], launch) for number, launch in order.items()}
        codes = {number: code for number, code in known.items() if code is not None}
        missing = {number: units[number] for number in order if number not in codes}
        if missing:
            self._memory.restore()  # subscripts may depend on data that an earlier launch has changed
        texts = self._texts(missing, begin) if self._by_text else {}
        for number, launch in order.items():
            if len(codes) == len(units):
                break
            if number not in codes:
                begin()
            with errors_name(variant.kernels[number], units[number]):
                codes[number] = self._launched(units[number], launch, known[number], texts.get(number),
                                               variant.in_place)
        return Built(tuple(codes[number] for number in range(len(units))), len(missing) > 0)

    def _texts(self, missing: Mapping[int, Variant], begin: Callable[[], None]) -> dict[int, bytes]:
        """Build texts of several kernels each, and return the text for each of the units `missing`.

        PoCL reads its headers and its library for every text, which for many kernels takes longer than compiling them.
        If it refuses a text, each of its kernels gets its own, which is built later and shows which one is wrong.
        """
        texts = {unit.kernels[0].name: text_of(unit) for unit in missing.values()}
        for several in together(tuple(missing.values())):
            if len(several.kernels) > 1:
                begin()
                with suppress(BuildError):
                    self._session.build(several, text_of(several))
                    texts |= dict.fromkeys((kernel.name for kernel in several.kernels), text_of(several))
        return {number: texts[unit.kernels[0].name] for number, unit in missing.items()}

    def _launched(self, unit: Variant, launch: BoundLaunch | None, code: bytes | None, text: bytes | None,
                  in_place: Collection[str]) -> bytes:
        """Launch a kernel and return its code; cached ones are launched, too, as later kernels may need their results.
        """
        function = self._session.function(unit, text if code is None else code)
        executable = Executable(self._session, [function], unit, self._memory, in_place)
        if launch is not None:
            executable.run([replace(launch, kernel=0)])
        if code is None:
            code = text or code_of(function.program)
            self._codes.put(unit, launch, code)
        return code

    def load(self, variant: Variant, codes: Sequence[bytes]) -> Executable:
        """Load the results of `compile`."""
        self._memory.hold(variant.scratch)
        functions = [self._loaded(kernel, variant, code) for kernel, code in zip(variant.kernels, codes, strict=True)]
        return Executable(self._session, functions, variant, self._memory, variant.in_place)

    def _loaded(self, kernel: Kernel, variant: Variant, code: bytes) -> Function:
        unit = alone(kernel, variant)
        with errors_name(kernel, unit):
            return self._session.function(unit, code)
