"""The arrays of a Problem on a device, whichever driver: guard zones, pristine copies, comparing bytes."""

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
    """Plain memory of a device in order of execution; every method may raise the driver's LaunchError.

    `write`, `copy` and `read` may return before they are done with device memory, but not while they need the host's.
    """

    def allocate(self, contents: Bytes) -> Handle:
        """A new piece of memory that holds `contents`."""

    def write(self, place: Handle, contents: Bytes) -> None:
        """Fill `place` from its beginning."""

    def copy(self, place: Handle, source: Handle) -> None:
        """Fill `place` with what `source`, of the same size, holds."""

    def read(self, place: Handle, offset: int, into: NDArray[Any]) -> None:
        """Fill `into` with the bytes of `place` from `offset` on."""

    def finish(self) -> None:
        """Wait until all is done."""


class GuardedMemory(Generic[Handle]):
    """The arrays, with a pristine copy of all that a run changes.

    Before and behind each array lies a guard zone of len(GUARD) bytes, so that a kernel that writes out of bounds is
    found out. `whole` are the pieces of memory with their zones.
    """

    def __init__(self, room: Room[Handle], problem: Problem) -> None:
        """Allocates and fills everything. Raises LaunchError when it does not fit on the device."""
        self.values: Values = initial_values(problem)
        self.scalars: dict[str, Any] = scalar_arguments(problem, self.values)
        self._room = room
        arrays = [array for array in problem.contract.arrays if not array.by_value]
        self.whole: dict[str, Handle] = {a.name: room.allocate(self._zoned(a.name)) for a in arrays}
        self._pristine: dict[str, Handle] = {a.name: room.allocate(self._zoned(a.name))
                                            for a in arrays if a.role != "in"}

    def hold(self, arrays: Sequence[Array]) -> None:
        """Make room for arrays that a variant has besides, if there is none yet: garbage, anew before every run."""
        for array in arrays:
            if array.name not in self.whole:
                self.values[array.name] = np.full(array.extents, garbage(array), NUMPY_TYPES[array.type])
                places = [self._room.allocate(self._zoned(array.name)) for _ in range(2)]  # both, or neither is held
                self.whole[array.name], self._pristine[array.name] = places

    def _zoned(self, name: str) -> Bytes:
        """The bytes of an array between its guard zones."""
        return np.frombuffer(GUARD + self.values[name].tobytes() + GUARD, np.uint8)

    def upload(self) -> None:
        """Write everything anew from the host; see `driver.Memory`."""
        for places in (self.whole, self._pristine):
            for name, place in places.items():
                self._room.write(place, self._zoned(name))
        self._room.finish()

    def restore(self) -> None:
        """Undo what a run wrote; see `driver.Memory`."""
        for name, pristine in self._pristine.items():
            self._room.copy(self.whole[name], pristine)
        self._room.finish()

    def read(self, names: Sequence[str]) -> Values:
        """The present contents of the arrays `names`."""
        contents: dict[str, NDArray[Any]] = {}
        for name in names:
            contents[name] = np.empty_like(self.values[name])
            self._room.read(self.whole[name], len(GUARD), contents[name])
        return contents

    def overrun(self) -> str | None:
        """The first array that was written out of its bounds, in words."""
        zone = np.empty(len(GUARD), np.uint8)
        for name, place in self.whole.items():
            behind = len(GUARD) + self.values[name].nbytes
            for words, offset in (("before its start", 0), ("past its end", behind)):
                self._room.read(place, offset, zone)
                if zone.tobytes() != GUARD:
                    return f"{name} was written {words}"
        return None

    def changed_input(self) -> str | None:
        """The first array that the program only reads and that is not as it was uploaded, in words."""
        for name in self.whole:
            if name not in self._pristine and self.read([name])[name].tobytes() != self.values[name].tobytes():
                return f"{name} was written, which the program only reads"
        return None
