"""Antune beside other users and other processes of antune: whose folder the locks are in."""

from __future__ import annotations

import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from runners.locks import exclusive, lock_path
from runners.waiting import waits_told


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
def test_who_takes_its_name_gets_no_locks(
    what: str, shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "theirs").mkdir()
    if what == "file":
        shared.write_text("")
    else:
        shared.symlink_to(tmp_path / ("theirs" if what == "link" else "nowhere"))
    path = lock_path("host-cores")
    assert path == tmp_path / "cache" / "antune" / "locks" / "host-cores.lock"
    assert "is not a private folder of yours, so locks are kept in" in capsys.readouterr().err
    with exclusive(path):
        assert not any((tmp_path / "theirs").iterdir())


TAKE = (
    "import fcntl, sys, time; f = open(sys.argv[1], 'w'); fcntl.flock(f, fcntl.LOCK_EX); print(flush=True); "
    "time.sleep(float(sys.argv[2]))"
)
AS_ANOTHER = "import subprocess, sys; subprocess.run([sys.executable, '-c', *sys.argv[1:]])"


def test_who_waits_for_others_is_told(tmp_path: Path) -> None:
    lock, said = tmp_path / "lock", list[str]()
    with subprocess.Popen([sys.executable, "-c", AS_ANOTHER, TAKE, str(lock), "4"], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()  # its worker has the lock
        with (
            waits_told(lock, said.append),
            subprocess.Popen([sys.executable, "-c", TAKE, str(lock), "0"], stdout=subprocess.DEVNULL) as waiter,
        ):
            began_s = time.monotonic()
            while not said and time.monotonic() - began_s < 30:
                time.sleep(0.1)
            waiter.wait()
    assert said == [f"waiting for process {other.pid}, which measures on this machine; times are taken alone"]


def test_who_works_alone_is_told_nothing(tmp_path: Path) -> None:
    lock, said = tmp_path / "lock", list[str]()
    with (
        waits_told(lock, said.append),
        subprocess.Popen([sys.executable, "-c", TAKE, str(lock), "3"], stdout=subprocess.DEVNULL) as own,
    ):
        own.wait()
    assert said == []
