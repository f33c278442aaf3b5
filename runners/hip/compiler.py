"""Compile HIP text to device code of one architecture by hiprtc, AMD's library for compiling at run time. Needs no GPU.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

from generator.errors import InputError
from generator.target import Target
from generator.variant import Variant
from runners.driver import MESSAGE_CHARS, BuildError
from runners.gpu.units import Binary, UnitCompiler
from runners.hip.library import load

FILE = "kernels.hip"


class Hiprtc:
    """The library, which is part of HIP's own in older versions of ROCm."""

    def __init__(self) -> None:
        """Loads it. Raises InputError if it is missing."""
        for name in ("libhiprtc", "libamdhip64"):
            try:
                self._hiprtc = load(name)
                self._hiprtc.hiprtcGetErrorString.restype = ctypes.c_char_p
                return
            except (OSError, AttributeError) as error:
                missing = error
        raise InputError(
            f"no HIP compiler is installed ({missing}); ROCm brings one (Debian: `apt install libamdhip64-5 "
            "libhiprtc-builtins5 rocm-device-libs`)"
        )

    def translate(self, text: str, architecture: str) -> bytes:
        """Return device code for an architecture such as `gfx90a`. Raises BuildError."""
        program = ctypes.c_void_p()
        self._ask(self._hiprtc.hiprtcCreateProgram(ctypes.byref(program), text.encode(), FILE.encode(), 0, None, None))
        options = (ctypes.c_char_p * 2)(f"--offload-arch={architecture}".encode(), b"-O3")
        try:
            status = self._hiprtc.hiprtcCompileProgram(program, len(options), options)
            if status:
                log = self._bytes(self._hiprtc.hiprtcGetProgramLogSize, self._hiprtc.hiprtcGetProgramLog, program)
                words = log.split(b"\0")[0].decode(errors="replace").strip()
                raise BuildError(words[:MESSAGE_CHARS] or self._words(status))
            return self._bytes(self._hiprtc.hiprtcGetCodeSize, self._hiprtc.hiprtcGetCode, program)
        finally:
            self._hiprtc.hiprtcDestroyProgram(ctypes.byref(program))

    def _bytes(self, size_of: Any, contents: Any, program: ctypes.c_void_p) -> bytes:
        size = ctypes.c_size_t()
        self._ask(size_of(program, ctypes.byref(size)))
        buffer = ctypes.create_string_buffer(max(size.value, 1))
        self._ask(contents(program, buffer))
        return buffer.raw[:size.value]

    def _ask(self, status: int) -> None:
        if status:
            raise BuildError(f"hiprtc failed: {self._words(status)}")

    def _words(self, status: int) -> str:
        return str(self._hiprtc.hiprtcGetErrorString(status).decode(errors="replace"))


def hip_compiler(target: Target, folder: Path | None = None) -> UnitCompiler:
    """Return the compiler for `target`; `folder` is that of `kernel_codes.KernelCodes`.

    Raises:
        InputError: the architecture is unknown, or no compiler is installed.
    """
    if not target.architecture:
        raise InputError(f"the architecture of {target.name} is not known; see `antune devices`")
    hiprtc = Hiprtc()

    def translated(unit: Variant) -> Binary:
        return Binary(hiprtc.translate(unit.source, target.architecture), None)

    return UnitCompiler(target, translated, folder)
