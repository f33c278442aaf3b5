"""Measured plans are there again, whatever became of them; a file belongs to one device."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.learning.collect import problem_of, random_origin, range_of
from experiments.learning.database import Database, MeasuredPlan, device_of
from experiments.learning.series import Origin, Series, program_digest
from generator.errors import InputError
from generator.plan import KernelPlan, Plan
from generator.problem import program_of
from generator.schedules.stages import Stages
from tests.support.spaces import failed, timed

ORIGIN = Origin("a.py", (("height", 8), ("width", 4)))
SERIES = Series(ORIGIN, "program", "environment")
OTHERS = (replace(SERIES, origin=random_origin(4)), replace(SERIES, program="edited"),
          replace(SERIES, environment="another driver"))


def plan(tile: int) -> Plan:
    return Plan(Stages((("gray", "inline"),)), (KernelPlan(("S0",), (tile,), (1,)),))


def test_what_was_measured_is_there_again(tmp_path: Path) -> None:
    file = tmp_path / "plans.db"
    with closing(Database(file, "cpu", "A CPU")) as base:
        base.add(SERIES, 0, plan(8), timed(2.5, {("S0",): 2.0}), False)
        base.add(SERIES, 1, plan(16), failed())
        base.add(SERIES, 1, plan(16), failed())
        for other in OTHERS:
            base.add(other, 0, plan(8), timed(1.0))
    with closing(Database(file, "cpu", "A CPU")) as base:
        assert (base.count(), base.count(SERIES)) == (5, 2)
        assert base.digests(SERIES) == {plan(8).digest, plan(16).digest}
        assert set(base.series()) == {SERIES, *OTHERS}
        assert list(base.plans(SERIES)) == [
            MeasuredPlan(ORIGIN, 0, plan(8), "Timed", 2.5, ((("S0",), 2.0),), False),
            MeasuredPlan(ORIGIN, 1, plan(16), "Illegal", None, ()),
        ]
        assert [[one.ms for one in base.plans(other)] for other in OTHERS] == [[1.0]] * 3
    assert device_of(file) == ("cpu", "A CPU")


def test_files_of_other_devices_and_other_files_are_refused(tmp_path: Path) -> None:
    file, text = tmp_path / "plans.db", tmp_path / "notes.txt"
    Database(file, "cpu", "A CPU").close()
    text.write_text("no database " * 100)
    with pytest.raises(InputError, match="plans of A CPU"):
        Database(file, "gpu", "A GPU")
    for ask in (lambda: Database(text, "cpu", "A CPU"), lambda: device_of(text)):
        with pytest.raises(InputError, match="not a database of measured plans"):
            ask()
    with pytest.raises(InputError, match="does not exist"):
        device_of(tmp_path / "nothing")


def version_2(file: Path, has_column: bool = False) -> None:
    """Make a file of version 2, with the column `guided` where antune ended before it stored that it is version 3."""
    with closing(Database(file, "cpu", "A CPU")) as base:
        base.add(SERIES, 0, plan(8), timed(2.5))
    with closing(sqlite3.connect(file)) as raw, raw:
        if not has_column:
            raw.execute("ALTER TABLE plans DROP COLUMN guided")
        raw.execute("PRAGMA user_version = 2")


@pytest.mark.parametrize("has_column", [False, True])
def test_plans_of_version_2_may_be_random_or_guided(has_column: bool, tmp_path: Path) -> None:
    file = tmp_path / "plans.db"
    version_2(file, has_column)
    assert device_of(file) == ("cpu", "A CPU")
    for _ in range(2):
        with closing(Database(file, "cpu", "A CPU")) as base:
            base.add(SERIES, 0, plan(16), timed(3.5), True)
            assert {one.ms: one.guided for one in base.plans(SERIES)} == {2.5: None, 3.5: True}


def test_a_file_of_version_2_becomes_one_of_version_3_wholly_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, connect = tmp_path / "plans.db", sqlite3.connect
    version_2(file)

    def without_new_version(action: int, name: str | None, value: str | None, *_: str | None) -> int:
        stored = action == sqlite3.SQLITE_PRAGMA and name == "user_version" and value is not None
        return sqlite3.SQLITE_DENY if stored else sqlite3.SQLITE_OK

    def guarded(file: Path, timeout: float) -> sqlite3.Connection:
        base = connect(file, timeout=timeout)
        base.set_authorizer(without_new_version)
        return base

    with monkeypatch.context() as patch, pytest.raises(InputError, match="not authorized"):
        patch.setattr(sqlite3, "connect", guarded)
        Database(file, "cpu", "A CPU")
    with closing(connect(file)) as raw:
        assert raw.execute("PRAGMA user_version").fetchone() == (2,)
        assert "guided" not in [name for _, name, *_ in raw.execute("PRAGMA table_info(plans)")]
    with closing(Database(file, "cpu", "A CPU")) as base:
        assert [one.guided for one in base.plans(SERIES)] == [None]


def test_files_of_older_versions_say_not_what_their_times_are_of(tmp_path: Path) -> None:
    file = tmp_path / "plans.db"
    with closing(sqlite3.connect(file)) as base, base:
        base.execute("CREATE TABLE device (key TEXT PRIMARY KEY, name TEXT NOT NULL)")
        base.execute("INSERT INTO device VALUES ('cpu', 'A CPU')")
        base.execute("CREATE TABLE plans (source TEXT, parameters TEXT, round INTEGER, digest TEXT, plan TEXT)")
    before = file.read_bytes()
    for ask in (lambda: Database(file, "cpu", "A CPU"), lambda: device_of(file)):
        with pytest.raises(InputError, match=r"another version of antune.*name another file"):
            ask()
    assert file.read_bytes() == before


def test_an_edited_program_is_another_wherever_it_lies(tmp_path: Path) -> None:
    text = ("from antune import halide as hl\n\n\ndef build():\n    x, f = hl.Var('x'), hl.Func('f')\n"
            "    image = hl.ImageParam(hl.Float(32), 1, 'image')\n    f[x] = image[x] * FACTOR\n    return f\n")
    digests = []
    for folder, factor in (("one", "2.0"), ("two", "2.0"), ("three", "3.0")):
        (tmp_path / folder).mkdir()
        file = tmp_path / folder / "a.py"
        file.write_text(text.replace("FACTOR", factor))
        digests.append(program_digest(program_of(problem_of(Origin(str(file), (("width", 64),))).subject)))
    assert digests[0] == digests[1] != digests[2]


def test_seeds_are_a_range() -> None:
    assert list(range_of("3-5")) == [3, 4, 5]
    with pytest.raises(InputError, match="--seeds five"):
        range_of("five")
