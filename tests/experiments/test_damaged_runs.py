"""Full disks and damaged files: a message that says what to do, and nothing that was measured is lost."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.files import write_atomically
from experiments.report.page import write_report
from experiments.run import resume, tune
from experiments.search.run_dirs import list_run
from experiments.store import abandon, open_store, read_store, reserve
from experiments.store.errors import database_errors
from experiments.values.options import Budget
from generator.errors import InputError
from generator.problem import Reference, load_reference, save_reference
from tests.support.runs import Log, ToyRunner, toy_options, toy_parts


@pytest.fixture
def run(source: Path, tmp_path: Path) -> Path:
    """A finished run of ten evaluations."""
    directory = tmp_path / "run"
    tune(toy_options(source, 10), directory, Log(), toy_parts(ToyRunner()))
    return directory


def overwrite(name: str, at: int, data: bytes, run: Path) -> None:
    with (run / name).open("r+b") as file:
        file.seek(at)
        file.write(data)


def cut(name: str, size: int, run: Path) -> None:
    with (run / name).open("r+b") as file:
        file.truncate(size)


def change(statement: str, run: Path) -> None:
    with closing(sqlite3.connect(run / "run.sqlite")) as db:
        db.execute(statement)
        db.commit()


DAMAGES: dict[str, Callable[[Path], None]] = {
    "not a database": partial(overwrite, "run.sqlite", 0, b"hello"),
    "cut in half": partial(cut, "run.sqlite", 9000),
    "empty": partial(cut, "run.sqlite", 0),
    "noise inside": partial(overwrite, "run.sqlite", 8192, bytes(range(256)) * 100),
    "unknown outcome": partial(change, "UPDATE outcome SET kind = 'gone' WHERE evaluation = 3"),
    "broken samples": partial(change, "UPDATE outcome SET samples_ms = '[1,' WHERE evaluation = 0"),
    "broken plan": partial(change, "UPDATE evaluation SET plan = '{}' WHERE number = 2"),
    "broken program": partial(change, "UPDATE run SET program = '{}'"),
    "no run": partial(change, "DELETE FROM run"),
    "no session": partial(change, "DELETE FROM session"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_store_is_an_error_for_people(damage: str, run: Path, source: Path) -> None:
    DAMAGES[damage](run)
    with pytest.raises(InputError, match=r"start a new run|lacks the field|another version"):
        resume(run, Budget(evaluations=20), Log(), toy_parts(ToyRunner()))
    with pytest.raises(InputError), read_store(run) as store:
        write_report(store, run)
    assert list_run(run).status.startswith("unreadable: ")
    with pytest.raises(InputError, match=r"choose another.*--out"):
        tune(toy_options(source, 10), run, Log(), toy_parts(ToyRunner()))


@pytest.mark.parametrize("damage", [partial(cut, "reference.npz", 500), partial(cut, "reference.npz", 0),
                                    lambda run: (run / "reference.npz").unlink()])
def test_a_lost_reference_is_an_error_for_people(damage: Callable[[Path], None], run: Path) -> None:
    damage(run)
    with pytest.raises(InputError, match=r"reference.npz cannot be read: .*; start a new run"):
        resume(run, Budget(evaluations=20), Log(), toy_parts(ToyRunner()))


def test_no_changed_byte_of_a_reference_is_more_than_an_unreadable_file(tmp_path: Path) -> None:
    path = tmp_path / "reference.npz"
    values = np.arange(6000.0)  # more than zipfile reads before it compares checksums
    save_reference(Reference({"A": values}, {}, (1.0,), "capture", "cc", ()), path)
    intact = path.read_bytes()
    headers = [at for mark in (b"PK\1\2", b"PK\3\4", b"\x93NUMPY") for at in places(mark, intact)]
    rng = np.random.default_rng(0)
    refused = 0
    for at in (at for header in headers for at in range(header, header + 80)):
        for value in (rng.integers(256), *b"(\x0e"):  # Python that does not end; 14: LZMA
            path.write_bytes(intact[:at] + bytes([value]) + intact[at + 1:])
            try:
                assert (load_reference(path).inputs["A"] == values).all()
            except (OSError, ValueError):
                refused += 1
    assert refused > 300


def places(mark: bytes, data: bytes) -> list[int]:
    return [at for at in range(len(data)) if data.startswith(mark, at)]


@pytest.mark.parametrize("arrays", [{"x": np.arange(3)}, {"meta": np.array("{")}, {"meta": np.array([None])}])
def test_archives_of_something_else_are_no_references(arrays: dict[str, Any], tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", **arrays)
    with pytest.raises(ValueError, match="it holds no reference"):
        load_reference(tmp_path / "other.npz")


def test_a_full_disk_keeps_what_was_measured(run: Path) -> None:
    with open_store(run) as store:
        pages = store._row("PRAGMA page_count")[0]
        store._rows(f"PRAGMA max_page_count = {pages}")  # the closest thing to a full disk
        with pytest.raises(InputError, match=r"disk is full; free disk space .* `antune resume .*run` goes on"):
            for _ in range(1000):
                store.begin_session(Budget(evaluations=12), "1.0")
    assert resume(run, Budget(evaluations=12), Log(), toy_parts(ToyRunner())).summary.evaluations == 12


@pytest.mark.parametrize("size", [0, 50, 9000])
def test_a_store_that_is_cut_off_is_called_damaged(size: int, run: Path) -> None:
    cut("run.sqlite", size, run)
    with pytest.raises(InputError, match=r"run.sqlite is damaged: .*; start a new run") as caught:
        read_store(run).info()
    assert "another version" not in str(caught.value)


@pytest.mark.parametrize(
    ("begun", "remedy"),
    [(False, "free disk space or get access and start again"), (True, r"then `antune resume .*` goes on")],
)
def test_a_full_disk_before_there_is_a_store_is_no_run_to_resume(begun: bool, remedy: str, tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    with (
        pytest.raises(InputError, match=remedy) as caught,
        database_errors(path, begun),
        closing(sqlite3.connect(path)) as db,
    ):
        db.execute("CREATE TABLE a (x)")
        db.execute("PRAGMA max_page_count = 2")
        db.executemany("INSERT INTO a VALUES (?)", [("x" * 4000,)] * 10)
    assert ("resume" in str(caught.value)) == begun


def test_a_run_that_never_began_leaves_nothing(tmp_path: Path) -> None:
    reserved = reserve(tmp_path / "some" / "run", "abc")
    for name in ("new-reference.npz", "new-run.sqlite"):  # the disk was full
        (reserved.directory / name).write_bytes(b"half")
    abandon(reserved)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(OSError, match="taken") as caught:
        write_atomically(tmp_path / "taken", "text")
    assert caught.value.filename == str(tmp_path / "taken")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]
