"""The versions that have to agree between the machines of a cluster: they determine a plan's code, and the transfer of
values.
"""

from __future__ import annotations

import hashlib
import sys
from importlib import metadata
from pathlib import Path
from typing import TypeAlias

Versions: TypeAlias = tuple[tuple[str, str], ...]

ROOMS = ("generator", "metrics", "runners")
PACKAGES = ("antune", "distributed", "islpy")
DIGITS = 12


def versions() -> Versions:
    """Return (part, version) pairs of this process; `antune's code` is a digest of the sources that workers run."""
    found = ((name, _package(name)) for name in PACKAGES)
    return (("Python", f"{sys.version_info.major}.{sys.version_info.minor}"), *found, ("antune's code", _code()))


def differences(here: Versions, there: Versions) -> str | None:
    """Return all differences, as in `Python 3.11 there, 3.13 here; ...`; None if there are none."""
    theirs = dict(there)
    found = [f"{name} {theirs.get(name, 'unknown')} there, {version} here"
             for name, version in here if theirs.get(name) != version]
    return "; ".join(found) or None


def fingerprint(of: Versions) -> str:
    """Return a short name for `of`: equal versions have equal names."""
    return hashlib.sha256(repr(of).encode()).hexdigest()[:DIGITS]


def _package(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def _code() -> str:
    root, digest = Path(__file__).parents[2], hashlib.sha256()
    for file in sorted(path for room in ROOMS for path in (root / room).rglob("*.py")):
        digest.update(f"{file.relative_to(root)}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()[:DIGITS]
