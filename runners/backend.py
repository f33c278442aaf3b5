"""A Backend: all that antune has to know of a way to reach devices. Each dialect has one, in a file of its own;
`backends` lists them.

What loads a driver is a function here, so that reading a Backend loads nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from generator.problem import Problem
from generator.target import LANGUAGES, Dialect, Target
from runners.base import DeviceInfo
from runners.calls import Caller, Code
from runners.driver import Compiler, Device

UNTESTED = "untested on hardware"


@dataclass(frozen=True, slots=True)
class Listed:
    """A device as it is listed. `repair`: how antune changed its driver in this process; empty if it did not."""

    info: DeviceInfo
    repair: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """The devices that can be used, best first. `obstacle`: why there are none, or not all."""

    devices: tuple[Listed, ...]
    obstacle: str = ""


@dataclass(frozen=True, slots=True)
class Backend:
    """One driver, for devices whose kernels are written in `dialect`.

    `vendor` makes the devices (empty: several do). `required`: antune does not work where its devices cannot be listed.
    `present`: there are signs of a driver; `absent` is what to say and to do where there are none. `find` lists the
    devices; it loads the driver, so it runs in a process of its own. `open_compiler` takes a device's key, its target,
    the problem, a folder for what it compiles and whether its code travels; `open_device` key and problem (see
    `backends`). `open_caller` makes code a function of the caller's process (`calls`).

    `check_compiler` raises InputError where there is no compiler; None: it belongs to the driver. Such a compiler makes
    code for devices of other machines, too. `check_tensor_cores` raises InputError where the compiler lacks what code
    for tensor cores needs; None: there is no such code. `tools` are the packages that hold it. `nsight`: NVIDIA's
    Nsight Compute counts what kernels do. `tested`: it has run on hardware, or on what it is made for.
    """

    dialect: Dialect
    vendor: str
    present: Callable[[], bool]
    absent: str
    find: Callable[[], Found]
    open_compiler: Callable[[str, Target, Callable[[], Problem], Path | None, bool], Compiler]
    open_device: Callable[[str, Problem], Device]
    open_caller: Callable[[Code, Target], Caller]
    required: bool = False
    check_compiler: Callable[[], None] | None = None
    check_tensor_cores: Callable[[], None] | None = None
    tools: tuple[str, ...] = ()
    nsight: bool = False
    tested: bool = True

    @property
    def title(self) -> str:
        """What people call it."""
        return LANGUAGES[self.dialect].title

    @property
    def compiles_anywhere(self) -> bool:
        """True when code is made without the device: by any machine of a cluster."""
        return self.check_compiler is not None
