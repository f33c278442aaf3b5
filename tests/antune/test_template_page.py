"""docs/templates.md: its files are tuned, and its code is that of the files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import antune_command
from tests.support.paths import ROOT

FOLDER = ROOT / "docs" / "templates"


@pytest.mark.parametrize("name", ["vector_add.py", "vector_add.t1.json"])
def test_the_files_of_the_page_are_tuned(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert antune_command(monkeypatch)("tune", FOLDER / name, "--device", "deterministic", "--evaluations", 3,
                                       "--no-picture") == 0


def test_the_page_shows_what_the_files_say() -> None:
    page = (ROOT / "docs" / "templates.md").read_text()
    assert (FOLDER / "vector_add.cl").read_text() in page
    code = (FOLDER / "vector_add.py").read_text()
    assert code[code.index("def build"):] in page
