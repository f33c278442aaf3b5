"""Exports to HIP: compiled by hipcc where it is installed, and run with the host's compilers."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.exports.kinds import Kind
from generator.plan import Plan
from tests.support import exports as support
from tests.support.cuda_runtime import build_on_host
from tests.support.exports import AGREES, GPU, exported, placed, suite_run
from tests.support.slow import few, in_turn

HIP = replace(GPU, dialect="hip", sub_group=32, local_bytes=64 * 1024, architecture="gfx1030")


def without_shared(plan: Plan) -> Plan:
    return replace(plan, kernels=tuple(replace(k, shared=False) for k in plan.kernels))


@in_turn
@pytest.mark.parametrize(
    ("name", "change"),
    few([("jacobi-2d", without_shared), ("gemm", placed("texture", "A", "B")), ("gemm", placed("constant", "A", "B"))],
        1),
)
def test_a_hip_export_agrees_on_a_pretended_device(name: str, change: support.Change, tmp_path: Path) -> None:
    folder = exported(
        suite_run(tmp_path / "run", name, lambda plan: change(without_shared(plan)), target=HIP),
        Kind.hip,
        tmp_path / "export",
        1,
    )
    build_on_host(folder, "hip")
    done = subprocess.run("./selfcheck", cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and AGREES in done.stdout, done.stdout + done.stderr
    assert "has not run on an AMD GPU yet" in " ".join(
        (folder / f"kernel_{name.replace('-', '_')}.h").read_text().replace("*", " ").split()
    )


@pytest.mark.parametrize(("name", "changes"), [
    ("gemm", (placed("texture", "A", "B"),)), pytest.param("2mm", (placed("constant", "A"),), marks=pytest.mark.slow)])
def test_a_hip_export_compiles(name: str, changes: tuple[support.Change, ...], tmp_path: Path) -> None:
    if shutil.which("hipcc") is None:
        pytest.skip("hipcc is not installed (Debian: hipcc)")
    folder = exported(
        suite_run(tmp_path / "run", name, *changes, target=HIP), Kind.hip, tmp_path / "export", len(changes)
    )
    done = subprocess.run(["make"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (folder / "selfcheck").exists()
