"""A file is expanded once while nothing changes that the compiler reads, and again as soon as something does."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from generator.frontend_c.preprocess import find_compiler, preprocess
from generator.frontend_c.source import Compilation
from tests.support.programs import write_c

MAIN = '#include "size.h"\nint a[SIZE];\n'


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file to which the compiler adds a line whenever it runs."""
    said, compiler = tmp_path / "runs", tmp_path / "counted-cc"
    compiler.write_text(f'#!/bin/sh\necho >> {said}\nexec {find_compiler()} "$@"\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    return said


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a program in a folder of its own, beside a header that was written long ago."""
    folder = tmp_path / "program"
    folder.mkdir()
    (folder / "late").mkdir()
    _header(folder / "late", 10)
    return write_c(MAIN, folder)


def _header(folder: Path, size: int) -> None:
    write_c(f"#define SIZE {size}\n", folder, "size.h")
    os.utime(folder / "size.h", ns=(0, 10**9 * size))


def _size(file: Path, *cflags: str) -> str:
    text = preprocess(file, Compilation(("early", "late"), (), cflags)).text
    return text.partition("[")[2].partition("]")[0]


def _count(runs: Path) -> int:
    return len(runs.read_text())


@pytest.fixture(autouse=True)
def _inside(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)


def test_the_compiler_runs_once(file: Path, runs: Path) -> None:
    assert [_size(file), _size(file), _size(file)] == ["10"] * 3
    assert preprocess(file, Compilation(("early", "late")), whole=True).text.endswith("int a[10];\n")
    assert _count(runs) == 1


def test_the_file_changes(file: Path, runs: Path) -> None:
    state = file.stat()
    assert _size(file) == "10"
    file.write_text(MAIN.replace("SIZE", "999"))
    assert _size(file) == "999"
    file.write_text(MAIN.replace("SIZE", "1234"))  # of the same size and time as in the beginning
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert _size(file) == "1234"
    assert _count(runs) == 3


def test_an_included_file_changes(file: Path, runs: Path) -> None:
    assert _size(file) == "10"
    _header(file.parent / "late", 20)
    assert _size(file) == _size(file) == "20"
    assert _count(runs) == 2


def test_a_file_included_when_just_written_is_not_trusted(file: Path, runs: Path) -> None:
    """It may be written again within the same tick of the file system's clock."""
    now = time.time_ns()
    header = write_c("#define SIZE 30\n", file.parent / "late", "size.h")
    os.utime(header, ns=(now, now + 10**10))
    assert _size(file) == "30"
    header.write_text("#define SIZE 40\n")
    os.utime(header, ns=(now, now + 10**10))
    assert _size(file) == "40"
    assert _count(runs) == 2


def test_another_file_is_found_first(file: Path, runs: Path) -> None:
    assert _size(file) == "10"
    (file.parent / "early").mkdir()
    assert _size(file) == "10"
    _header(file.parent / "early", 50)
    assert _size(file) == "50"
    _header(file.parent, 60)
    assert _size(file) == "60"
    (file.parent / "size.h").unlink()
    assert _size(file) == "50"
    assert _count(runs) == 5


def test_the_environment_changes(file: Path, runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (file.parent / "late" / "size.h").rename(file.parent / "other.h")
    file.write_text("#include <other.h>\nint a[SIZE];\n")
    monkeypatch.setenv("CPATH", str(file.parent))
    assert _size(file) == "10"
    other = file.parent / "others"
    other.mkdir()
    write_c("#define SIZE 70\n", other, "other.h")
    monkeypatch.setenv("CPATH", str(other))
    assert _size(file) == "70"
    assert _count(runs) == 2


def test_another_file_is_found_first_in_a_subfolder(file: Path, runs: Path) -> None:
    file.write_text('#include "sub/size.h"\nint a[SIZE];\n')
    for folder in ("early/sub", "late/sub"):
        (file.parent / folder).mkdir(parents=True)
    _header(file.parent / "late" / "sub", 10)
    os.utime(file.parent / "late" / "sub", ns=(0, 10**9))
    os.utime(file.parent / "early" / "sub", ns=(0, 10**9))
    assert _size(file) == _size(file) == "10"
    _header(file.parent / "early" / "sub", 50)
    assert _size(file) == "50"
    assert _count(runs) == 2


def test_another_file_is_found_first_beside_an_included_one(file: Path, runs: Path) -> None:
    file.write_text('#include "sub/all.h"\nint a[SIZE];\n')
    (file.parent / "sub").mkdir()
    os.utime(write_c('#include "size.h"\n', file.parent / "sub", "all.h"), ns=(0, 10**9))
    os.utime(file.parent / "sub", ns=(0, 10**9))
    assert _size(file) == _size(file) == "10"
    _header(file.parent / "sub", 50)
    assert _size(file) == "50"
    assert _count(runs) == 2


def test_another_file_is_found_first_in_a_folder_of_the_environment(
    file: Path, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text("#include <other.h>\nint a[SIZE];\n")
    for name in ("first", "second"):
        (file.parent / name).mkdir()
    (file.parent / "late" / "size.h").rename(file.parent / "second" / "other.h")
    monkeypatch.setenv("CPATH", os.pathsep.join(str(file.parent / name) for name in ("first", "second")))
    assert _size(file) == _size(file) == "10"
    os.utime(write_c("#define SIZE 70\n", file.parent / "first", "other.h"), ns=(0, 10**9))
    assert _size(file) == "70"
    assert _count(runs) == 2


def test_options_with_files_of_their_own(file: Path, runs: Path) -> None:
    """Nothing in the text shows that the compiler has read them."""
    macros = write_c("#define WIDTH 80\n", file.parent, "width.h")
    file.write_text("int a[WIDTH];\n")
    assert _size(file, "-imacros", "width.h") == "80"
    state = macros.stat()
    macros.write_text("#define WIDTH 90\n")
    os.utime(macros, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert _size(file, "-imacros", "width.h") == "90"
    assert _count(runs) == 2
