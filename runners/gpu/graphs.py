"""Launches of a GPU that are recorded once, as a graph, and timed on the device: nothing of the host is in a number.

The times are those of events that are nodes of the graph themselves (CUDA 11.4: cuEventRecordWithFlags in a capture,
section "Graph Management" of NVIDIA's driver API). A driver that cannot do that has its launches queued between two
events: there the host counts where the device waits for it.

The functions are called in the driver's library: of the bindings of CUDA, pycuda has no graphs.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from runners.driver import LaunchError

EXTERNAL = 1
"""CU_EVENT_RECORD_EXTERNAL: in a capture, the record becomes a node."""
RELAXED = 2
"""CU_STREAM_CAPTURE_MODE_RELAXED: the capture minds nothing that other threads do."""


@dataclass(frozen=True, slots=True)
class Names:
    """What a driver calls the functions that take part."""

    create_event: str
    record: str
    record_inside: str
    elapsed: str
    begin: str
    end: str
    wait: str
    destroy: str
    instantiate: str
    launch: str
    destroy_launchable: str


CUDA_NAMES = Names("cuEventCreate", "cuEventRecord", "cuEventRecordWithFlags", "cuEventElapsedTime",
                   "cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuStreamSynchronize", "cuGraphDestroy",
                   "cuGraphInstantiateWithFlags", "cuGraphLaunch", "cuGraphExecDestroy")
HIP_NAMES = Names("hipEventCreateWithFlags", "hipEventRecord", "hipEventRecordWithFlags", "hipEventElapsedTime",
                  "hipStreamBeginCapture", "hipStreamEndCapture", "hipStreamSynchronize", "hipGraphDestroy",
                  "hipGraphInstantiateWithFlags", "hipGraphLaunch", "hipGraphExecDestroy")


@dataclass(frozen=True, slots=True)
class Library:
    """The library of a driver, what it calls its functions, and its words for the errors that they return."""

    functions: Any
    names: Names
    words: Callable[[int], str]


class Graphs:
    """Records, launches and times work on one stream. Raises LaunchError when the driver refuses.

    A graph is an int. `records`: whether this driver times events in graphs, and may. If not, nothing is to be
    recorded, and marks are set in the stream.
    """

    def __init__(self, library: Library, stream: int, allowed: bool = True) -> None:
        """`stream`: the handle of a stream that waits for the default one. `allowed`: whether graphs may be used."""
        self._library, self._stream = library, ctypes.c_void_p(stream)
        self._events: list[ctypes.c_void_p] = []
        self.records = allowed and self._tried()

    def mark(self, number: int) -> None:
        """Note the time when all before is done; marks are counted from 0 without gaps."""
        while number >= len(self._events):
            self._events.append(self._made("create_event", 0))
        event = self._events[number]
        if self.records:
            self._call("record_inside", event, self._stream, EXTERNAL)
        else:
            self._call("record", event, self._stream)

    def milliseconds(self, start: int, stop: int) -> float:
        """The time between two marks that have been reached."""
        found = ctypes.c_float()
        self._call("elapsed", ctypes.byref(found), self._events[start], self._events[stop])
        return found.value

    def recorded(self, work: Callable[[], None]) -> int:
        """What `work` queues on the stream, marks included."""
        graph = ctypes.c_void_p()
        self._call("begin", self._stream, RELAXED)
        try:
            work()
        except (AttributeError, LaunchError):
            with suppress(LaunchError):
                self._call("end", self._stream, ctypes.byref(graph))
            raise
        self._call("end", self._stream, ctypes.byref(graph))
        try:
            return self._made("instantiate", graph, ctypes.c_ulonglong(0)).value or 0
        finally:
            self._call("destroy", graph)

    def launch(self, graph: int) -> None:
        """Begin recorded work."""
        self._call("launch", ctypes.c_void_p(graph), self._stream)

    def wait(self) -> None:
        """Wait for the stream."""
        self._call("wait", self._stream)

    def forget(self, graph: int) -> None:
        """Free what a graph takes."""
        self._call("destroy_launchable", ctypes.c_void_p(graph))

    def _tried(self) -> bool:
        """An interval without work is recorded, launched and read."""
        self.records = True
        try:
            graph = self.recorded(self._nothing)
            self.launch(graph)
            self.wait()
            self.milliseconds(0, 1)
            self.forget(graph)
        except (AttributeError, LaunchError):  # an older library has no such functions
            return False
        return True

    def _nothing(self) -> None:
        self.mark(0)
        self.mark(1)

    def _made(self, name: str, *arguments: object) -> ctypes.c_void_p:
        made = ctypes.c_void_p()
        self._call(name, ctypes.byref(made), *arguments)
        return made

    def _call(self, name: str, *arguments: object) -> None:
        """Raises LaunchError unless it succeeded, AttributeError when the library has no such function."""
        status = getattr(self._library.functions, getattr(self._library.names, name))(*arguments)
        if status:
            raise LaunchError(self._library.words(status))
