"""What the workers need of a device's driver, whichever it is: a thin interface that every backend implements.

Drivers live inside worker processes only. `backends.open_compiler` and `backends.open_device` load the one that a
device's key names; nothing else in this room knows which driver it talks to. Whatever a variant can make go wrong is a
BuildError or a LaunchError; any other exception is a bug of ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Protocol

from generator.variant import Kernel, Variant
from metrics.resources import Resources
from runners.data import Values
from runners.host_program import BoundLaunch

MESSAGE_CHARS = 2000


class BuildError(Exception):
    """The device's compiler refused the text; the message is the start of its log."""


class LaunchError(Exception):
    """The device refused or aborted a launch, or has no room for the data."""


@dataclass(frozen=True, slots=True)
class RunTime:
    """Times of one run of the whole host program in ms; docs/timing.md says what is in them.

    `device_ms`: from when the device begins with the first launch until it is done with the last, by its own clock.
    `host_ms`: until the host knew. `kernels_ms`: the sum over its launches for each kernel, with what the device waited
    before them; empty where not known.
    """

    device_ms: float
    host_ms: float
    kernels_ms: tuple[float, ...]


class Memory(Protocol):
    """The arrays of a Problem on a device, between guard zones. Every method may raise LaunchError: devices get
    lost.
    """

    def upload(self) -> None:
        """Write everything anew from the host: what an earlier variant may have damaged is whole again."""

    def restore(self) -> None:
        """Undo what a run wrote, on the device, and wait for it: the next run starts from the same data."""

    def read(self, names: Sequence[str]) -> Values:
        """The present contents of the arrays `names`."""

    def overrun(self) -> str | None:
        """The first array that was written out of its bounds, in words."""

    def changed_input(self) -> str | None:
        """The first array that the program only reads and that is not as it was uploaded, in words."""


class Executable(Protocol):
    """A Variant on a device with its arguments bound: ready to run any number of times."""

    def run(self, launches: Sequence[BoundLaunch], times: int = 1, by_kernel: bool = False) -> RunTime:
        """Run `launches` in order, all of them `times` times over, and wait for the last: the times are those of one.

        `by_kernel`: each kernel is to be timed, which may cost the whole time some exactness.

        Raises:
            LaunchError: the device refused or aborted one of them.
        """

    def resources(self) -> tuple[tuple[str, Resources], ...]:
        """What each kernel needs, by its name in the Variant, as far as the driver knows."""


class Device(Protocol):
    """An open device with the arrays of one Problem on it."""

    @property
    def memory(self) -> Memory:
        """The arrays."""

    @property
    def least_ms(self) -> float:
        """What a time must be for the resolution of the device's clock to be a thousandth of it."""

    def flush(self) -> None:
        """Write more on the device than its caches hold and wait for it: the next run finds none of its data there.

        Raises:
            LaunchError: the device refused.
        """

    def load(self, variant: Variant, codes: Sequence[bytes]) -> Executable:
        """What a Compiler made of the kernels of `variant`, ready to run.

        Raises:
            BuildError: the driver does not take the code.
            LaunchError: a kernel exceeds the device's limits or does not take its arguments.
        """


@dataclass(frozen=True, slots=True)
class Built:
    """The device code of each kernel of a Variant, or what stands for it where code does not travel, and whether any of
    them had to be compiled for it."""

    codes: tuple[bytes, ...]
    compiled: bool


class Compiler(Protocol):
    """Makes device code in the compile pool."""

    def compile(self, variant: Variant, begin: Callable[[], None] = lambda: None) -> Built:
        """The complete device code of each kernel of `variant`: the device worker has nothing left to compile.

        `begin` is called before every kernel that is not known yet, and before a text of several of them.

        Raises:
            BuildError: the compiler refused the text.
            LaunchError: a kernel exceeds the device's limits, or failed at its first launch.
        """


def check_limits(kernel: Kernel, max_threads: int, local_bytes: int) -> None:
    """Refuse here what some drivers accept and then crash on. Raises LaunchError."""
    threads = prod(kernel.block or (1,))
    if kernel.local_bytes > local_bytes:
        raise LaunchError(
            f"{kernel.name} needs {kernel.local_bytes} bytes of local memory; the device has {local_bytes}"
        )
    if threads > max_threads:
        raise LaunchError(f"{kernel.name} has {threads} threads per block; the device allows {max_threads}")
