"""Data that a pipeline itself holds (`hl.Buffer`, `image.set`), moved to where the arrays of a call are."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from threading import Lock
from typing import Any

from numpy.typing import NDArray

from runners.calls import ArgumentError, lies_in_host


class OwnData:
    """The elements of one input, as they were when the code was made; copied once to each OpenCL context.

    `title` is its name in messages, `remedy` what the caller can do if they cannot be copied to a device.
    """

    def __init__(self, title: str, data: NDArray[Any], remedy: str = "make it an argument") -> None:
        """Copy `data`: later changes have no effect."""
        self._remedy = remedy
        self._title, self._data, self._lock = title, data.copy(order="C"), Lock()
        self._there: dict[int, tuple[Any, Any]] = {}

    def beside(self, arrays: Iterable[Any], queue: Any) -> Any:
        """Return the elements where `arrays` are; on `queue` if they are pyopencl's and it is given.

        Raises:
            ArgumentError: the arrays are in memory to which only the caller can copy.
        """
        found = next((array for array in arrays if not lies_in_host(array)), None)
        if found is None:
            return self._data
        module = sys.modules.get("pyopencl.array")
        if module is None or not isinstance(found, module.Array):
            raise ArgumentError(f"`{self._title}`, which the function holds as data, lies in the host's memory, and "
                                f"the arrays of this call do not ({type(found).__name__}): {self._remedy}")
        place = found.queue if queue is None else queue
        if place is None:
            raise ArgumentError("none of the arrays has a queue; give one with queue=")
        with self._lock:  # the entry holds the context, as its address may be reused otherwise
            key = place.context.int_ptr
            if key not in self._there:
                there = module.to_device(place, self._data).with_queue(None)  # on the queue of each call
                self._there[key] = (place.context, there)
            return self._there[key][1]
