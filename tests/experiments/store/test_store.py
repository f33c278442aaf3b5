"""The store keeps what it is given, exactly, for one writer at a time."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.store import Store, abandon, create_store, is_busy, is_run, open_store, read_store, reserve
from experiments.values.options import Budget
from experiments.values.outcome_rows import kind_of, outcome_to_row, row_to_outcome
from experiments.values.program_json import from_json, to_json
from experiments.values.records import Evaluation, RunInfo
from generator.errors import InputError
from generator.expr import Call, Cast, Int, Load, Name, Real, Select, Unary
from generator.program import Access, Program
from metrics.outcome import (
    CompileFailed,
    Crashed,
    Durations,
    Illegal,
    KernelTime,
    LaunchFailed,
    Outcome,
    Timed,
    TimedOut,
    WrongResult,
)
from tests.support.paths import ROOT
from tests.support.runs import DEFAULT, PROGRAM, REFERENCE, toy_info

SPENT = Durations(0.1, 0.2, 0.3, 1 / 3)
METRICS = (("store_efficiency", 1 / 3), ("occupancy", 0.1))  # not sorted: the order is kept, too
OUTCOMES: tuple[Outcome, ...] = (
    Timed(1 / 3, 0.3, 0.4, (1 / 3, 0.1), 0.5, (KernelTime(("S0", "S1"), 0.2, METRICS), KernelTime((), 0.1)), "ab", True,
          SPENT),
    Illegal("breaks S0 -> S1", SPENT), CompileFailed("no\nway", SPENT), LaunchFailed("out of resources", SPENT),
    TimedOut("compile", 60.0, SPENT), Crashed("check", "signal 11", SPENT), WrongResult("A[0]", SPENT))


def new_store(directory: Path, info: RunInfo | None = None) -> Store:
    return create_store(reserve(directory, "abc"), info or toy_info(), REFERENCE, "1.0")


@pytest.mark.parametrize("outcome", OUTCOMES, ids=kind_of)
def test_every_kind_of_outcome_survives_the_store(outcome: Outcome, tmp_path: Path) -> None:
    with new_store(tmp_path / "run") as store:
        store.add_batch(0, 1, [Evaluation(0, 0, 0, DEFAULT, "[]")])
        store.add_result(0, outcome, 1.5)
    with read_store(tmp_path / "run") as store:
        (result,) = store.results()
        assert (result.outcome, result.evaluation.plan, store.elapsed_s()) == (outcome, DEFAULT, 1.5)


@given(st.floats(allow_nan=False, allow_infinity=False), st.lists(st.floats(allow_nan=False)), st.text(), st.booleans(),
       st.dictionaries(st.text(), st.floats(0, 1)))
def test_times_and_metrics_are_kept_to_the_last_bit(ms: float, samples: list[float], code: str, early: bool,
                                                    metrics: dict[str, float]) -> None:
    kernel = KernelTime(("S0",), ms, tuple(metrics.items()))
    timed = Timed(ms, ms, ms, tuple(samples), ms, (kernel,), code, early, SPENT)
    full = dict.fromkeys(("message", "phase", "limit_s")) | outcome_to_row(timed)
    assert row_to_outcome(full) == timed


def test_runs_of_versions_without_metrics_still_open(tmp_path: Path) -> None:
    with new_store(tmp_path / "run") as store:
        store.add_batch(0, 1, [Evaluation(0, 0, 0, DEFAULT, "[]")])
        store.add_result(0, OUTCOMES[0], 1.5)
    with sqlite3.connect(tmp_path / "run" / "run.sqlite") as db:
        db.execute("UPDATE outcome SET kernels = ?", ('[[["S0", "S1"], 0.2], [[], 0.1]]',))
    with open_store(tmp_path / "run") as store:
        (result,) = store.results()
    assert isinstance(result.outcome, Timed)
    assert result.outcome.kernels == (KernelTime(("S0", "S1"), 0.2), KernelTime((), 0.1))


def test_facts_and_reference_come_back_equal(tmp_path: Path) -> None:
    info = toy_info()
    with new_store(tmp_path / "run", info) as store:
        assert store.info() == info
        reference = store.reference()
    assert reference.sequential_ms == REFERENCE.sequential_ms
    assert {name: value.tolist() for name, value in reference.outputs.items()} == {"A": [7.0] * 8}


def test_program_with_every_kind_of_expression_round_trips() -> None:
    body = Select(Unary("!", Name("i")), Call("sqrt", (Cast("double", Int(2)),)), Load("A", (Int(0),), 0))
    statement = PROGRAM.statements[0]
    read, write = Access("A", "{ S0[i] -> A[0] }", "read"), Access("A", "{ S0[i] -> A[0] }", "write")
    odd = Program(
        "odd",
        "é.c",
        PROGRAM.arrays,
        (
            type(statement)(
                "S0", ("i",), "{ S0[i] }", type(statement.body)(Load("A", (Int(0),), 1), "", body), (read, write), "", 1
            ),
            type(statement)(
                "S1", (), "{ S1[] }", type(statement.body)(Load("A", (Int(0),), 0), "", Real("0.2f")), (write,), "", 2
            ),
        ),
        "",
        (),
        (),
    )
    for program in (PROGRAM, odd):
        text = to_json(program)
        assert hash(program) and to_json(program) == text  # what a program remembers of itself is not stored
        again = from_json(text, Program)
        assert again == program
        assert again.digest == program.digest


def test_json_of_an_unknown_type_is_refused_with_a_remedy() -> None:
    with pytest.raises(InputError, match="start a new run"):
        from_json('{"is": "os.system"}', Program)
    with pytest.raises(InputError, match="found int"):
        from_json("3", Program)


def test_asked_but_unfinished_evaluations_are_known(tmp_path: Path) -> None:
    batch = [Evaluation(n, 1, n - 1, DEFAULT, "[]") for n in (1, 2, 3)]
    with new_store(tmp_path / "run") as store:
        store.add_batch(1, 5, batch)
        store.add_result(2, OUTCOMES[1], 1.0)
    with open_store(tmp_path / "run") as store:
        assert store.batch(1) == tuple(batch)
        assert (store.asked(1), store.asked(2), store.iterations()) == (5, None, 1)
        assert [r.evaluation.number for r in store.results()] == [2]


def test_sessions_record_budget_and_ending(tmp_path: Path) -> None:
    with new_store(tmp_path / "run") as store:
        assert store.ending() is None
        store.end_session("interrupted")
        assert store.ending() == "interrupted"
        store.begin_session(Budget(minutes=2.0), "1.1")
        assert (store.ending(), store.budget()) == (None, Budget(minutes=2.0))
        assert store.environment().cpus > 0


def test_a_second_writer_gets_a_clear_error_and_readers_do_not(tmp_path: Path) -> None:
    directory = tmp_path / "run"
    with new_store(directory):
        assert is_busy(directory)
        with pytest.raises(InputError, match=r"in use by another antune \(process \d+\)"):
            open_store(directory)
        with read_store(directory) as reader:
            assert reader.results() == ()
    assert not is_busy(directory)
    open_store(directory).close()


def test_a_reader_sees_the_run_of_one_moment(tmp_path: Path) -> None:
    """A page about a run that goes on reads results, then their walks: they have to belong together."""
    with new_store(tmp_path / "run") as store:
        store.add_batch(1, 5, [Evaluation(n, 1, n - 1, DEFAULT, "[]") for n in (1, 2)])
        store.add_result(1, OUTCOMES[1], 1.0)
        with read_store(tmp_path / "run") as reader:
            store.add_result(2, OUTCOMES[1], 2.0)
            assert [one.evaluation.number for one in reader.results()] == [1]
            assert list(reader.walks()) == [1]
        with read_store(tmp_path / "run") as later:
            assert len(later.results()) == len(later.walks()) == 2


def test_the_lock_ends_with_the_process(tmp_path: Path) -> None:
    new_store(tmp_path / "run").close()
    script = ("import os, signal, sys, pathlib\nfrom experiments.store import open_store\n"
              "store = open_store(pathlib.Path(sys.argv[1]))\nos.kill(os.getpid(), signal.SIGKILL)\n")
    child = subprocess.run([sys.executable, "-c", script, str(tmp_path / "run")], cwd=ROOT,
                           check=False)
    assert child.returncode == -9
    open_store(tmp_path / "run").close()


def test_a_taken_directory_is_refused_and_names_the_other_version_of_the_file(tmp_path: Path) -> None:
    new_store(tmp_path / "run").close()
    with pytest.raises(InputError, match="already holds a run: go on with `antune resume"):
        reserve(tmp_path / "run", "abc")
    with pytest.raises(InputError, match="made with another version of the file"):
        reserve(tmp_path / "run", "other")


def test_an_abandoned_directory_disappears_unless_it_holds_something(tmp_path: Path) -> None:
    for name, kept in (("empty", False), ("full", True)):
        directory = tmp_path / "runs" / name
        reserved = reserve(directory, "abc")
        if kept:
            (directory / "mine.txt").write_text("x")
        abandon(reserved)
        assert (directory.exists(), directory.parent.exists()) == (kept, kept)


def test_a_directory_without_a_finished_store_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "new-run.sqlite").touch()
    assert not is_run(tmp_path)
    for opener in (open_store, read_store):
        with pytest.raises(InputError, match=r"is not a run directory.*antune list"):
            opener(tmp_path)


def test_a_damaged_or_foreign_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run.sqlite").write_bytes(b"not a database, but long enough to look at" * 30)
    with pytest.raises(InputError, match="damaged"):
        open_store(tmp_path)
    new_store(tmp_path / "run").close()
    with sqlite3.connect(tmp_path / "run" / "run.sqlite") as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(InputError, match="another version of antune"):
        read_store(tmp_path / "run")


def test_a_missing_reference_says_so(tmp_path: Path) -> None:
    with new_store(tmp_path / "run") as store:
        (tmp_path / "run" / "reference.npz").unlink()
        with pytest.raises(InputError, match=r"reference\.npz cannot be read"):
            store.reference()
