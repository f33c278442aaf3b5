"""The arrays of a Problem on a device, for all drivers: guard zones, pristine copies, comparison of bytes.

Every variant's first run must start from the initial data, whatever earlier variants have written. Large arrays take
long to upload, so they are copied on the device from pristine copies, but only if these are certainly undamaged: a
damaged copy can make a right variant wrong, and, which is worse, hold the results that a wrong variant fails to write.
A kernel that writes out of bounds can reach a copy without touching a guard zone, so guard zones are no proof, and two
areas on the device that agree are none either. Hence after a variant's last run everything that the next upload relies
on is read back and compared with the host's data, byte by byte, with the guard zones: the pristine copies of what
programs write, and the arrays that they only read. Any difference is this variant's fault, as nothing else has run
since the last such comparison. The next upload writes everything from the host if anything ran since (a variant that
failed or was not compared), as the first upload does.
"""

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
PIECE = 2**20
"""The number of bytes that are read back and compared at once: little enough for caches, enough for a driver."""


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
        self._clean = False
        self._read: Values = {}
        self._piece = np.empty(PIECE, np.uint8)
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
        """Set all arrays to their initial data; see `driver.Memory`, and this module for the choice of the source."""
        clean, self._clean = self._clean, False
        if clean:
            self._copy_all()
        else:
            self._write_all()
        self._room.finish()

    def _write_all(self) -> None:
        """Write everything from the host."""
        for places in (self.whole, self._pristine):
            for name, place in places.items():
                self._room.write(place, self._zoned(name))

    def _copy_all(self) -> None:
        """Restore what runs wrote, and what else a damaged kernel may have written, from data on the device."""
        self.restore()

    def restore(self) -> None:
        """Restore what a run wrote; see `driver.Memory`."""
        self._clean = False  # a run follows
        for name, pristine in self._pristine.items():
            self._room.copy(self.whole[name], pristine)
        self._room.finish()

    def read(self, names: Sequence[str]) -> Values:
        """Return the current contents of the arrays `names`, which the next call overwrites; see `driver.Memory`."""
        for name in names:
            if name not in self._read:  # a system takes as long to make new memory as a driver to fill it
                self._read[name] = np.empty_like(self.values[name])
            self._room.read(self.whole[name], len(GUARD), self._read[name])
        return {name: self._read[name] for name in names}

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
        """Return a text about the first data that no variant may write and that changed, or None; see `driver.Memory`.

        If nothing changed, the next upload copies on the device.
        """
        for name, place in self.whole.items():
            if not self._initial(self._pristine.get(name, place), name):
                return (f"the copy of {name}, which belongs to no kernel, was written" if name in self._pristine else
                        f"{name} was written, which the program only reads")
        self._clean = True
        return None

    def _initial(self, place: Handle, name: str) -> bool:
        """Return whether memory holds an array's initial data between guard zones."""
        contents, zone = self.values[name].reshape(-1).view(np.uint8), np.frombuffer(GUARD, np.uint8)
        parts = ((0, zone), (zone.size, contents), (zone.size + contents.size, zone))
        return all(self._holds(place, offset, expected) for offset, expected in parts)

    def _holds(self, place: Handle, offset: int, expected: Bytes) -> bool:
        """Return whether memory has the bytes `expected` from byte `offset` on."""
        for begin in range(0, expected.size, PIECE):
            some = expected[begin:begin + PIECE]
            there = self._piece[:some.size]
            self._room.read(place, offset + begin, there)
            if not same_bytes(there, some):
                return False
        return True


def same_bytes(one: NDArray[Any], two: NDArray[Any]) -> bool:
    """Return whether two contiguous arrays of one row have the same bytes; compares eight at once if possible."""
    if one.nbytes != two.nbytes:
        return False
    word = np.uint8 if one.nbytes % 8 else np.uint64
    return np.array_equal(one.view(word), two.view(word))
