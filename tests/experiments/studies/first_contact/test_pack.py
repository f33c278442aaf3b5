"""What is carried to a machine without a network."""

from __future__ import annotations

import subprocess
import tarfile
from pathlib import Path

import pytest

from experiments.studies.first_contact.pack import BEGIN, sources
from experiments.studies.first_contact.steps import ROOT, TESTS
from tests.support.slow import in_turn


@in_turn
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this is no checkout")
def test_the_sources_come_with_the_tests_of_a_gpu(tmp_path: Path) -> None:
    sources(ROOT, tmp_path / "antune.tar.gz")
    with tarfile.open(tmp_path / "antune.tar.gz") as archive:
        names = set(archive.getnames())
    assert {*TESTS, "antune/__main__.py", "experiments/suites/polybench/gemm.c", "tests/support/runners.py"} <= names
    assert not any(name.startswith((".venv", ".git/")) for name in names)


def test_the_script_is_one_that_a_shell_takes(tmp_path: Path) -> None:
    script = tmp_path / "begin.sh"
    script.write_text(BEGIN.format(packages="'islpy' 'cuda-bindings>=13.0'"))
    subprocess.run(["sh", "-n", str(script)], check=True)
    assert "'cuda-bindings>=13.0'" in script.read_text() and "{" not in script.read_text().replace("|| {", "")
