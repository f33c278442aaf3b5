"""A device's memory in numpy arrays of the host, which tests can damage at will."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from runners.memory import GUARD, Bytes, GuardedMemory


class HostRoom:
    """`memory.Room`; counts the bytes that are written from the host after `allocate`."""

    def __init__(self) -> None:
        """Nothing is allocated yet."""
        self.places: list[NDArray[np.uint8]] = []
        self.written = 0

    def allocate(self, contents: Bytes) -> int:
        """Return the number of a new place."""
        self.places.append(contents.copy())
        return len(self.places) - 1

    def write(self, place: int, contents: Bytes) -> None:
        """Fill a place from the host."""
        self.places[place][:] = contents
        self.written += contents.nbytes

    def copy(self, place: int, source: int) -> None:
        """Fill a place from another one."""
        self.places[place][:] = self.places[source]

    def read(self, place: int, offset: int, into: NDArray[Any]) -> None:
        """Fill `into` from a place."""
        flat = into.reshape(-1).view(np.uint8)
        flat[:] = self.places[place][offset:offset + flat.size]

    def finish(self) -> None:
        """Do nothing: nothing is pending."""


def set_array(room: HostRoom, held: GuardedMemory[int], name: str, values: NDArray[Any]) -> None:
    """Write an array between its guard zones, as a kernel does."""
    room.places[held.whole[name]][len(GUARD):-len(GUARD)] = values.reshape(-1).view(np.uint8)
