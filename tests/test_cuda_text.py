"""CUDA text from the same kernel IR compiles without warnings, where nvcc is installed."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from generator.lowering import lower
from generator.lowering.default import default_plan
from generator.plan import Plan
from tests.support_suite import NAMES, ODD_SIZES, TARGET, problem

CUDA = replace(TARGET, dialect="cuda")


def sources(name: str) -> list[str]:
    """The default plan and an unshared, unrolled one with several points per thread, as CUDA."""
    program = problem(name, ODD_SIZES[name]).program
    plan = default_plan(program, CUDA)
    other = Plan(plan.schedule, tuple(replace(k, shared=False, inner_tile=1, unroll=4, tile=tuple(64 for _ in k.tile),
                                              block=tuple(16 for _ in k.block)) for k in plan.kernels))
    return [lower(program, p, CUDA).source for p in (plan, other)]


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
@pytest.mark.parametrize("name", [*NAMES[:1], *(pytest.param(n, marks=pytest.mark.slow) for n in NAMES[1:])])
@pytest.mark.parametrize("arch", ["75", "90"])
def test_nvcc_accepts_the_text(name: str, arch: str, tmp_path: Path) -> None:
    offered = subprocess.run(["nvcc", "--list-gpu-arch"], capture_output=True, text=True, check=True).stdout
    if f"compute_{arch}" not in offered:
        pytest.skip(f"this nvcc cannot compile for sm_{arch}")
    for number, text in enumerate(sources(name)):
        file = tmp_path / f"{name}{number}.cu"
        file.write_text(text)
        result = subprocess.run(["nvcc", f"-arch=sm_{arch}", "-Werror", "all-warnings", "-cubin", "-o",
                                 str(file.with_suffix(".cubin")), str(file)], capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
        assert not result.stderr.strip()
