"""Runs at the start of a test's child processes: changes the name of the CPU when pyopencl is imported."""

from __future__ import annotations

import ctypes
import os
from typing import Any

from tests.support.children import after_import

VARIABLE = "ANTUNE_TEST_CPU_NAME"


def install() -> None:
    """Wait for the import of pyopencl."""
    if name := os.environ.get(VARIABLE):
        after_import("pyopencl", lambda module: spoil(module, name))


def spoil(pyopencl: Any, name: str) -> None:
    """List PoCL's devices with the CPU `name` from now on; with "crash", every build for them ends the process."""
    platforms = pyopencl.get_platforms
    done: list[int] = []

    def get_platforms() -> list[Any]:
        found = list(platforms())
        for platform in found:
            if platform.name == "Portable Computing Language":
                for device in platform.get_devices():
                    if device.int_ptr not in done:
                        done.append(device.int_ptr)
                        rename(device, name)
        return found

    plain_build = pyopencl.Program.build

    def build(program: Any, *given: Any, **named: Any) -> Any:
        if any(device.int_ptr in done for device in program._context.devices):
            os.abort()
        return plain_build(program, *given, **named)

    if name == "crash":
        pyopencl.Program.build = build
    pyopencl.get_platforms = get_platforms


def rename(device: Any, name: str) -> None:
    """Change the name that PoCL found at its start: the end of its version, `... HSTR:
    pthread-x86_64-unknown-linux-gnu-znver3`.
    """
    from pathlib import Path

    from runners.opencl.cpu_name import find_pointer, lasting_string

    given = device.version.strip().rpartition("-gnu-")[2]
    with Path("/proc/self/mem").open("rb", buffering=0) as memory:
        place = find_pointer(memory, device.int_ptr, given.encode() + b"\0")
    if place is not None:  # on an unknown CPU, too
        ctypes.c_void_p.from_address(place).value = lasting_string(name)
