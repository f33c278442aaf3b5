"""The database of wisdom: what is kept, under which name, by many processes, and what is damaged or foreign."""

from __future__ import annotations

import json
import multiprocessing
import sqlite3
import tempfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.wisdom.database import Wisdom
from experiments.wisdom.entry import Entry, distance, known_by
from experiments.wisdom.exchange import export_wisdom, import_wisdom
from experiments.wisdom.place import wisdom_file
from experiments.wisdom.recall import recalled
from generator.errors import InputError
from generator.plan import KernelPlan, Plan
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from tests.support.programs import program_of, scop
from tests.support.runs import DEVICE

SISTER = replace(DEVICE, name="Sister device")
GPU = replace(DEVICE, name="GPU", target=replace(DEVICE.target, shares_host_cores=False))


def scale(n: int, factor: int = 2) -> Program:
    """`A[i] = factor * x[i]` for `n` elements."""
    return program_of(scop(f"for (int i = 0; i < {n}; i++) A[i] = {factor} * x[i];",
                           f"double A[{n}], x[{n}];"))


SMALL, NEAR, LARGE = scale(16), scale(32), scale(512)


def plan(unroll: int) -> Plan:
    return Plan(ScheduleChoice(), (KernelPlan(("S0",), (32,), (16,), unroll=unroll),))


def entry(program: Program = SMALL, ms: float = 1.0, unroll: int = 1, device: str = "Toy device",
          driver: str = "1.0", own: bool = True, host: bool = True) -> Entry:
    return Entry(known_by(program), device, "Toy platform", "opencl", host, driver, plan(unroll), ms, 2.0, "2026-11-25",
                 own)


@pytest.fixture
def wisdom(tmp_path: Path) -> Wisdom:
    return Wisdom(tmp_path / "deep" / "wisdom.sqlite")


def test_a_program_is_known_wherever_its_file_lies_and_its_family_at_any_size() -> None:
    elsewhere = replace(SMALL, file="/other/name.c", name="other",
                        statements=tuple(replace(one, line=99) for one in SMALL.statements))
    assert known_by(elsewhere).identity == known_by(SMALL).identity != known_by(NEAR).identity
    assert known_by(NEAR).family == known_by(SMALL).family
    assert distance(known_by(SMALL), known_by(LARGE)) == 5
    assert distance(known_by(SMALL), known_by(NEAR)) == 1
    floats = replace(SMALL, arrays=tuple(replace(array, type="float") for array in SMALL.arrays))
    assert known_by(floats).family != known_by(SMALL).family and distance(known_by(floats), known_by(SMALL)) is None


