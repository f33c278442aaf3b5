"""Profiles a variant's kernels with NVIDIA's Nsight Compute (`ncu`), which runs a process and watches its launches.

The process is this module itself: it opens the device, loads the code that the worker had compiled, and runs the
program once. ncu repeats each launch as often as its counters require, and restores memory in between.
"""

from __future__ import annotations

import csv
import math
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from generator.problem import Problem
from generator.variant import Variant
from metrics.measured import NCU, from_ncu
from metrics.outcome import MetricValues
from runners.backends import open_device
from runners.host_program import launches
from runners.kernel_codes import alone
from runners.processes import ROOT
from runners.profiling.perf_events import CountersUnavailable

USUAL_PLACE = Path("/usr/local/cuda/bin/ncu")
MOST_LAUNCHES = 500
TIME = "gpu__time_duration.sum"
_SECONDS = {
    "nsecond": 1e-9,
    "ns": 1e-9,
    "usecond": 1e-6,
    "us": 1e-6,
    "msecond": 1e-3,
    "ms": 1e-3,
    "second": 1.0,
    "s": 1.0,
}
WITHOUT_GRAPHS = {"ANTUNE_GRAPHS": "0"}
"""ncu repeats launches one by one."""
_NOT_PERMITTED = "ERR_NVGPUCTRPERM"


@dataclass(frozen=True, slots=True)
class Work:
    """The work of the watched process."""

    device: str
    problem: Problem
    variant: Variant
    codes: tuple[bytes, ...]


def find_ncu() -> str | None:
    """Return the path of Nsight Compute, None if it is not installed."""
    return shutil.which("ncu") or (str(USUAL_PLACE) if USUAL_PLACE.exists() else None)


def profile_by_ncu(work: Work, folder: Path, limit_s: float) -> dict[str, MetricValues]:
    """Return the metrics of the kernels of `work`, by their names in the variant; files go to `folder`.

    Raises:
        CountersUnavailable: ncu is not installed, may not read the counters, or failed; the message says which.
    """
    tool = find_ncu()
    if tool is None:
        raise CountersUnavailable(
            "Nsight Compute is not installed: `ncu` was not found; it comes with the CUDA toolkit"
        )
    file = folder / "profile.pickle"
    file.write_bytes(pickle.dumps(work))
    try:
        run = subprocess.run(command(tool, file), capture_output=True, text=True, timeout=limit_s, check=False,
                             env={**os.environ, **WITHOUT_GRAPHS,
                                  "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])})
    except subprocess.TimeoutExpired:
        raise CountersUnavailable(f"ncu took longer than {limit_s:g} s") from None
    finally:
        file.unlink()
    if _NOT_PERMITTED in run.stdout + run.stderr:
        raise CountersUnavailable("ncu may not read the GPU's counters (ERR_NVGPUCTRPERM): an administrator permits it "
                                  "with the driver option NVreg_RestrictProfilingToAdminUsers=0")
    told = parse(run.stdout.splitlines())
    called = {kernel.name: alone(kernel, work.variant).kernels[0].name for kernel in work.variant.kernels}
    found = {own: told[name] for own, name in called.items() if name in told}
    if not found:
        raise CountersUnavailable(f"ncu reported nothing: {_last_line(run.stderr or run.stdout)}")
    return found


def command(tool: str, file: Path) -> list[str]:
    """Return the command line that profiles the work in `file`."""
    quantities = ",".join([TIME, *(quantity for group in NCU.values() for quantity in group)])
    return [
        tool,
        "--csv",
        "--metrics",
        quantities,
        "--launch-count",
        str(MOST_LAUNCHES),
        sys.executable,
        "-m",
        __name__,
        str(file),
    ]


def parse(lines: Iterable[str]) -> dict[str, MetricValues]:
    """Return the metrics by kernel from ncu's table: the means over its launches, weighted by their times.

    The table has a row per launch and quantity, after lines of other kinds.
    """
    launched: dict[str, dict[str, dict[str, float]]] = {}
    for row in _rows(lines):
        name, value = row["Kernel Name"].split("(")[0], _number(row["Metric Value"])
        if row["Metric Name"] == TIME:
            value *= _SECONDS.get(row["Metric Unit"], math.nan)
        launched.setdefault(name, {}).setdefault(row["ID"], {})[row["Metric Name"]] = value
    return {name: from_ncu(_means(list(by_launch.values()))) for name, by_launch in launched.items()}


def seconds_of(lines: Iterable[str]) -> list[float]:
    """Return the time of each launch in ncu's table, in seconds."""
    return [_number(row["Metric Value"]) * _SECONDS.get(row["Metric Unit"], math.nan)
            for row in _rows(lines) if row["Metric Name"] == TIME]


def _rows(lines: Iterable[str]) -> Iterator[dict[str, str]]:
    table = [line for line in lines if line.startswith('"')]
    yield from csv.DictReader(table)


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1][:300] if lines else "no output"


def _number(text: str) -> float:
    """Parse a number with or without commas between thousands; nan for ncu's `n/a`."""
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return math.nan


def _means(runs: list[Mapping[str, float]]) -> dict[str, float]:
    names = {name for run in runs for name in run if name != TIME}
    return {
        name: _mean([(run.get(TIME, math.nan), run[name]) for run in runs if math.isfinite(run.get(name, math.nan))])
        for name in names
    }


def _mean(weighted: list[tuple[float, float]]) -> float:
    known = [(weight, value) for weight, value in weighted if math.isfinite(weight) and weight > 0]
    if known:
        return sum(w * value for w, value in known) / sum(w for w, _ in known)
    return sum(value for _, value in weighted) / len(weighted) if weighted else math.nan


def main() -> None:
    """The process that ncu watches: run the work in the file in argv once."""
    work: Work = pickle.loads(Path(sys.argv[1]).read_bytes())
    device = open_device(work.device, work.problem)
    executable = device.load(work.variant, work.codes)
    device.memory.upload()
    executable.run(tuple(launches(work.variant)))


if __name__ == "__main__":
    main()
