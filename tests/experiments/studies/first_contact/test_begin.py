"""The script that begins on a machine without a network: interrupted anywhere, and with newer files copied over it.

The kits have an antune and a package of a few lines, so that only the script takes time.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path

import pytest

from experiments.studies.first_contact.pack import BEGIN
from tests.support.slow import in_turn

VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
BASE = Path(sys.base_prefix) / "bin" / f"python{VERSION}"
HAS_PIP = BASE.exists() and subprocess.run([BASE, "-c", "import pip"], capture_output=True, check=False).returncode == 0
pytestmark = pytest.mark.skipif(not HAS_PIP, reason=f"{BASE} has no pip")
QUICK = f"""#!/bin/sh
# environments share the pip of this Python, because installing one takes seconds
if [ "${{2:-}}" = venv ]; then shift 2; exec {BASE} -m venv --without-pip "$@"; fi
exec {BASE} "$@"
"""
ENTRY = "import sys, part\nprint('antune {}, part', part.VERSION, *sys.argv[1:])\n"


def put_archive(kit: Path, version: int) -> None:
    entry = kit / "__main__.py"
    entry.write_text(ENTRY.format(version))
    with tarfile.open(kit / "antune.tar.gz", "w:gz") as archive:
        archive.add(entry, "antune/__main__.py")
    entry.unlink()


def put_wheel(kit: Path, version: int, python: str = VERSION) -> None:
    wheels, name = kit / "wheels", f"part-{version}.0.dist-info"
    wheels.mkdir(exist_ok=True)
    (wheels / "packages.txt").write_text(f"# Python {python}\npart\n")
    with zipfile.ZipFile(wheels / f"part-{version}.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("part.py", f"VERSION = {version}\n")
        wheel.writestr(f"{name}/METADATA", f"Metadata-Version: 2.1\nName: part\nVersion: {version}.0\n")
        wheel.writestr(f"{name}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{name}/RECORD", "")


@pytest.fixture
def kit(tmp_path: Path) -> Path:
    folder = tmp_path / "a kit"
    folder.mkdir()
    (tmp_path / "quick-python").write_text(QUICK)
    (tmp_path / "quick-python").chmod(0o755)
    shutil.copyfile(BEGIN, folder / "begin.sh")
    put_archive(folder, 1)
    put_wheel(folder, 1)
    return folder


def started(kit: Path, python: str = "quick-python") -> subprocess.Popen[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PIP_"))}
    return subprocess.Popen(["sh", str(kit / "begin.sh"), "--minutes", "1"], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, start_new_session=True,
                            env=environment | {"PYTHON": str(kit.parent / python)})


def begun(kit: Path, python: str = "quick-python") -> tuple[int, str, str]:
    """The exit code, the last line of output and that of errors."""
    child = started(kit, python)
    out, err = child.communicate()
    return child.returncode, out.strip().rpartition("\n")[2], err.strip().rpartition("\n")[2]


def right(kit: Path, antune: int = 1, part: int = 1) -> tuple[int, str, str]:
    return 0, f"antune {antune}, part {part} suite first-contact --out {kit}/contact --minutes 1", ""


def test_what_was_left_incomplete_is_made_anew_and_what_is_complete_is_kept(kit: Path) -> None:
    for folder in ("antune.part/antune", "antune/antune", "venv/bin"):
        (kit / folder).mkdir(parents=True)
    (kit / "antune" / "antune" / "__init__.py").touch()  # an unpacking that was interrupted
    (kit / "venv" / "bin" / "python").symlink_to(BASE)  # no packages, and no pip
    assert begun(kit) == right(kit)
    marks = [kit / folder / "mark" for folder in ("antune", "venv")]
    for mark in marks:
        mark.touch()
    assert begun(kit) == right(kit) and all(mark.exists() for mark in marks)
    (kit / "venv" / ".made").unlink()  # interrupted while packages were installed
    (kit / "venv" / "bin" / "pip").write_text("broken")
    assert begun(kit) == right(kit) and [mark.exists() for mark in marks] == [True, False]


@in_turn
def test_newer_files_are_used(kit: Path) -> None:
    assert begun(kit) == right(kit)
    put_archive(kit, 2)
    assert begun(kit) == right(kit, antune=2)
    put_wheel(kit, 2)  # beside the old one, as copying over a folder does
    child = started(kit)
    out, _ = child.communicate()
    assert "several versions of these, and the newest is installed: part" in out
    assert out.splitlines()[-1] == right(kit, antune=2, part=2)[1]
    (kit / "wheels" / "part-2.0-py3-none-any.whl").unlink()
    assert begun(kit) == right(kit, antune=2), "older wheels alone are used, too"


@in_turn
def test_a_damaged_copy_is_never_the_old_one(kit: Path) -> None:
    assert begun(kit) == right(kit)
    archive, wheel = kit / "antune.tar.gz", kit / "wheels" / "part-1.0-py3-none-any.whl"
    whole = archive.read_bytes()
    archive.write_bytes(whole[: len(whole) // 2])
    assert begun(kit) == (2, "", "begin.sh: antune.tar.gz is damaged; copy it again")
    archive.unlink()
    assert begun(kit) == (2, "", "begin.sh: antune.tar.gz cannot be read; copy it again")
    archive.write_bytes(whole)
    wheel.write_bytes(wheel.read_bytes()[:100])
    code, out, err = begun(kit)
    assert (code, out) == (2, "") and err.startswith("begin.sh: packages cannot be installed (see above)")
    put_wheel(kit, 1)
    assert begun(kit) == right(kit)


def test_another_python_than_the_one_of_the_wheels_is_named(kit: Path) -> None:
    put_wheel(kit, 1, "3.1")
    code, out, err = begun(kit)
    assert (code, out) == (2, "")
    assert err.startswith("begin.sh: the wheels are for Python 3.1, and ") and err.endswith(f"--python {VERSION}")
    code, out, err = begun(kit, "nothing")
    assert code == 2 and "nothing cannot be run; install Python 3.1" in err


@in_turn
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_killed_at_any_moment_it_continues(kit: Path, how: signal.Signals) -> None:
    """Each call gets a little more time than the last, until one ends: through unpacking, venv and pip."""
    limit_s, killed = 0.05, 0
    while True:
        child = started(kit)
        end = time.monotonic() + limit_s
        while child.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
        if child.poll() is not None:
            break
        os.killpg(child.pid, how)
        child.communicate()
        killed, limit_s = killed + 1, limit_s * 1.6
    out, err = child.communicate()
    assert (child.returncode, out.strip(), err) == right(kit) and killed >= 3, (killed, err)


@pytest.mark.slow
def test_with_an_environment_of_its_own_pip(kit: Path) -> None:
    (kit.parent / "plain-python").symlink_to(BASE)
    assert begun(kit, "plain-python") == right(kit)