@settings(max_examples=15)
@given(st.lists(st.tuples(st.integers(1, 9), st.booleans(), st.sampled_from(["1.0", "2.0"])), min_size=1, max_size=8))
def test_the_best_is_kept_and_the_users_own_goes_first(given: list[tuple[int, bool, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "wisdom.sqlite"
        known: Entry | None = None
        for ms, own, driver in given:
            new = entry(ms=float(ms), own=own, driver=driver)
            Wisdom(path).keep([new])
            if known is None or (own, True) > (known.own, ms >= known.ms and driver == known.driver):
                known = new
        assert Wisdom(path).entries() == (known,)


def test_plans_come_from_near_sizes_first_then_from_sister_devices(wisdom: Wisdom) -> None:
    wisdom.keep([entry(LARGE, unroll=1), entry(NEAR, unroll=2), entry(SMALL, unroll=3, device="Sister device"),
                 entry(NEAR, unroll=4, device="GPU", host=False), entry(scale(16, 3), unroll=5)])
    assert [one.plan.kernels[0].unroll for one in recalled(wisdom, known_by(SMALL), DEVICE)] == [5, 2, 1, 3], (
        "the program with another number is of the family: it may be a size")
    assert [one.plan.kernels[0].unroll for one in recalled(wisdom, known_by(SMALL), SISTER)] == [3, 5, 2, 1]
    assert [one.plan.kernels[0].unroll for one in recalled(wisdom, known_by(SMALL), GPU)] == [4]
    found = wisdom.of(known_by(NEAR), DEVICE)
    assert found is not None and found.plan == plan(2) and wisdom.of(known_by(NEAR), SISTER) is None
    wisdom.keep([entry(NEAR, ms=0.5, unroll=2)])
    wisdom.forget([found])
    better = wisdom.of(known_by(NEAR), DEVICE)
    assert better is not None and better.ms == 0.5, "it was not what was to be forgotten"
    wisdom.forget([better])
    assert wisdom.of(known_by(NEAR), DEVICE) is None and len(wisdom.entries()) == 4


def write(path: Path, first: int) -> None:
    for number in range(8):
        Wisdom(path).keep([entry(scale(16 + 8 * first + number)), entry(LARGE, ms=1.0 + number + first)])


def test_processes_write_at_the_same_time(wisdom: Wisdom) -> None:
    context = multiprocessing.get_context("fork")  # the module is not imported again
    writers = [context.Process(target=write, args=(wisdom.path, first)) for first in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    assert len(wisdom.entries()) == 25 and wisdom.of(known_by(LARGE), DEVICE) == entry(LARGE, ms=1.0)


def test_it_travels_as_json_and_never_replaces_what_was_measured(wisdom: Wisdom, tmp_path: Path) -> None:
    wisdom.keep([entry(SMALL, ms=3.0), entry(NEAR)])
    export_wisdom(wisdom.entries(), tmp_path / "w.json")
    taken = import_wisdom(tmp_path / "w.json")
    assert {replace(one, own=True) for one in taken} == set(wisdom.entries()) and not any(one.own for one in taken)
    other = Wisdom(tmp_path / "other.sqlite")
    other.keep([entry(SMALL, ms=9.0, unroll=8)])
    assert other.keep(taken) == 1
    assert {(one.ms, one.own) for one in other.entries()} == {(9.0, True), (1.0, False)}


@pytest.mark.parametrize(("change", "message"), [
    (lambda row: row.update(ms=-1), "plan 2: it cannot be read: ValueError: -1 is not a time"),
    (lambda row: row.update(ms=float("inf")), "inf is not a time"),
    (lambda row: row.update(extents=[0]), "0 is not a size"),
    (lambda row: row.update(sizes=[["n", float("inf")]]), "inf is not a size"),
    (lambda row: row.update(sizes=[["n", 2.5]]), "2.5 is not a size"), (lambda row: row.update(sizes=[3]), "plan 2: "),
    (lambda row: row.pop("plan"), "plan 2: "), (lambda row: row["plan"].update(kernels=3), "plan 2: "),
    (lambda row: row.update(dialect="basic"), "there is no language 'basic'"),
    (lambda row: row.update(own=1, more=2), "other fields"), (lambda row: row.update(name=["x"]), "a short text")])
def test_a_wrong_file_is_one_sentence_and_nothing_is_taken(change: object, message: str, tmp_path: Path) -> None:
    path = tmp_path / "w.json"
    export_wisdom([entry(SMALL), entry(NEAR)], path)
    data = json.loads(path.read_text())
    change(data["plans"][1])  # type: ignore[operator]  # a function of the table above
    path.write_text(json.dumps(data))
    with pytest.raises(InputError, match=message):
        import_wisdom(path)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": "antune wisdom 1"}', "[" * 100_000, "\udcff"])
def test_what_is_no_wisdom_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "w.json").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(InputError, match=r"w.json is not .*; give a file that `antune wisdom export` wrote"):
        import_wisdom(tmp_path / "w.json")


def test_names_that_are_no_text_are_kept_with_escapes(wisdom: Wisdom, tmp_path: Path) -> None:
    odd = replace(known_by(SMALL), name="blur\udcff")
    wisdom.keep([replace(entry(SMALL), subject=odd)])
    (found,) = wisdom.entries()
    assert found.subject.name == "blur\\udcff" and wisdom.of(known_by(SMALL), DEVICE) == found
    export_wisdom([replace(entry(SMALL), subject=odd)], tmp_path / "w.json")
    assert import_wisdom(tmp_path / "w.json")[0].subject.name == "blur\\udcff"


def test_an_empty_file_has_no_entries_and_takes_them(wisdom: Wisdom) -> None:
    wisdom.path.parent.mkdir()
    wisdom.path.touch()
    assert wisdom.entries() == ()
    assert wisdom.keep([entry()]) == 1 and len(wisdom.entries()) == 1


def damage(path: Path, script: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)


@pytest.mark.parametrize(("script", "message"), [
    ("UPDATE plan SET plan = '{}'", "is damaged"), ("UPDATE plan SET ms = 'fast'", "is damaged"),
    ("UPDATE plan SET extents = '[1, ' ", "is damaged"), ("CREATE TABLE more (x)", "other tables"),
    ("CREATE TRIGGER t AFTER INSERT ON plan BEGIN DELETE FROM plan; END", "other tables"),
    ("PRAGMA user_version = 9", "another version"), ("DROP TABLE plan", "is damaged: it is empty")])
def test_a_damaged_database_is_one_sentence(script: str, message: str, wisdom: Wisdom) -> None:
    wisdom.keep([entry()])
    damage(wisdom.path, script)
    with pytest.raises(InputError, match=message) as caught:
        wisdom.entries()
    assert "\n" not in str(caught.value) and str(wisdom.path) in str(caught.value)


def test_bytes_that_are_no_database_and_places_that_cannot_be_written(wisdom: Wisdom, tmp_path: Path) -> None:
    wisdom.path.parent.mkdir()
    wisdom.path.write_bytes(b"no database at all" * 100)
    for act in (wisdom.entries, lambda: wisdom.keep([entry()])):
        with pytest.raises(InputError, match="is damaged: file is not a database; move the file away"):
            act()
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="name another file with"):
        Wisdom(tmp_path / "file" / "wisdom.sqlite").keep([entry()])
    for path in (tmp_path / "file" / "wisdom.sqlite", tmp_path / ("x" * 300)):
        with pytest.raises(InputError, match=r"cannot be read: .*; get access, or name another file with"):
            Wisdom(path).entries()


def test_where_it_lies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert wisdom_file() is None, "tests leave the user's own alone"
    monkeypatch.delenv("ANTUNE_WISDOM")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert wisdom_file() == tmp_path / "antune" / "wisdom.sqlite"
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", "/home/ada")
    assert wisdom_file() == Path("/home/ada/.local/share/antune/wisdom.sqlite")
    monkeypatch.setenv("ANTUNE_WISDOM", "mine.sqlite")
    assert wisdom_file() == Path("mine.sqlite").absolute()
