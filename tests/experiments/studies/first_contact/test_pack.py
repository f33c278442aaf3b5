"""What is carried to a machine without a network."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from experiments.studies.first_contact import pack
from experiments.studies.first_contact.steps import ROOT, TESTS
from generator.errors import InputError
from tests.support.slow import in_turn


@in_turn
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this is no checkout")
def test_the_sources_come_with_the_tests_of_a_gpu(tmp_path: Path) -> None:
    pack.sources(ROOT, tmp_path / "antune.tar.gz")
    with tarfile.open(tmp_path / "antune.tar.gz") as archive:
        names = set(archive.getnames())
    assert {*TESTS, "antune/__main__.py", "experiments/suites/polybench/gemm.c", "tests/support/runners.py"} <= names
    assert not any(name.startswith((".venv", ".git/")) for name in names)
    assert [path.name for path in tmp_path.iterdir()] == ["antune.tar.gz"]


def test_the_script_is_one_that_a_shell_takes() -> None:
    subprocess.run(["sh", "-n", str(pack.BEGIN)], check=True)


def packed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", ["pack", str(folder)])
    with pytest.raises(SystemExit) as end:
        pack.main()
    assert isinstance(end.value.code, int)
    return end.value.code


def test_outside_a_checkout_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                       capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(pack, "ROOT", tmp_path)
    assert packed(tmp_path / "kit", monkeypatch) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("pack: the sources cannot be packed: ") and "clone" in line
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)  # a checkout of something else around it
    assert packed(tmp_path / "kit", monkeypatch) == 2
    monkeypatch.setenv("PATH", "")
    assert packed(tmp_path / "kit", monkeypatch) == 2
    (tmp_path / "file").touch()
    assert packed(tmp_path / "file" / "kit", monkeypatch) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith(f"pack: {tmp_path}/file/kit cannot be written: ")


def test_without_a_network_it_says_so_and_keeps_earlier_wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pip")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    (wheels / "old.whl").touch()
    with pytest.raises(InputError, match=r"needs a network and wheels .* for Python 3\.11; it says: ERROR"):
        pack.download(wheels, ("islpy",), "3.11", ())
    assert [path.name for path in tmp_path.rglob("*")] == ["wheels", "old.whl"]
