"""A CPU that PoCL's compiler does not know, made on one that it knows: child processes with a spoiled name of the CPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.support.children import changed_children
from tests.support.cpu_hook import VARIABLE

UNKNOWN = "generic"
"""What LLVM calls a CPU that is newer than itself; antune repairs that."""
BEYOND_REPAIR = "a-cpu-of-the-future"
"""A name that no LLVM gives, so that the repair does not find it, as if PoCL kept it elsewhere."""
CRASH = "crash"
"""Not a name: the driver crashes at every build."""


def spoiled(folder: Path, name: str) -> Mapping[str, str]:
    """Environment variables of processes in which PoCL takes the CPU for one called `name`, from pyopencl's import on.

    They have a cache of their own in `folder`.
    """
    hooks = changed_children(folder / "hooks", "from tests.support.cpu_hook import install\ninstall()\n")
    return {**hooks, VARIABLE: name, "XDG_CACHE_HOME": str(folder / "cache")}
