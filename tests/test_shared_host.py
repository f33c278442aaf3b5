"""Antune beside other users and other processes of antune: whose folder the locks are in."""

from __future__ import annotations

import stat
import tempfile
from pathlib import Path

import pytest

from runners.locks import exclusive, lock_path


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for locks in the temporary folder that all users of a host share."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = lock_path("any").parent
    folder.rmdir()
    return folder


def test_the_folder_belongs_to_the_user_alone(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert lock_path("any").parent == shared
    assert stat.S_IMODE(shared.stat().st_mode) == 0o700
    shared.chmod(0o777)
    assert lock_path("any").parent == shared and stat.S_IMODE(shared.stat().st_mode) == 0o700
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("what", ["link", "link to nowhere", "file"])
def test_who_takes_its_name_gets_no_locks(what: str, shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "theirs").mkdir()
    if what == "file":
        shared.write_text("")
    else:
        shared.symlink_to(tmp_path / ("theirs" if what == "link" else "nowhere"))
    path = lock_path("host-cores")
    assert path == tmp_path / "cache" / "antune" / "locks" / "host-cores.lock"
    assert "is not a folder of yours alone, so locks are kept in" in capsys.readouterr().err
    with exclusive(path):
        assert not any((tmp_path / "theirs").iterdir())
