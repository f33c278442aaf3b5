"""Memory on a device: whatever a kernel damages is found, or does not outlive the next upload."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from generator.program import Array
from runners import memory
from runners.memory import GUARD, GuardedMemory, same_bytes
from tests.support.host_room import HostRoom, set_array
from tests.support.runners import scale_problem


def opened() -> tuple[HostRoom, GuardedMemory[int], list[NDArray[np.uint8]]]:
    """Return memory after an upload, a run and its checks; and what it held after the upload."""
    room = HostRoom()
    held = GuardedMemory(room, scale_problem(64))
    held.hold([Array("scratch", "float", (3, 5), "temp")])
    held.upload()
    initial = [place.copy() for place in room.places]
    held.restore()
    run(room, held)
    assert held.overrun() is None and held.changed_input() is None
    room.written = 0
    return room, held, initial


def run(room: HostRoom, held: GuardedMemory[int]) -> None:
    """Write a result, as a right kernel does."""
    set_array(room, held, "B", np.ones(64, np.float32))


def test_after_a_check_that_found_nothing_an_upload_takes_nothing_from_the_host() -> None:
    room, held, initial = opened()
    held.upload()
    assert room.written == 0
    assert all(np.array_equal(*pair) for pair in zip(room.places, initial, strict=True))


@pytest.mark.parametrize("piece", [64, memory.PIECE])
def test_any_damage_is_found_or_repaired(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One wrong byte anywhere: in an array, in a pristine copy, in a guard zone of either."""
    monkeypatch.setattr(memory, "PIECE", piece)
    room, held, initial = opened()
    results = {held.whole[name] for name in ("B", "scratch")}
    for number, place in enumerate(room.places):
        end = place.size - len(GUARD)
        for offset in (0, len(GUARD) - 1, *range(len(GUARD), end, 37), end - 1, end, place.size - 1):
            held.upload()
            run(room, held)
            place[offset] ^= 0x10
            found = held.overrun() or held.changed_input()
            is_result = number in results and len(GUARD) <= offset < end
            assert (found is None) is is_result, (number, offset)
            held.upload()
            assert all(np.array_equal(*pair) for pair in zip(room.places, initial, strict=True)), (number, offset)


def test_a_run_that_was_not_checked_is_followed_by_an_upload_from_the_host() -> None:
    room, held, initial = opened()
    held.restore()
    room.places[-1][:] = 0  # the run damages a pristine copy
    held.upload()
    assert room.written > 0
    assert all(np.array_equal(*pair) for pair in zip(room.places, initial, strict=True))


def test_uploads_without_a_check_in_between_come_from_the_host() -> None:
    room, held, _ = opened()
    held.upload()
    assert room.written == 0
    held.upload()
    assert room.written == sum(place.nbytes for place in room.places)


def test_arrays_that_a_later_variant_needs_are_checked_too() -> None:
    room, held, _ = opened()
    held.hold([Array("more", "double", (4,), "temp")])
    held.upload()
    room.places[-1][len(GUARD)] ^= 1
    message = held.changed_input()
    assert message is not None and "copy of more" in message


@pytest.mark.parametrize("size", [0, 1, 7, 8, 64])
def test_bytes_are_compared_exactly(size: int) -> None:
    one = np.arange(size, dtype=np.uint8)
    assert same_bytes(one, one.copy()) and not same_bytes(one, np.arange(size + 1, dtype=np.uint8))
    for place in range(size):
        other = one.copy()
        other[place] ^= 0x80
        assert not same_bytes(one, other)
    assert not same_bytes(np.array([0.0, 1.0]), np.array([-0.0, 1.0]))
    assert same_bytes(np.array([np.nan]), np.array([np.nan]))
