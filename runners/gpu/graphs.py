"""Launches of a GPU recorded once, as a graph, and timed on the device: times contain no work of the host.

The times are those of events that are nodes of the graph themselves (CUDA 11.4: cuEventRecordWithFlags in a capture,
section "Graph Management" of NVIDIA's driver API). For drivers without this, launches are queued between two events:
then times contain the host's work if the device waits for it.

The functions are called in the driver's library, since pycuda has no graphs.
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
"""CU_STREAM_CAPTURE_MODE_RELAXED: the capture allows other threads to do anything."""


@dataclass(frozen=True, slots=True)
class Names:
    """A driver's names of the functions."""

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
    """The library of a driver, the names of its functions, and the messages for their errors."""

    functions: Any
    names: Names
    words: Callable[[int], str]


class Graphs:
    """Records, launches and times work on one stream. Raises LaunchError if the driver refuses.

    A graph is an int. `records`: whether this driver times events in graphs, and may. If not, nothing should be
    recorded, and marks are set in the stream.
    """

    def __init__(self, library: Library, stream: int, allowed: bool = True) -> None:
        """`stream`: the handle of a stream that waits for the default one. `allowed`: whether graphs may be used."""
        self._library, self._stream = library, ctypes.c_void_p(stream)
        self._events: list[ctypes.c_void_p] = []
        self.records = allowed and self._tried()

    def mark(self, number: int) -> None:
        """Record the time when all previous work is done; marks are numbered from 0 without gaps."""
        while number >= len(self._events):
            self._events.append(self._made("create_event", 0))
        event = self._events[number]
        if self.records:
            self._call("record_inside", event, self._stream, EXTERNAL)
        else:
            self._call("record", event, self._stream)

    def milliseconds(self, start: int, stop: int) -> float:
        """Return the time between two marks that have been reached."""
        found = ctypes.c_float()
        self._call("elapsed", ctypes.byref(found), self._events[start], self._events[stop])
        return found.value

    def recorded(self, work: Callable[[], None]) -> int:
        """Record the work that `work` queues on the stream, including marks."""
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
        """Launch recorded work."""
        self._call("launch", ctypes.c_void_p(graph), self._stream)

    def wait(self) -> None:
        """Wait for the stream."""
        self._call("wait", self._stream)

    def forget(self, graph: int) -> None:
        """Free a graph."""
        self._call("destroy_launchable", ctypes.c_void_p(graph))

    def _tried(self) -> bool:
        """Return whether an interval without work can be recorded, launched and read."""
        self.records = True
        try:
            graph = self.recorded(self._nothing)
            self.launch(graph)
            self.wait()
            self.milliseconds(0, 1)
            self.forget(graph)
        except (AttributeError, LaunchError):  # an older library lacks these functions
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
        """Call a function. Raises LaunchError if it fails, AttributeError if the library lacks it."""
        status = getattr(self._library.functions, getattr(self._library.names, name))(*arguments)
        if status:
            raise LaunchError(self._library.words(status))
