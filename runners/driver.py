"""The interface of device drivers that workers use; every backend implements it.

Drivers are loaded in worker processes only. `backends.open_compiler` and `backends.open_device` load the driver that a
device's key names; the rest of this package does not depend on a specific driver. Every failure that a variant can
cause is a BuildError or a LaunchError; any other exception is a bug of antune.
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
    """The device's compiler rejected the text; the message is the start of its log, which may be empty."""

    def __init__(self, log: str) -> None:
        super().__init__(log.strip() or "the device's compiler gives no reason")


class LaunchError(Exception):
    """The device rejected or aborted a launch, or has not enough memory for the data."""


@dataclass(frozen=True, slots=True)
class RunTime:
    """Times of one run of the whole host program in ms; docs/timing.md defines them.

    `device_ms`: from the start of the first launch to the end of the last, by the device's clock. `host_ms`: until the
    host is notified, by the host's clock. `kernels_ms`: for each kernel the sum over its launches, with the device's
    idle time before them; empty if unknown.
    """

    device_ms: float
    host_ms: float
    kernels_ms: tuple[float, ...]


class Memory(Protocol):
    """The arrays of a Problem on a device, between guard zones. All methods raise LaunchError if the device is lost."""

    def upload(self) -> None:
        """Set all arrays and guard zones to the initial data, which repairs damage by earlier variants.

        They are written from the host, unless `changed_input` found no change since the last run.
        """

    def restore(self) -> None:
        """Restore on the device the data that a run wrote, and wait: the next run starts from the same data."""

    def read(self, names: Sequence[str]) -> Values:
        """Return the current contents of the arrays `names`. The next call may overwrite what this one returned."""

    def overrun(self) -> str | None:
        """Return a text about the first array that was written out of bounds, or None."""

    def changed_input(self) -> str | None:
        """Return a text about the first array that changed although the program only reads it, or None.

        The same for the copies that `restore` takes the data from.
        """


class Executable(Protocol):
    """A Variant on a device with its arguments bound; it can run any number of times."""

    def run(self, launches: Sequence[BoundLaunch], times: int = 1, by_kernel: bool = False) -> RunTime:
        """Run `launches` in order, repeat that `times` times, wait, and return the times of one repetition.

        `by_kernel`: also time each kernel, which may make the total time less exact.

        Raises:
            LaunchError: the device rejected or aborted a launch.
        """

    def resources(self) -> tuple[tuple[str, Resources], ...]:
        """Return the resources of each kernel, with its name in the Variant, as far as the driver reports them."""


class Device(Protocol):
    """An open device with the arrays of one Problem on it."""

    @property
    def memory(self) -> Memory:
        """The arrays."""

    @property
    def least_ms(self) -> float:
        """The shortest time in ms that is measured exactly enough: a thousand times the clock's resolution."""

    def flush(self) -> None:
        """Flush the device's caches: write more data than they hold, and wait.

        Raises:
            LaunchError: the device rejected it.
        """

    def load(self, variant: Variant, codes: Sequence[bytes]) -> Executable:
        """Load the device code that a Compiler made of the kernels of `variant`.

        Raises:
            BuildError: the driver rejects the code.
            LaunchError: a kernel exceeds the device's limits, or rejects its arguments.
        """


@dataclass(frozen=True, slots=True)
class Built:
    """The device code of each kernel of a Variant (or a placeholder, for code that stays on this machine).

    `compiled`: whether a kernel had to be compiled, and was not in the cache. `spills`: the bytes per thread that did
    not fit into registers, of all kernels together; None if the compiler does not report them.
    """

    codes: tuple[bytes, ...]
    compiled: bool
    spills: int | None = None


class Compiler(Protocol):
    """Compiles kernels to device code, in a compile worker."""

    def compile(self, variant: Variant, begin: Callable[[], None] = lambda: None) -> Built:
        """Return the complete device code of each kernel of `variant`, so that the device worker compiles nothing.

        `begin` is called before each compilation (of a new kernel, or of a text with several of them).

        Raises:
            BuildError: the compiler rejected the text.
            LaunchError: a kernel exceeds the device's limits, or failed at its first launch.
        """


def check_limits(kernel: Kernel, max_threads: int, local_bytes: int) -> None:
    """Raise LaunchError if a kernel exceeds limits: some drivers accept such a kernel and then crash."""
    threads = prod(kernel.block or (1,))
    if kernel.local_bytes > local_bytes:
        raise LaunchError(
            f"{kernel.name} needs {kernel.local_bytes} bytes of local memory; the device has {local_bytes}"
        )
    if threads > max_threads:
        raise LaunchError(f"{kernel.name} has {threads} threads per block; the device allows {max_threads}")
