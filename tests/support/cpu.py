"""A CPU that PoCL's compiler does not know, simulated on a known one: child processes with another name of the CPU."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.support.children import changed_children
from tests.support.cpu_hook import VARIABLE

UNKNOWN = "generic"
"""LLVM's name for a CPU that is newer than itself; antune repairs it."""
BEYOND_REPAIR = "a-cpu-of-the-future"
"""A name that no LLVM gives, so that the repair does not find it."""
CRASH = "crash"
"""Not a name: the driver crashes at every build."""


def spoiled(folder: Path, name: str) -> Mapping[str, str]:
    """Return environment variables of processes in which PoCL's CPU has the name `name`, from pyopencl's import on.

    They have their own cache in `folder`.
    """
    hooks = changed_children(folder / f"hooks-{name}", "from tests.support.cpu_hook import install\ninstall()\n")
    return {**hooks, VARIABLE: name, "XDG_CACHE_HOME": str(folder / "cache")}
