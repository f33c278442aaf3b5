"""The arrays of a Problem on a device, for all drivers: guard zones, pristine copies, comparison of bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from generator.problem import Problem
from generator.program import NUMPY_TYPES, Array
from runners.data import Values, garbage, initial_values, scalar_arguments

Bytes: TypeAlias = NDArray[np.uint8]
Handle = TypeVar("Handle")
GUARD = b"\xa5" * 4096  # a multiple of every driver's alignment for parts of buffers


class Room(Protocol[Handle]):
    """Device memory whose operations execute in order; all methods may raise the driver's LaunchError.

    `write`, `copy` and `read` may return before the device is done, but not while they still use host memory.
    """

    def allocate(self, contents: Bytes) -> Handle:
        """Allocate memory and fill it with `contents`."""

    def write(self, place: Handle, contents: Bytes) -> None:
        """Write `contents` to the beginning of `place`."""

    def copy(self, place: Handle, source: Handle) -> None:
        """Copy `source` to `place`; both have the same size."""

    def read(self, place: Handle, offset: int, into: NDArray[Any]) -> None:
        """Fill `into` with the bytes of `place` from byte `offset` on."""

    def finish(self) -> None:
        """Wait until all operations are done."""


class GuardedMemory(Generic[Handle]):
    """The arrays of a Problem on a device, with a pristine copy of each array that a run changes.

    A guard zone of len(GUARD) bytes lies before and after each array, to detect writes out of bounds. `whole`: by array
    name, the memory with its guard zones.
    """

    def __init__(self, room: Room[Handle], problem: Problem) -> None:
        """Allocate and fill all arrays. Raises LaunchError if they do not fit on the device."""
        self.values: Values = initial_values(problem)
        self.scalars: dict[str, Any] = scalar_arguments(problem, self.values)
        self._room = room
        arrays = [array for array in problem.contract.arrays if not array.by_value]
        self.whole: dict[str, Handle] = {a.name: room.allocate(self._zoned(a.name)) for a in arrays}
        self._pristine: dict[str, Handle] = {a.name: room.allocate(self._zoned(a.name))
                                            for a in arrays if a.role != "in"}

    def hold(self, arrays: Sequence[Array]) -> None:
        """Allocate additional arrays of a variant, unless allocated; they hold garbage before every run."""
        for array in arrays:
            if array.name not in self.whole:
                self.values[array.name] = np.full(array.extents, garbage(array), NUMPY_TYPES[array.type])
                places = [self._room.allocate(self._zoned(array.name)) for _ in range(2)]  # both, or neither is held
                self.whole[array.name], self._pristine[array.name] = places

    def _zoned(self, name: str) -> Bytes:
        """Return the bytes of an array with its guard zones."""
        return np.frombuffer(GUARD + self.values[name].tobytes() + GUARD, np.uint8)

    def upload(self) -> None:
        """Write all arrays again from the host; see `driver.Memory`."""
        for places in (self.whole, self._pristine):
            for name, place in places.items():
                self._room.write(place, self._zoned(name))
        self._room.finish()

    def restore(self) -> None:
        """Restore what a run wrote; see `driver.Memory`."""
        for name, pristine in self._pristine.items():
            self._room.copy(self.whole[name], pristine)
        self._room.finish()

    def read(self, names: Sequence[str]) -> Values:
        """Return the current contents of the arrays `names`."""
        contents: dict[str, NDArray[Any]] = {}
        for name in names:
            contents[name] = np.empty_like(self.values[name])
            self._room.read(self.whole[name], len(GUARD), contents[name])
        return contents

    def overrun(self) -> str | None:
        """Return a text about the first array that was written out of bounds, or None."""
        zone = np.empty(len(GUARD), np.uint8)
        for name, place in self.whole.items():
            behind = len(GUARD) + self.values[name].nbytes
            for words, offset in (("before its start", 0), ("past its end", behind)):
                self._room.read(place, offset, zone)
                if zone.tobytes() != GUARD:
                    return f"{name} was written {words}"
        return None

    def changed_input(self) -> str | None:
        """Return a text about the first array that changed although the program only reads it, or None."""
        for name in self.whole:
            if name not in self._pristine and self.read([name])[name].tobytes() != self.values[name].tobytes():
                return f"{name} was written, which the program only reads"
        return None
