"""The time of an element of each stage on a device (`stage_probes`), measured once per stage, device and driver."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from experiments.ceilings.measure import no_metrics
from experiments.ceilings.stage_probes import (
    ROW,
    LowerStage,
    Unmeasurable,
    probe_kernel,
    probe_plan,
    probe_problem,
    rounds,
)
from experiments.files import write_atomically
from generator.dataflow import Node
from generator.errors import InputError
from generator.polyhedral.pipelines.dataflow import dataflow
from generator.program import Program
from generator.user_cache import user_cache
from metrics.outcome import Timed
from runners.base import DeviceInfo, Job, Limits
from runners.pool_runner import DeviceRunner

LIMITS = Limits(compile_s=30.0, run_s=10.0, half_width=0.05, time_s=0.1, give_up=2.0)
Times: TypeAlias = Mapping[str, float]
"""Nanoseconds per element in one thread, by the digest of the stage (`generator.dataflow.Node.digest`)."""
Note: TypeAlias = Callable[[str], None]


def stage_times(program: Program, device: DeviceInfo, workdir: Path, note: Note) -> dict[str, float]:
    """Return the times of all stages of `program` that can be measured, in nanoseconds; `note` receives messages on the
    others.

    Only stages never measured on this device are measured, for about half a second each; times are kept in the user's
    cache.
    """
    known = _kept(device)
    nodes = {node.digest: node for node in dataflow(program).nodes if node.digest}
    missing = [node for digest, node in nodes.items() if digest not in known]
    if missing:
        found = _measured(program, missing, device, workdir, note)
        if found:
            known = {**_kept(device), **found}
            _keep(device, known)
    return {digest: known[digest] for digest in nodes if digest in known}


def _measured(program: Program, nodes: Sequence[Node], device: DeviceInfo, workdir: Path, note: Note) -> Times:
    wanted = []
    for node in nodes:
        try:
            if probe_kernel(program, node.array).local_bytes > device.target.local_bytes:
                raise Unmeasurable("what it reads does not fit into shared memory")
            wanted.append(node)
        except Unmeasurable as error:
            note(f"{program.name}: `{node.array}` is estimated, not measured: {error.reason}")
    lower = LowerStage(program)
    runner = DeviceRunner(probe_problem(), device, LIMITS, workdir, lower=lower, rate=no_metrics)
    found = {}
    try:
        for number, outcome in runner.evaluate([Job(k, probe_plan(node.array)) for k, node in enumerate(wanted)]):
            node = wanted[number]
            if isinstance(outcome, Timed):
                found[node.digest] = outcome.low_ms * 1e6 / (ROW * rounds(node.arithmetic))
            else:
                note(f"{program.name}: `{node.array}` is estimated, not measured: {outcome.message}")
    finally:
        runner.close()
    return found


def _file(device: DeviceInfo) -> Path:
    return user_cache() / "stages" / (re.sub(r"[^\w.-]+", "-", device.key) + ".json")


def _kept(device: DeviceInfo) -> dict[str, float]:
    """Return the stored times of the device with its current driver; empty if the file is damaged."""
    try:
        found = json.loads(_file(device).read_text(encoding="utf-8"))
        times = {str(digest): float(ns) for digest, ns in found["stages"].items()}
        return times if found["driver"] == device.driver else {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _keep(device: DeviceInfo, times: Times) -> None:
    """Store the times. Raises InputError if the file cannot be written."""
    file = _file(device)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, json.dumps({"driver": device.driver, "stages": dict(sorted(times.items()))}) + "\n")
    except OSError as error:
        raise InputError(
            f"{file} cannot be written: {error.strerror}; set XDG_CACHE_HOME to a folder that can"
        ) from None
