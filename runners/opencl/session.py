"""The context and queue of an OpenCL device, and its built programs. Used in worker processes only."""

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
"""The prefix of text that has to be built, in place of device code."""
MOST_PROGRAMS = 256
"""The number of programs from cached text that a Session keeps: PoCL takes 0.03 s for each, ten times as long as for a
binary.
"""


@dataclass(frozen=True, slots=True)
class Function:
    """A kernel in a built program, and its name there."""

    program: cl.Program
    name: str


class Session:
    """The context and the profiling queue of one device."""

    def __init__(self, key: str) -> None:
        """Opens the device `key`. Raises InputError if it is missing, LaunchError if the driver refuses."""
        self.device = open_device(key)
        with refusals("opening the device: "):
            self.context = cl.Context([self.device])
            self.queue = cl.CommandQueue(self.context, properties=cl.command_queue_properties.PROFILING_ENABLE)
        self.runs_at_once = runs_in_the_caller(self.device.platform.name, self.device.name)
        self._from_text = lru_cache(maxsize=MOST_PROGRAMS)(self._build_text)

    @property
    def caches_text(self) -> bool:
        """Whether the driver caches compiled text on disk for all processes of this machine."""
        return "Portable Computing Language" in self.device.platform.name and os.environ.get("POCL_KERNEL_CACHE") != "0"

    def build(self, variant: Variant, code: bytes | None = None) -> cl.Program:
        """Return the built program; from `code` (see `code_of`, `text_of`) if it is given, else from the text.

        Raises:
            BuildError: the compiler refused.
        """
        if code is None:
            return self._build_text(variant.source)
        if code.startswith(FROM_TEXT.encode()):
            return self._from_text(code.decode())
        return self._built(lambda: cl.Program(self.context, [self.device], [code]))

    def function(self, unit: Variant, code: bytes | None) -> Function:
        """Return the only kernel of `unit`, built; its `code` may contain others. Raises BuildError."""
        return Function(self.build(unit, code), unit.kernels[0].name)

    def _build_text(self, text: str) -> cl.Program:
        return self._built(lambda: cl.Program(self.context, text))

    def _built(self, make: Callable[[], cl.Program]) -> cl.Program:
        return built(make, self.device)


def built(make: Callable[[], cl.Program], device: cl.Device) -> cl.Program:
    """Build the result of `make` for `device`. Raises BuildError."""
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
    """Return the device code of a built program; after a launch it includes code that the driver compiled lazily."""
    binaries: Any = program.get_info(cl.program_info.BINARIES)
    return bytes(binaries[0])


def text_of(variant: Variant) -> bytes:
    """Return the text in place of device code, for a driver that caches compiled code by text."""
    return (FROM_TEXT + variant.source).encode()
