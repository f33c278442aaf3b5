"""The same device through two platforms, from tuning to the table: doubles of CUDA's and HIP's drivers, which name it
alike.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cuda_double import UNUSABLE, build_driver, pretended
from tests.support.paths import ROOT, SUITES

pytestmark = [pytest.mark.slow, pytest.mark.skipif(UNUSABLE is not None, reason=str(UNUSABLE))]


def antune(*words: str) -> None:
    done = subprocess.run([sys.executable, "-m", "antune", *words], capture_output=True, text=True, check=False,
                          cwd=ROOT, env=os.environ)
    assert done.returncode == 0, done.stderr


def test_runs_of_both_are_in_one_table(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    with pretended(tmp_path_factory.mktemp("drivers")) as folder:
        build_driver(folder, "libamdhip64.so")
        for device in ("cuda", "hip"):
            antune("tune", str(SUITES / "polybench" / "mvt.c"), "-D", "MINI_DATASET", "--evaluations", "1", "--device",
                   device, "--out", str(tmp_path / device))
    antune("compare", str(tmp_path / "cuda"), str(tmp_path / "hip"), "--json", str(tmp_path / "compared.json"))
    (section,) = json.loads((tmp_path / "compared.json").read_text())["sections"]
    assert section["device"] == "Host Double" and " and " in section["driver"]
    assert [group["label"].rpartition(", ")[2] for group in section["groups"]] == ["CUDA", "HIP"]
    assert len(section["tests"]) == 1
