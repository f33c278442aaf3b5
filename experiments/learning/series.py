"""Series of comparable times: of one program, with the same tools, on a device with the same settings."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from experiments.values.environment import current_environment
from experiments.values.program_json import to_json
from experiments.values.rooms import MEASURE
from generator.program import Program
from runners.backends import backend_named
from runners.base import DeviceInfo, Limits

LIMITS = Limits(compile_s=20.0, run_s=10.0, half_width=0.05, max_repeats=30, least_s=0.02, time_s=0.25, give_up=12.0)
"""Each plan is only measured for a moment: there are many, and a model learns from all of them together."""


@dataclass(frozen=True, slots=True)
class Origin:
    """A program: the file of a pipeline (FILE.py, or FILE.py:FUNCTION), and the arguments of its function (including
    extents), sorted by name.
    """

    source: str
    parameters: tuple[tuple[str, int | float], ...]

    @property
    def place(self) -> tuple[Path, str | None]:
        """The file, and the function that `source` names, if it names one."""
        named = re.fullmatch(r"(.+\.py):(\w+)", self.source, re.DOTALL)
        return (Path(named[1]), named[2]) if named else (Path(self.source), None)

    @property
    def text(self) -> str:
        """The parameters as JSON, as they are stored."""
        return json.dumps([list(pair) for pair in self.parameters], separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Series:
    """The identity of measurements: `program` is a hash of the program, `environment` of the measuring tools."""

    origin: Origin
    program: str
    environment: str


def series_of(origin: Origin, program: Program, device: DeviceInfo) -> Series:
    """Return the series of measurements that are made now. An edited file is another program."""
    return Series(origin, program_digest(program), environment_digest(device))


def program_digest(program: Program) -> str:
    """Return a hash of the program that does not depend on the place of its file."""
    nowhere = replace(program, file="")
    return _hash(f"{nowhere!r}{nowhere.stages!r}")


def environment_digest(device: DeviceInfo) -> str:
    """Return a hash of everything else that times depend on: antune's code, compilers, the driver, and the measuring
    method.
    """
    now, backend = current_environment(), backend_named(device.target.dialect)
    tools = backend.tools if backend is not None else ()
    rooms = [entry for entry in now.rooms if entry[0] in MEASURE]
    packages = [entry for entry in now.packages if entry[0] in tools]
    return _hash(json.dumps([rooms, packages, now.settings, device.platform, device.driver, to_json(device.target),
                             asdict(LIMITS)]))  # fmt: skip


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
