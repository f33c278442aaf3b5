"""Small recorded files for tests, and the place of large ones, which may be missing."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from explorer.unseen import UnseenWalks
from generator.plan import Plan
from graph.policies import first
from graph.space import Decision, Option, Space
from graph.walk import Walk
from tests.support.paths import ROOT

SPACES = Path(os.environ.get("ANTUNE_RECORDED_SPACES", ROOT.parent / "shared" / "data" / "spaces"))
KEYS = ("block", "tile", "mode")
VALUES: Mapping[str, list[Any]] = {"block": [8, 16, 32], "tile": [1, 2, 4], "mode": ["a", "b"]}


def recorded_space(name: str) -> Path:
    """Return a file of the public hub; skip the test if it is missing."""
    path = SPACES / name
    if not path.exists():
        pytest.skip(f"{path} is absent; ANTUNE_RECORDED_SPACES names a directory with recorded spaces")
    return path


def entry(block: int, tile: int, mode: str) -> dict[str, Any]:
    """Return an invented measurement; block 32 with tile 4 does not compile, mode b with tile 1 does not run."""
    values = {"block": block, "tile": tile, "mode": mode}
    spent = {"compile_time": 1000.0, "verification_time": 20, "benchmark_time": 50.0, "strategy_time": 0,
             "framework_time": 5.0}
    if (block, tile) == (32, 4):
        return values | {"time": "CompilationFailedConfig"} | spent
    if (mode, tile) == ("b", 1):
        return values | {"time": "RuntimeFailedConfig"} | spent
    ms = 1.0 + abs(block - 16) / 8 + abs(tile - 2) + (mode == "b") / 4
    return values | {"time": ms, "times": [1.2 * ms, ms, 0.9 * ms, 0.9 * ms]} | spent


def cache() -> dict[str, Any]:
    """Return the contents of a Kernel Tuner cache file; block 8 with tile 4 is not a legal configuration."""
    entries = {f"{b},{t},{m}": entry(b, t, m) for b, t, m in product(*VALUES.values()) if (b, t) != (8, 4)}
    return {"device_name": "Pretended GPU", "kernel_name": "toy", "problem_size": [64, 64], "objective": "time",
            "tune_params_keys": list(KEYS), "tune_params": VALUES, "cache": entries}


def t4() -> dict[str, Any]:
    """Return the same measurements in the T4 format."""
    words = {"CompilationFailedConfig": "compile", "RuntimeFailedConfig": "runtime"}
    results = []
    for one in cache()["cache"].values():
        times = {"compilation": one["compile_time"], "framework": one["framework_time"], "search_algorithm": 0,
                 "validation": one["verification_time"], "runtimes": one.get("times", [])}
        results.append({"configuration": {key: one[key] for key in KEYS}, "times": times,
                        "invalidity": words.get(one["time"], "correct"),
                        "measurements": [{"name": "time", "value": one["time"], "unit": ""}]})
    return {"metadata": {"timeunit": "miliseconds"}, "results": results, "schema_version": "1.0.0"}


def t1() -> dict[str, Any]:
    """Return the T1 description of the space of `cache`."""
    parameters = [{"Name": key, "Type": "int", "Values": str(values)} for key, values in VALUES.items()]
    conditions = [{"Expression": "block > 8 or tile < 4", "Parameters": ["block", "tile"]}]
    return {"General": {"BenchmarkName": "toy"},
            "ConfigurationSpace": {"TuningParameters": parameters, "Conditions": conditions}}


def write(path: Path, data: object, change: Callable[[str], str] = str) -> Path:
    """Write JSON, gzipped if the name ends in .gz; `change` may damage its text."""
    text = change(json.dumps(data)).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


class _Odometer:
    """A Chooser that takes the options at `digits`, then first ones."""

    def __init__(self, digits: list[int]) -> None:
        self.digits, self.sizes = digits, list[int]()

    def choose(self, decision: Decision, options: Sequence[Option]) -> Option:
        self.sizes.append(len(options))
        if len(self.sizes) > len(self.digits):
            self.digits.append(0)
        return options[self.digits[len(self.sizes) - 1]]


def all_plans(space: Space) -> list[Plan]:
    """Return the plans of all combinations of answers, for a space without dead ends."""
    plans, digits = [], list[int]()
    while True:
        odometer = _Odometer(digits)
        plans.append(space(odometer))
        while digits and digits[-1] + 1 == odometer.sizes[len(digits) - 1]:
            digits.pop()
        if not digits:
            return plans
        digits[-1] += 1


def all_walks(space: Space) -> list[Walk]:
    """Return every walk of a space through the optimization graph, each Plan once."""
    unseen, walks = UnseenWalks(space), []
    while (walk := unseen.draw(first)) is not None:
        walks.append(walk)
    return walks
