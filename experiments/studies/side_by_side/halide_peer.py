"""Halide's own autoschedulers on the pipelines of a suite: `antune suite pipelines --peers halide`.

Halide's Python package (the extra `peers`) runs in a process of its own (`halide_child.py`) with the same definitions,
extents and inputs: on a CPU with as many threads as this process has cores, on an NVIDIA GPU through CUDA. Its outputs
are compared with the reference like those of our plans. All times, ours too, are wall-clock times of one run, measured
within the same minute: the sum of kernel times on the device would omit the time between kernels.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.files import write_atomically
from generator.errors import InputError
from generator.frontend_py.load import SIZES
from generator.problem import Problem
from generator.target import Target
from runners.check import compare

if TYPE_CHECKING:
    from experiments.studies.side_by_side.entries import Entry

HALIDE, OURS = "halide", "antune"
SCHEDULERS, GPU_SCHEDULERS = ("Mullapudi2016", "Adams2019"), ("Li2018", "Anderson2021")
CAPABILITIES = (30, 32, 35, 50, 61, 70, 75, 80, 86)
"""The compute capabilities that Halide 21 knows. Its code is PTX, which the driver compiles for newer GPUs."""
PEERS_FILE = "peers.json"
SECONDS, LIMIT_S = 2.0, 600.0
"""The run time of a scheduler's code, and the time limit of the whole process, in seconds."""
CHILD = Path(__file__).with_name("halide_child.py")


@dataclass(frozen=True, slots=True)
class PeerTime:
    """The median wall-clock time of a run in ms; None if there is none, and `detail` then says why."""

    name: str
    ms: float | None
    detail: str = ""


def check_peers(names: Sequence[str]) -> None:
    """Raise InputError if a peer is unknown or its package is missing."""
    for name in names:
        if name != HALIDE:
            raise InputError(f"--peers {name!r} is none of the peers; use {HALIDE}")
    if names and find_spec(HALIDE) is None:
        raise InputError('--peers halide needs Halide\'s Python package: pip install -e ".[peers]"')


@dataclass(frozen=True, slots=True)
class Aim:
    """What Halide compiles for: its name of the target, the schedulers, and their parameter `parallelism`."""

    target: str
    schedulers: tuple[str, ...]
    parallelism: int


def aim_of(target: Target) -> Aim | None:
    """Return what Halide has for our `target`: CPUs, and GPUs with CUDA; None for others."""
    if target.shares_host_cores:
        return Aim("host", SCHEDULERS, len(os.sched_getaffinity(0)))
    if target.capability is None:  # of CUDA
        return None
    major, minor = target.capability
    known = max((one for one in CAPABILITIES if one <= 10 * major + minor), default=CAPABILITIES[0])
    return Aim(f"host-cuda-cuda_capability_{known}", GPU_SCHEDULERS, target.compute_units)


def halide_times(file: Path, parameters: Sequence[tuple[str, int]], problem: Problem,
                 target: Target, lock: Path | None = None) -> tuple[PeerTime, ...]:
    """Return the times of the code of Halide's autoschedulers for `problem`, which `file` and `parameters` define.

    `lock`: held during runs, so that no other process of antune compiles or measures meanwhile (`runners.locks`).
    """
    aim = aim_of(target)
    if aim is None:
        return (PeerTime("Halide", None, "is measured on CPUs and with CUDA only"),)
    with tempfile.TemporaryDirectory(prefix="antune-halide-") as name:
        request = write_request(file, parameters, problem, aim, Path(name), lock=lock)
        answers = _answers(request, aim.schedulers)
        return tuple(time_of(answers[one], one, problem, Path(name))
                     for one in aim.schedulers)


def write_request(file: Path, parameters: Sequence[tuple[str, int]], problem: Problem, aim: Aim, folder: Path,
                  seconds: float = SECONDS, lock: Path | None = None) -> Path:
    """Write the request of a process and its inputs into `folder`, which also receives its answers. Returns its file.

    `seconds` of runs per scheduler; `lock`: see `runners.locks`.
    """
    outputs = problem.program.outputs
    arrays = {name: np.asarray(problem.reference.inputs[name]) for name in problem.reference.inputs
              if problem.program.array(name).extents}
    np.savez(folder / "inputs.npz", **arrays)  # type: ignore[arg-type]  # numpy takes names of arrays only
    request = {"file": str(file), "function": "build", "schedulers": aim.schedulers, "target": aim.target,
               "arguments": {key: value for key, value in parameters if key not in SIZES},
               "sizes": list(reversed(outputs[0].extents)), "parallelism": aim.parallelism,
               "lock": str(lock) if lock else None, "seconds": seconds, "inputs": str(folder / "inputs.npz"),
               "outputs": str(folder), "types": [str(problem.reference.outputs[a.name].dtype) for a in outputs]}
    (folder / "request.json").write_text(json.dumps(request))
    return folder / "request.json"


def _answers(request: Path, schedulers: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
    """Return the process's answers by scheduler; schedulers that it did not reach have a reason."""
    threads = str(len(os.sched_getaffinity(0)))
    try:
        done = subprocess.run([sys.executable, str(CHILD), str(request)], capture_output=True, text=True, check=False,
                              timeout=LIMIT_S, env={**os.environ, "HL_NUM_THREADS": threads})
        fault = f"Halide ended with {done.returncode}: {done.stderr.strip()[-200:]}"
    except subprocess.TimeoutExpired:
        fault = f"more than {LIMIT_S:g} s"
    told = request.with_name("answers")
    lines = told.read_text().splitlines() if told.exists() else []
    found = {answer["scheduler"]: answer for answer in map(json.loads, lines)}
    return {name: found.get(name, {"failure": fault}) for name in schedulers}


def time_of(answer: Mapping[str, Any], scheduler: str, problem: Problem, folder: Path) -> PeerTime:
    """Return the time of a scheduler if its outputs are correct."""
    name = f"Halide {scheduler}"
    if "failure" in answer:
        return PeerTime(name, None, answer["failure"])
    with np.load(folder / f"{scheduler}.npz") as made:
        got = {array.name: made[f"arr_{number}"] for number, array in enumerate(problem.program.outputs)}
    wrong = compare(problem.program, problem.reference.outputs, got, None, problem.reference.rounding)
    return PeerTime(name, None, f"wrong result: {wrong}") if wrong else PeerTime(name, answer["ms"])


def write_peers(times: Sequence[PeerTime], folder: Path) -> None:
    """Store the times next to an entry."""
    write_atomically(folder / PEERS_FILE, json.dumps([asdict(time) for time in times], indent=2) + "\n")


def read_peers(folder: Path) -> tuple[PeerTime, ...]:
    """Return the stored times; empty if there are none. Raises InputError if the file is damaged."""
    try:
        return tuple(PeerTime(**one) for one in json.loads((folder / PEERS_FILE).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"{folder / PEERS_FILE} cannot be read: {error}; remove it") from None


def beside(entry: Entry, folder: Path) -> Entry:
    """Return `entry`, stored in `folder`, with the peers' times stored there."""
    return replace(entry, peers=read_peers(folder))
