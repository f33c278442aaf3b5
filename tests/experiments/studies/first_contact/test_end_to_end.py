"""`antune suite first-contact` over a double of CUDA's driver, on a machine that has only the packages which are
carried there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.cuda_double import UNUSABLE, pretended
from tests.support.paths import ROOT

pytestmark = pytest.mark.skipif(UNUSABLE is not None, reason=str(UNUSABLE))
ABSENT = """
import functools
import importlib.machinery as machinery
plain = machinery.PathFinder.find_spec
def find_spec(name, path=None, target=None):
    absent = name.partition(".")[0] in {"sklearn", "matplotlib", "plotly", "pyopencl"}
    return None if absent else plain(name, path, target)
machinery.PathFinder.find_spec = functools.partial(find_spec)  # pytest makes it a method of its own otherwise
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Processes that start from now on find the double, and none of what is not carried."""
    with pretended(tmp_path_factory.mktemp("driver")) as folder:
        hook = folder / "hooks" / "sitecustomize.py"
        hook.write_text(hook.read_text() + ABSENT)
        yield folder


def first_contact(out: Path, *words: str) -> tuple[int, str]:
    done = subprocess.run([sys.executable, "-m", "antune", "suite", "first-contact", "--out", str(out), *words],
                          capture_output=True, text=True, check=False, cwd=ROOT, env=os.environ)
    return done.returncode, done.stdout + done.stderr


def told(out: Path, name: str) -> Any:
    return json.loads((out / f"{name}.json").read_text())


def with_a_peer(folder: Path) -> tuple[str, ...]:
    """The words of a small visit, and a program of others that takes half a millisecond."""
    peers = folder / "peers"
    peers.mkdir()
    (peers / "vendor").write_text("#!/bin/sh\necho gemm 0.5\n")
    (peers / "vendor").chmod(0o755)
    return ("--minutes", "8", "--programs", "mvt", "--pipelines", "blur", "--size", "mini", "--evaluations", "1",
            "--plans", "2", "--peers", str(peers))


def test_a_small_one(driver: Path, tmp_path: Path) -> None:
    """The device is found, a program of others run; the next call has nothing left to do."""
    words, out = (*with_a_peer(tmp_path), "--steps", "devices,peers"), tmp_path / "contact"
    code, output = first_contact(out, *words)
    assert code == 0, output
    assert told(out, "devices")["result"][0]["key"] == "cuda/host-double"
    assert told(out, "peers")["result"][0]["milliseconds"] == 0.5
    again, output = first_contact(out, *words)
    assert again == 0 and "at most" not in output, "nothing is run again"


@pytest.mark.slow
def test_a_search(driver: Path, tmp_path: Path) -> None:
    """A program searched, plans of it checked, a program of others run; the next call has nothing left to do."""
    words, out = (*with_a_peer(tmp_path), "--steps", "devices,polybench,peers"), tmp_path / "contact"
    code, output = first_contact(out, *words)
    assert code == 0, output
    assert told(out, "polybench")["state"] == "done", told(out, "polybench")["output"]
    assert "mvt" in (out / "polybench.md").read_text() and "colony" in (out / "polybench.md").read_text()
    again, output = first_contact(out, *words)
    assert again == 0 and "at most" not in output, "nothing is run again"


@pytest.mark.slow
def test_a_long_one(driver: Path, tmp_path: Path) -> None:
    """All steps with three programs, in two visits: the first one is too short for everything."""
    words = ("--programs", "gemm,mvt,jacobi-2d", "--pipelines", "blur", "--size", "mini", "--pipeline-size", "small",
             "--evaluations", "2", "--plans", "3")
    code, output = first_contact(tmp_path, "--minutes", "4", *words)
    assert code == 0, output
    code, output = first_contact(tmp_path, "--minutes", "40", *words)
    assert code == 0, output
    states = {row["step"]: row["state"] for row in json.loads((tmp_path / "summary.json").read_text())}
    assert {states[name] for name in ("devices", "polybench", "pipelines", "plans")} == {"done"}, states
    assert states["tests-2"] == "done" and states["tests-3"] in ("done", "failed"), states
    assert {states["tests-1"], states["ceilings"]} <= {"done", "failed", "not finished"}, "they take the host long"
    others = {state for name, state in states.items() if name.startswith("profile-")}
    assert others and others <= {"cannot be run", "failed"}, states
    exported = told(tmp_path, "tests-3")
    assert exported["state"] == "done" or "CUDA error 36" in exported["output"], "NVIDIA's runtime refuses it"
    tests = told(tmp_path, "tests-1")["result"]
    assert {case["state"] for case in tests} >= {"passed"}, "some know that this is no GPU"
    checked = told(tmp_path, "plans")["result"]
    assert [row["program"] for row in checked] == ["gemm", "mvt", "jacobi-2d", "blur"]
    faults = [fault for row in checked for fault in row["faults"]]
    assert all(row["right"] >= 2 for row in checked), checked
    assert all(fault.startswith("TimedOut: ") for fault in faults), "a busy host's only; no result is wrong"
