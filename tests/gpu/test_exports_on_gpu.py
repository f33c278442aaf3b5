"""CUDA exports on a real GPU: they are built by make, and their self-checks agree."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.exports.kinds import Kind
from generator.errors import AntuneError
from generator.plan import Plan
from runners.base import DeviceInfo
from runners.devices import find_device
from tests.support import exports as support
from tests.support.exports import AGREES, exported, placed, ran, suite_run

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def device() -> DeviceInfo:
    if shutil.which("nvcc") is None:
        pytest.skip("nvcc is not installed")
    try:
        return find_device("cuda")
    except AntuneError as error:
        pytest.skip(str(error))


def cached(plan: Plan) -> Plan:
    return replace(plan, kernels=tuple(replace(k, shared=True, cache="shared") for k in plan.kernels))


@pytest.mark.parametrize(("name", "change"), [
    ("gemm", None), ("jacobi-2d", None), ("2mm", placed("constant", "A")), ("gemm", placed("texture", "A", "B")),
    ("atax", placed("texture", "x")), ("gemm", cached)])
def test_a_cuda_export_agrees(name: str, change: support.Change | None, device: DeviceInfo, tmp_path: Path) -> None:
    changes = () if change is None else (change,)
    run = suite_run(tmp_path / "run", name, *changes, target=device.target)
    done = ran(exported(run, Kind.cuda, tmp_path / "export"), os.environ, "make", "check")
    assert done.returncode == 0 and AGREES in done.stdout, done.stdout + done.stderr
