"""Halide's own autoschedulers on the pipelines of a suite: `antune suite pipelines --peers halide`.

Halide's Python package (the extra `peers`) runs in processes of its own (`halide_child.py`) with the same definitions,
extents and inputs: on a CPU with as many threads as this process has cores, on an NVIDIA GPU through CUDA. Its outputs
are compared with the reference like those of our plans. All times, ours too, are wall-clock times of one run, measured
in turns (`peer_rounds.py`): the sum of kernel times on the device would omit the time between kernels.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from experiments.files import write_atomically
from experiments.studies.side_by_side.peer_rounds import SECONDS, PeerTime, Turn
from generator.errors import InputError
from generator.frontend_py.named_sizes import SIZES
from generator.problem import Problem
from generator.target import Target
from runners.check import compare

HALIDE, OURS = "halide", "antune"
SCHEDULERS, GPU_SCHEDULERS = ("Mullapudi2016", "Adams2019"), ("Li2018", "Anderson2021")
CAPABILITIES = (30, 32, 35, 50, 61, 70, 75, 80, 86)
"""The compute capabilities that Halide 21 knows. Its code is PTX, which the driver compiles for newer GPUs."""
PEERS_FILE = "peers.json"
LIMIT_S, LONG_S = 600.0, 10.0
"""The time limit of an answer of a process, and the time of compiling from which a process is kept for all rounds."""
CHILD = Path(__file__).with_name("halide_child.py")


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


@contextmanager
def halide_turns(file: Path, parameters: Sequence[tuple[str, float]], problem: Problem, target: Target,
                 lock: Path | None = None, seconds: float = SECONDS,
                 limit_s: float = LIMIT_S) -> Iterator[Mapping[str, Turn]]:
    """Yield, by name, what measures the code of Halide's autoschedulers for `problem`, which `file` and `parameters`
    define. Its processes end with the context.

    `lock`: held during runs, so that no other process of antune compiles or measures meanwhile (`runners.locks`).
    `limit_s`: of an answer of a process, in seconds.
    """
    aim = aim_of(target)
    if aim is None:
        yield {"Halide": lambda _: "is measured on CPUs and with CUDA only"}
        return
    with tempfile.TemporaryDirectory(prefix="antune-halide-") as name, ExitStack() as stack:
        request = write_request(file, parameters, problem, aim, Path(name), seconds, lock)
        peers = {f"Halide {one}": _Scheduler(one, request, problem, limit_s) for one in aim.schedulers}
        for peer in peers.values():
            stack.callback(peer.end)
        yield {words: peer.turn for words, peer in peers.items()}


@dataclass(slots=True)
class _Scheduler:
    """Measures the code of a scheduler: each time in a new process, or in the same one if it compiles for long."""

    name: str
    request: Path
    problem: Problem
    limit_s: float
    _child: subprocess.Popen[bytes] | None = None

    def turn(self, number: int) -> float | str:
        """Return the median time of a run in ms, or why there is none."""
        del number
        if self._child is None:
            self._child = self._begun()
        else:
            _ask(self._child)
        answer = self._answer(self._child)
        if answer.get("compile_s", 0.0) < LONG_S:
            self.end()
        time = time_of(answer, self.name, self.problem, self.request.parent)
        return time.detail if time.ms is None else time.ms

    def end(self) -> None:
        """End the process if there is one."""
        if self._child is not None:
            self._child.kill()
            self._child.communicate()
            self._child = None

    def _begun(self) -> subprocess.Popen[bytes]:
        threads = str(len(os.sched_getaffinity(0)))
        with self._errors.open("wb") as errors:
            return subprocess.Popen([sys.executable, str(CHILD), str(self.request), self.name], stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE, stderr=errors,
                                    env={**os.environ, "HL_NUM_THREADS": threads})

    def _answer(self, child: subprocess.Popen[bytes]) -> Mapping[str, Any]:
        assert child.stdout is not None, "it is a pipe"
        if not select.select([child.stdout], [], [], self.limit_s)[0]:
            return {"failure": f"more than {self.limit_s:g} s"}
        if line := child.stdout.readline():
            answer: Mapping[str, Any] = json.loads(line)
            return answer
        last = self._errors.read_text(errors="replace").strip()[-200:]
        return {"failure": f"Halide ended with {child.wait()}: {last}"}

    @property
    def _errors(self) -> Path:
        return self.request.with_name(f"{self.name}.stderr")


def _ask(child: subprocess.Popen[bytes]) -> None:
    """Ask for another round; if the process has ended, reading its answer says so."""
    assert child.stdin is not None, "it is a pipe"
    with suppress(BrokenPipeError):
        child.stdin.write(b"\n")
        child.stdin.flush()


def write_request(file: Path, parameters: Sequence[tuple[str, float]], problem: Problem, aim: Aim, folder: Path,
                  seconds: float = SECONDS, lock: Path | None = None) -> Path:
    """Write the request of a process and its inputs into `folder`, which also receives its outputs. Returns its file.

    `seconds` of runs each time; `lock`: see `runners.locks`.
    """
    outputs = problem.program.outputs
    arrays = {name: np.asarray(problem.reference.inputs[name]) for name in problem.reference.inputs
              if problem.program.array(name).extents}
    np.savez(folder / "inputs.npz", **arrays)  # type: ignore[arg-type]  # numpy takes names of arrays only
    request = {"file": str(file), "function": "build", "target": aim.target,
               "arguments": {key: value for key, value in parameters if key not in SIZES},
               "sizes": list(reversed(outputs[0].extents)), "parallelism": aim.parallelism,
               "lock": str(lock) if lock else None, "seconds": seconds, "inputs": str(folder / "inputs.npz"),
               "outputs": str(folder), "types": [str(problem.reference.outputs[a.name].dtype) for a in outputs]}
    (folder / "request.json").write_text(json.dumps(request))
    return folder / "request.json"


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
        stored = json.loads((folder / PEERS_FILE).read_text(encoding="utf-8"))
        return tuple(PeerTime(**one | {"rounds": tuple(one.get("rounds", ()))}) for one in stored)
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise InputError(f"{folder / PEERS_FILE} cannot be read: {error}; remove it") from None
