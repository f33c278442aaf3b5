"""Kernel times of Halide's autoschedulers for GPUs: `python -m experiments.benchmarks.halide_on_gpu NAME...`.

Li2018 and Anderson2021 compile the pipelines of the suite for the CUDA device, each in a process under Nsight Compute,
which reads the time of every kernel. A run's time is the sum of its kernels, without the time between them and without
Halide's host code, which takes longer than many kernels: the least that can be said for Halide. Our times (`antune tune
--device cuda`) include the time between kernels. Outputs are compared with the reference. Needs the extra `peers`, a
GPU and `ncu`; --out receives a JSON line for each pipeline and scheduler.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.script import plain_errors
from experiments.search.parts import PARTS
from experiments.search.places import find_device
from experiments.studies.side_by_side.halide_peer import CHILD, LIMIT_S, aim_of, time_of, write_request
from experiments.studies.side_by_side.peer_rounds import PeerTime
from experiments.studies.side_by_side.pipelines import Pipelines, parse_pipelines
from experiments.suites.image_pipelines import SIZES, SizeName
from experiments.values.options import Budget
from runners.base import DeviceInfo
from runners.locks import timing_lock
from runners.profiling.ncu import TIME, find_ncu, seconds_of


@dataclass(frozen=True, slots=True)
class Kernels:
    """The number of launches and their time in ms, of one run."""

    launches: float
    ms: float


def kernels_of(lines: Iterable[str], runs: int) -> Kernels:
    """Return the launches and time of a run from ncu's table of so many runs."""
    seconds = seconds_of(lines)
    return Kernels(len(seconds) / runs, 1e3 * sum(seconds) / runs)


def answer_in(lines: Iterable[str]) -> dict[str, Any] | None:
    """Return what `halide_child.py` answered, between the lines of ncu; None if nothing."""
    return next((json.loads(line) for line in lines if line.startswith("{")), None)


def measured(name: str, scheduler: str, size: SizeName, device: DeviceInfo) -> tuple[PeerTime, Kernels | None]:
    """Return the wall-clock time under the profiler (which is only of use for errors), and the kernels of a run."""
    setting = Pipelines(size)
    options = setting.run_options(name, "random", Budget(evaluations=1), 0, device.key)
    problem, aim = PARTS.read_problem(options, lambda text: None), aim_of(device.target)
    assert aim is not None, "main has checked the device"
    with tempfile.TemporaryDirectory(prefix="antune-halide-") as folder:
        request = write_request(setting.file(name), options.parameters, problem, aim, Path(folder), 0.0,
                                timing_lock(device.key, device.target))
        command = [str(find_ncu()), "--csv", "--metrics", TIME, "--clock-control", "none", "--cache-control", "none",
                   sys.executable, str(CHILD), str(request), scheduler]
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                                  timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            return PeerTime(scheduler, None, f"more than {LIMIT_S:g} s"), None
        answer = answer_in(done.stdout.splitlines()) or {"failure": done.stderr.strip()[-300:]}
        time = time_of(answer, scheduler, problem, Path(folder))
    return time, kernels_of(done.stdout.splitlines(), answer["runs"]) if time.ms is not None else None


def main() -> None:
    """Measure, and print a line for each."""
    options = argparse.ArgumentParser(prog="python -m experiments.benchmarks.halide_on_gpu")
    options.add_argument("names", nargs="+", metavar="NAME")
    options.add_argument("--size", default="full", choices=SIZES)
    options.add_argument("--device", default="cuda")
    options.add_argument("--out", type=Path, help="a JSON line for each pipeline and scheduler is added to this file")
    given = options.parse_args()
    names, device = parse_pipelines(",".join(given.names)), find_device(given.device)
    aim = aim_of(device.target)
    if aim is None or device.target.capability is None or find_ncu() is None:
        sys.exit(f"{device.name}: this needs a CUDA device and Nsight Compute")
    for name in names:
        for scheduler in aim.schedulers:
            time, kernels = measured(name, scheduler, given.size, device)
            words = f"{kernels.ms:.4g} ms in {kernels.launches:g} kernels" if kernels else time.detail
            print(f"{name}, {scheduler}: {words}", flush=True)
            if given.out:
                row = {"program": name, "size": given.size, "scheduler": scheduler, "device": device.name,
                       "ms": kernels and kernels.ms, "launches": kernels and kernels.launches, "detail": time.detail}
                with given.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    with plain_errors():
        main()
