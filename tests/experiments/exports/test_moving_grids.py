"""Exports of kernels whose launches have different blocks."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from experiments.exports.kinds import Kind
from generator.plan import KernelPlan, Plan
from generator.schedules.hyperplanes import Hyperplanes
from tests.support.cuda_runtime import build_on_host
from tests.support.exports import AGREES, exported, ran, suite_run
from tests.support.hyperplanes import SEIDEL_TILES
from tests.support.slow import in_turn
from tests.support.targets import CUDA


def in_wavefronts(plan: Plan) -> Plan:
    """Tiles of a wavefront, one per thread."""
    nest = replace(SEIDEL_TILES, wavefront=(2, 4, 4))
    return replace(plan, schedule=Hyperplanes((nest,)), kernels=(KernelPlan(("S0",), (2, 2), (2, 2)),))


@in_turn
def test_an_export_launches_the_blocks_with_work(tmp_path: Path) -> None:
    folder = exported(suite_run(tmp_path / "run", "seidel-2d", in_wavefronts, target=CUDA), Kind.cuda, tmp_path / "out")
    text = (folder / "kernel_seidel_2d.cu").read_text()
    assert "if (antune_grid[0] > 0 && antune_grid[1] > 0 && antune_grid[2] > 0) {" in text
    build_on_host(folder)
    done = ran(folder, os.environ, "./selfcheck")
    assert done.returncode == 0 and AGREES in done.stdout, done.stdout + done.stderr


@in_turn
def test_an_export_to_opencl_does(tmp_path: Path, pocl: dict[str, str]) -> None:
    run = suite_run(tmp_path / "run", "seidel-2d", in_wavefronts)
    done = ran(exported(run, Kind.opencl, tmp_path / "out"), pocl, "make", "check")
    assert done.returncode == 0 and AGREES in done.stdout, done.stdout + done.stderr
