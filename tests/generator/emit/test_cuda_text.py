"""CUDA text from the same kernel IR compiles without warnings, where nvcc is installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import get_args

import pytest

from experiments.values.options import LevelName
from generator.lowering import lower
from generator.lowering.heuristics.default import default_plan
from tests.support.slow import few
from tests.support.space_plans import lowered, random_plans
from tests.support.suite import ALL_NAMES, ODD_SIZES, polybench_program
from tests.support.targets import CUDA


def sources(name: str) -> list[str]:
    """The default plan and random ones of every level, as CUDA."""
    program = polybench_program(name, ODD_SIZES[name])
    texts = [lower(program, default_plan(program, CUDA), CUDA).source]
    for level in get_args(LevelName):
        variants = [lowered(program, plan, CUDA) for plan in random_plans(program, CUDA, level, 3, 5)]
        texts += [variant.source for variant in variants if variant is not None]
    return texts


@pytest.mark.slow  # NVRTC takes the same text: see tests/runners/cuda/test_architectures.py
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
@pytest.mark.parametrize("name", few(ALL_NAMES, ("gemm",)))
@pytest.mark.parametrize("arch", few(["90", "75"], 1))
def test_nvcc_accepts_the_text(name: str, arch: str, tmp_path: Path) -> None:
    offered = subprocess.run(["nvcc", "--list-gpu-arch"], capture_output=True, text=True, check=True).stdout
    if f"compute_{arch}" not in offered:
        pytest.skip(f"this nvcc cannot compile for sm_{arch}")
    for number, text in enumerate(sources(name)):
        file = tmp_path / f"{name}{number}.cu"
        file.write_text(text)
        result = subprocess.run(
            [
                "nvcc",
                f"-arch=sm_{arch}",
                "-Werror",
                "all-warnings",
                "-cubin",
                "-o",
                str(file.with_suffix(".cubin")),
                str(file),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result.stderr
        assert not result.stderr.strip()
