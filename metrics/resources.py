"""The resources of a kernel that a device's compiler reports: registers, spills, memory."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ENTRY = re.compile(r"Compiling entry function '([^']+)'|Function properties for (\S+)")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+)(?:\+(\d+))? bytes smem")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")


@dataclass(frozen=True, slots=True)
class Resources:
    """The resources of a kernel; None if the compiler does not report them.

    `registers` per thread; `spills`: bytes per thread that did not fit into registers; `shared`: bytes per block;
    `private`: bytes of memory per thread (stack, arrays that are not in registers). OpenCL's
    CL_KERNEL_LOCAL_MEM_SIZE and CL_KERNEL_PRIVATE_MEM_SIZE are `shared` and `private`.
    """

    registers: int | None = None
    spills: int | None = None
    shared: int | None = None
    private: int | None = None


def parse_ptxas(log: str) -> dict[str, Resources]:
    """Return the resources per kernel in the output of `ptxas -v`, or the build log of NVIDIA's OpenCL
    (-cl-nv-verbose).

    Functions without a line of used registers (device functions) are left out.
    """
    found: dict[str, Resources] = {}
    name, spills, private = "", None, None
    for line in log.splitlines():
        if entry := _ENTRY.search(line):
            name, spills, private = entry.group(1) or entry.group(2), None, None
        elif stack := _STACK.search(line):
            private, spills = int(stack.group(1)), int(stack.group(2))
        elif (used := _REGISTERS.search(line)) and name:
            shared = _SHARED.search(line)
            bytes_ = sum(int(part) for part in shared.groups() if part) if shared else 0
            found[name] = Resources(int(used.group(1)), spills, bytes_, private)
    return found
