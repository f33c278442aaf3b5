"""PoCL on CPUs that its compiler does not know: replace the CPU's name by a known one.

PoCL asks LLVM for the name of the host's CPU. An older LLVM answers "generic" for a CPU that is newer than itself (LLVM
14 for AMD's Zen 5), and then clang refuses every kernel: `unknown target CPU 'generic'`. The structure behind a
`cl_device_id` holds a pointer to that name, which PoCL reads at every build.

This file does not import antune, and its functions only need its own imports: exported Python modules contain them
(`experiments.exports.python`).
"""

from __future__ import annotations

import ctypes
import platform
import struct
from pathlib import Path
from typing import Any, BinaryIO

REPAIR = 1
"""The version of the repair: devices that failed with another version are tried again."""
ERROR = "unknown target CPU"
"""The compiler's message if the repair is missing or did not help."""


def repair_cpu_name(device: Any) -> str:
    """Set a CPU name that PoCL's compiler knows, before the first build for `device`, a pyopencl device.

    Returns that name; an empty one if no repair is necessary, or none is possible: in that case builds fail with the
    compiler's message.
    """
    if device.platform.name.strip() != "Portable Computing Language" or platform.machine() not in ("x86_64", "AMD64"):
        return ""
    try:
        with Path("/proc/self/mem").open("rb", buffering=0) as memory:
            place = find_pointer(memory, device.int_ptr, b"generic\0")
        name = known_cpu(Path("/proc/cpuinfo").read_text(errors="replace"))
    except OSError:  # no /proc, or no access to it
        return ""
    if place is None:
        return ""
    ctypes.c_void_p.from_address(place).value = lasting_string(name)
    return name


def find_pointer(memory: BinaryIO, structure: int, text: bytes) -> int | None:
    """Return the address of the first pointer to `text` in the 2 KiB from address `structure`; None without one.

    `memory` is that of a process: reading from a bad address raises an OSError instead of crashing.
    """
    memory.seek(structure)
    words = memory.read(2048)
    for offset in range(0, len(words) - 7, 8):
        (target,) = struct.unpack_from("<Q", words, offset)
        if 4096 <= target < 1 << 47:
            try:
                memory.seek(target)
                if memory.read(len(text)) == text:
                    return structure + offset
            except OSError:  # a number that is not an address
                continue
    return None


def lasting_string(text: str) -> int:
    """Return the address of a C string that exists as long as the process, and that C may free."""
    copy = ctypes.CDLL(None).strdup
    copy.argtypes, copy.restype = [ctypes.c_char_p], ctypes.c_void_p
    return int(copy(text.encode()))


def known_cpu(cpuinfo: str) -> str:
    """Return the name of an older x86 CPU all of whose features are in `cpuinfo` (/proc/cpuinfo)."""
    lines = [line for line in cpuinfo.splitlines() if line.startswith("flags")]
    flags = set(lines[0].partition(":")[2].split()) if lines else set()
    haswell = {"avx2", "fma", "f16c", "bmi1", "bmi2", "movbe", "abm"}
    skylake = haswell | {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl", "adx"}
    for name, needs in (("skylake-avx512", skylake), ("haswell", haswell), ("sandybridge", {"avx"})):
        if needs <= flags:
            return name
    return "x86-64"
