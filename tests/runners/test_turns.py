"""Who may use a device while another process compares results on the host."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from generator.problem import save_reference
from generator.target import Target
from generator.variant import Variant
from metrics.outcome import Outcome, Phase, Timed, WrongResult
from metrics.resources import Resources
from runners import device_worker
from runners.base import Limits
from runners.check import Comparison
from runners.data import Values
from runners.device_worker import DeviceWorker
from runners.driver import RunTime
from runners.host_program import BoundLaunch
from runners.locks import exclusive
from runners.memory import GuardedMemory
from runners.tasks import Compiled, Measure, WorkerSetup
from tests.support.host_room import HostRoom, set_array
from tests.support.runners import GOOD, lower_by_hand, plan, scale_problem

TARGET = Target("device", "opencl", 1024, (1024, 1024, 64), 32768, 2, True, False)
LIMITS = Limits(min_repeats=2, max_repeats=3, least_s=0.0)


@dataclass
class Device:
    """`driver.Device` and `driver.Executable` without a driver: scales by `factor`, and notes who may use it."""

    lock: Path
    factor: float
    free: list[tuple[str, bool]] = field(default_factory=list)
    room: HostRoom = field(default_factory=HostRoom)
    least_ms: float = 0.0

    def __post_init__(self) -> None:
        self.memory = NotingMemory(self.room, self)

    def note(self, what: str) -> None:
        """Note whether another process could take the lock now."""
        descriptor = os.open(self.lock, os.O_RDWR)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.free.append((what, True))
        except BlockingIOError:
            self.free.append((what, False))
        finally:
            os.close(descriptor)

    def flush(self) -> None:
        """There are no caches."""

    def load(self, variant: Variant, codes: Sequence[bytes]) -> Device:
        """Return this object."""
        assert variant.kernels and codes
        return self

    def run(self, launches: Sequence[BoundLaunch], times: int = 1, by_kernel: bool = False) -> RunTime:
        """Compute the result."""
        assert launches and times == 1 and by_kernel in (True, False)
        self.note("run")
        set_array(self.room, self.memory, "B", np.float32(self.factor) * self.memory.values["A"])
        return RunTime(1.0, 1.0, (1.0,))

    def resources(self) -> tuple[tuple[str, Resources], ...]:
        """Nothing is known."""
        return ()


class NotingMemory(GuardedMemory[int]):
    """The arrays of the program; notes who may use the device while they are read."""

    def __init__(self, room: HostRoom, device: Device) -> None:
        super().__init__(room, scale_problem())
        self._device = device

    def read(self, names: Sequence[str]) -> Values:
        """Read, and note."""
        self._device.note("read")
        return super().read(names)

    def changed_input(self) -> str | None:
        """Compare, and note."""
        self._device.note("read")
        return super().changed_input()


def evaluated(folder: Path, monkeypatch: pytest.MonkeyPatch, shares_host_cores: bool,
              factor: float = 3.0) -> tuple[Outcome, set[tuple[str, bool]], list[tuple[Phase, float | None]]]:
    """Return the outcome of a measurement; what was done on the device, and whether others could; the phases."""
    problem, target = scale_problem(), replace(TARGET, shares_host_cores=shares_host_cores)
    save_reference(problem.reference, folder / "reference.npz")
    lock = folder / "lock"
    opened = Device(lock, factor)
    monkeypatch.setattr(device_worker, "open_device", lambda key, found: opened)
    compared = Comparison.difference

    def difference(self: Comparison, *arguments: object) -> str | None:
        opened.note("compare")
        return compared(self, *arguments)  # type: ignore[arg-type]  # passed on

    monkeypatch.setattr(Comparison, "difference", difference)
    setup = WorkerSetup(problem.subject, folder / "reference.npz", "device", target, LIMITS, lock, lower_by_hand)
    phases = list[tuple[Phase, float | None]]()
    variant = lower_by_hand(scale_problem().program, plan(GOOD), target)
    answer = DeviceWorker(setup)(Measure(Compiled(variant, 0.0, (b"code",)), None, LIMITS),
                                 lambda phase, limit_s: phases.append((phase, limit_s)))
    return answer.value, set(opened.free), phases


@pytest.mark.parametrize("shares_host_cores", [False, True])
def test_others_may_use_a_gpu_while_results_are_compared(shares_host_cores: bool, tmp_path: Path,
                                                         monkeypatch: pytest.MonkeyPatch) -> None:
    outcome, free, phases = evaluated(tmp_path, monkeypatch, shares_host_cores)
    assert isinstance(outcome, Timed)
    assert free == {("run", False), ("read", False), ("compare", not shares_host_cores)}
    assert [phase for phase, limit_s in phases if limit_s is None] == ["check", "check"], "no limit while it waits"
    assert phases[-1][0] == "time" and phases[-1][1] is not None


def test_a_wrong_result_is_found_with_the_lock_given_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome, _, _ = evaluated(tmp_path, monkeypatch, False, factor=3.1)
    assert isinstance(outcome, WrongResult) and "after the first run B[0]" in outcome.message


def test_a_turn_is_given_and_taken_again(tmp_path: Path) -> None:
    with exclusive(tmp_path / "lock") as turn:
        turn.take()
        turn.give()
        turn.give()
        with exclusive(tmp_path / "lock"):
            pass
        turn.take()
        descriptor = os.open(tmp_path / "lock", os.O_RDWR)
        with pytest.raises(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(descriptor)
