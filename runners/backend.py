"""A Backend: everything that antune needs to know about a driver. Each dialect has one, in a separate file; `backends`
lists them.

Functions load the driver, so that importing a Backend does not load it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from generator.problem import Problem
from generator.target import LANGUAGES, Dialect, Target
from generator.variant import Variant
from metrics.resources import Resources
from runners.base import DeviceInfo
from runners.calls import Caller, Code
from runners.driver import Compiler, Device

UNTESTED = "untested on hardware"
Reporter: TypeAlias = Callable[[Variant], Mapping[str, Resources]]


@dataclass(frozen=True, slots=True)
class Listed:
    """A listed device. `repair`: how antune changed its driver in this process; empty if it did not."""

    info: DeviceInfo
    repair: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """The usable devices, best first. `obstacle`: why there are none, or not all."""

    devices: tuple[Listed, ...]
    obstacle: str = ""


@dataclass(frozen=True, slots=True)
class Backend:
    """One driver, for devices whose kernels are written in `dialect`.

    `vendor` makes the devices (empty: several do). `required`: antune does not work if its devices cannot be listed.
    `present`: there are signs of a driver; `absent` is the message if there are none, with a remedy. `find` lists the
    devices; it loads the driver, so it runs in a separate process. `open_compiler` takes a device's key, its target,
    the problem, a folder for compiled kernels and whether its code travels; `open_device` key and problem (see
    `backends`). `open_caller` makes code a function of the caller's process (`calls`).

    `open_reporter` takes a target and returns a function that compiles a variant and returns the resources of its
    kernels, also without the device; None: the compiler does not report them, or only on the device. A compiler that
    reports the registers of kernels also reports their spills.

    `check_compiler` raises InputError if there is no compiler; None: the driver contains it. Otherwise the compiler can
    make code for devices of other machines, too. `check_tensor_cores` raises InputError if the compiler lacks something
    that code for tensor cores needs; None: there is no such code. `tools` are the packages that contain it. `nsight`:
    NVIDIA's Nsight Compute profiles its kernels. `tested`: it has run on hardware, or on its intended device.
    `imports`: modules that its workers need and that load no driver: antune's, and what its Python package imports.
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
    open_reporter: Callable[[Target], Reporter] | None = None
    tools: tuple[str, ...] = ()
    nsight: bool = False
    tested: bool = True
    imports: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Its name for users."""
        return LANGUAGES[self.dialect].title

    @property
    def compiles_anywhere(self) -> bool:
        """Whether code is compiled without the device: by any machine of a cluster."""
        return self.check_compiler is not None
