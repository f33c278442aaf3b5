"""The context and queue of an OpenCL device, and the programs built there. Lives inside worker processes only."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyopencl as cl

from generator.variant import Variant
from runners.driver import MESSAGE_CHARS, BuildError
from runners.opencl.errors import in_words, refusals, refused_build
from runners.opencl.platforms import runs_in_the_caller
from runners.opencl.probe import open_device

FROM_TEXT = "// what follows was compiled on this machine, where the driver's own cache holds it\n"
"""What begins like this is no device code but text to build."""
MOST_PROGRAMS = 256
"""Programs built from cached text that a Session keeps: PoCL takes 0.03 s for each, ten times as long as for a binary.
"""


@dataclass(frozen=True, slots=True)
class Function:
    """A kernel in a built program, under the name that it has there."""

    program: cl.Program
    name: str


class Session:
    """The context and the profiling queue of one device."""

    def __init__(self, key: str) -> None:
        """Opens the device called `key`. Raises InputError when it is not there, LaunchError when the driver
        refuses.
        """
        self.device = open_device(key)
        with refusals("opening the device: "):
            self.context = cl.Context([self.device])
            self.queue = cl.CommandQueue(self.context, properties=cl.command_queue_properties.PROFILING_ENABLE)
        self.runs_at_once = runs_in_the_caller(self.device.platform.name, self.device.name)
        self._from_text = lru_cache(maxsize=MOST_PROGRAMS)(self._build_text)

    @property
    def caches_text(self) -> bool:
        """Whether other processes of this machine that build the same text find on disk what this one compiled."""
        return "Portable Computing Language" in self.device.platform.name and os.environ.get("POCL_KERNEL_CACHE") != "0"

    def build(self, variant: Variant, code: bytes | None = None) -> cl.Program:
        """The built program; from `code` (see `code_of`, `text_of`) when given, else from the text.

        Raises:
            BuildError: the compiler refused.
        """
        if code is None:
            return self._build_text(variant.source)
        if code.startswith(FROM_TEXT.encode()):
            return self._from_text(code.decode())
        return self._built(lambda: cl.Program(self.context, [self.device], [code]))

    def function(self, unit: Variant, code: bytes | None) -> Function:
        """The only kernel of `unit`, built; there may be others in its `code`. Raises BuildError."""
        return Function(self.build(unit, code), unit.kernels[0].name)

    def _build_text(self, text: str) -> cl.Program:
        return self._built(lambda: cl.Program(self.context, text))

    def _built(self, make: Callable[[], cl.Program]) -> cl.Program:
        return built(make, self.device)


def built(make: Callable[[], cl.Program], device: cl.Device) -> cl.Program:
    """What `make` makes, built for `device`. Raises BuildError."""
    try:
        program = make()
    except cl.Error as error:
        raise BuildError(in_words(error)[:MESSAGE_CHARS]) from None
    try:
        program.build()
    except cl.Error as error:
        raise BuildError(refused_build(program, device, error)) from None
    return program


def code_of(program: cl.Program) -> bytes:
    """The device code of a built program; after a launch it holds what the driver compiled lazily too."""
    binaries: Any = program.get_info(cl.program_info.BINARIES)
    return bytes(binaries[0])


def text_of(variant: Variant) -> bytes:
    """In place of device code: the text, for a driver that finds what it compiled by text."""
    return (FROM_TEXT + variant.source).encode()
