"""The C half of a capture, compiled once per compiler and kept in the user's cache."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from generator.capture.build import Compiler, Unit, compile_unit
from generator.frontend_c.places import c_string
from generator.user_cache import user_cache


def runtime_object(compiler: Compiler, file: Path, flags: Sequence[str], scratch: Path, limit_s: float) -> Path:
    """Return the object file of a C file beside this module, compiled in the folder `scratch` unless it is cached.

    Raises RunFailed.
    """
    flags = ("-O2", *flags)
    asked = repr((file.read_bytes(), compiler.path, compiler.version, flags))
    name = f"{file.stem}-{hashlib.sha256(asked.encode()).hexdigest()[:16]}.o"
    with suppress(OSError, RuntimeError):  # no home folder, or no permission to read it
        kept = user_cache() / "capture" / name
        if kept.is_file():
            return kept
    made = compile_unit(compiler, Unit(file), flags, scratch / name, limit_s)
    with suppress(OSError, RuntimeError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        begun = kept.with_name(f"{name}.{os.getpid()}")
        shutil.copyfile(made, begun)
        begun.replace(kept)
    return made


def settings(directory: Path, limits_ms: Sequence[float], seed: int, rounded_pairs: int, dominant: bool) -> str:
    """Return C definitions of the runtime's settings.

    `limits_ms`: for timing beyond the second sample, for the process, and for rounding.
    """
    numbers = ", ".join(f"{limit:.1f}" for limit in limits_ms)
    return (f"const char *const antune_capture_directory = {c_string(str(directory))};\n"
            f"const double antune_capture_limits_ms[] = {{{numbers}}};\n"
            f"const unsigned long long antune_capture_seed = {seed % 2**64}ULL;\n"
            f"const int antune_capture_rounded_pairs = {rounded_pairs}, antune_capture_dominant = {int(dominant)};\n")
