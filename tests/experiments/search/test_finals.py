"""At the end of a run the best plans are measured again, in turns: who wins, what is kept, what it must not touch."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

import experiments
from experiments.report.page import write_report
from experiments.run import resume, tune
from experiments.search.finals import finalists
from experiments.search.reproducing import reproduce_command
from experiments.search.summary import describe_final, summarize
from experiments.store import SCHEMA_VERSION, open_store, read_store
from experiments.values.options import Budget, Timing
from generator.errors import InputError
from generator.plan import Plan
from metrics.outcome import Crashed, Durations, Outcome, Timed
from runners.base import Job, Sitting
from tests.support.runs import DEFAULT, Log, ToyRunner, toy_info, toy_options, toy_outcome, toy_parts, toy_source

AnswerAgain = Callable[[Plan, Sitting], Outcome]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_source(tmp_path_factory.mktemp("source"))


@pytest.fixture(scope="module")
def plain(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose finalists are as fast as the search saw them."""
    directory = tmp_path_factory.mktemp("plain") / "run"
    noisy(source, directory)
    return directory


def timed(plan: Plan, factor: float) -> Outcome:
    """The toy outcome of `plan`, `factor` times as slow."""
    outcome = toy_outcome(plan)
    assert isinstance(outcome, Timed)
    times = [factor * ms for ms in outcome.samples_ms]
    return replace(outcome, median_ms=sorted(times)[1], low_ms=min(times), high_ms=max(times), samples_ms=tuple(times))


def best_two(directory: Path) -> tuple[Plan, Plan]:
    """What the search took for the best and the second best."""
    with read_store(directory) as store:
        first, second, *_ = finalists(store.results(), 5)
    return first.evaluation.plan, second.evaluation.plan


def wanting(loser: Plan) -> AnswerAgain:
    """Measured again, `loser` is half as fast as the search saw it."""
    return lambda plan, _sitting: timed(plan, 2.0 if plan == loser else 1.0)


def wide(plan: Plan) -> Outcome:
    """The toy outcome with an interval as wide as on a noisy machine."""
    outcome = toy_outcome(plan)
    return replace(outcome, high_ms=outcome.median_ms * 1.5) if isinstance(outcome, Timed) else outcome


def honest(plan: Plan, _sitting: Sitting) -> Outcome:
    """Measured again, a plan is as fast as the search saw it."""
    return toy_outcome(plan)


def nothing(_job: Job) -> None:
    """Nothing happens before a measurement."""


def noisy(source: Path, directory: Path, answer_again: AnswerAgain = honest,
          before: Callable[[Job], None] = nothing) -> ToyRunner:
    """A run in which several plans may be the best."""
    runner = ToyRunner(before, answer=wide, answer_again=answer_again)
    tune(toy_options(source, 20, explorer="random"), directory, Log(), toy_parts(runner))
    return runner


def test_the_winner_of_the_final_is_the_best_plan_of_the_run(source: Path, plain: Path, tmp_path: Path) -> None:
    lucky, really_best = best_two(plain)
    noisy(source, tmp_path / "two", wanting(lucky))
    with read_store(tmp_path / "two") as store:
        summary = summarize(store)
        write_report(store, tmp_path / "two", toy_parts(ToyRunner()))
    written = json.loads((tmp_path / "two" / "summary.json").read_text())
    assert summary.best_plan == written["best_plan"] == really_best.digest
    assert (tmp_path / "two" / "best.json").read_text().strip() == really_best.to_json()
    assert really_best.digest in (tmp_path / "two" / "best.cl").read_text()
    outcome = toy_outcome(really_best)
    assert isinstance(outcome, Timed) and summary.best_ms == pytest.approx(outcome.median_ms)
    assert written["final"]["finalists"][0]["verdict"] == "winner"
    assert "measured again in turns" in (tmp_path / "two" / "report.html").read_text()


def test_the_search_does_not_depend_on_the_final(source: Path, plain: Path, tmp_path: Path) -> None:
    def table(directory: Path) -> str:
        return (directory / "results.csv").read_text()

    whole, other = tmp_path / "whole", tmp_path / "other"
    noisy(source, other, wanting(best_two(plain)[0]))
    assert table(other) == table(plain)
    tune(toy_options(source, 30, explorer="random"), whole, Log(), toy_parts(ToyRunner(answer=wide)))
    resume(other, Budget(evaluations=30), Log(), toy_parts(ToyRunner(answer=wide)))
    assert table(other).splitlines()[:20] == table(whole).splitlines()[:20]


def test_a_finalist_that_fails_now_is_told_and_does_not_win(source: Path, plain: Path, tmp_path: Path) -> None:
    lucky, other = best_two(plain)

    def crash(plan: Plan, _sitting: Sitting) -> Outcome:
        return Crashed("time", "signal 11", Durations()) if plan == lucky else timed(plan, 1.0)

    runner = noisy(source, tmp_path / "two", crash)
    with read_store(tmp_path / "two") as store:
        summary, final = summarize(store), store.finals.latest()
    assert summary.best_plan == other.digest and summary.final is not None
    assert list(summary.final.failed.values()) == ["crashed: signal 11"]
    assert "failed now (crashed)" in describe_final(summary.final)
    (number,) = summary.final.failed
    assert [number in outcomes for outcomes in final] == [True] + [False] * (len(final) - 1)
    assert all(number not in jobs for _, jobs in runner.sittings[1:])


def test_a_tie_is_reported_as_one(source: Path, plain: Path, tmp_path: Path) -> None:
    first, second = best_two(plain)
    one, two = toy_outcome(first), toy_outcome(second)
    assert isinstance(one, Timed) and isinstance(two, Timed)

    def same(plan: Plan, _sitting: Sitting) -> Outcome:
        return timed(plan, 1.004 * one.median_ms / two.median_ms if plan == second else 1.0)

    noisy(source, tmp_path / "two", same)
    with read_store(tmp_path / "two") as store:
        final = summarize(store).final
    assert final is not None and final.ties == 2 and final.finalists[1].verdict == "tie"
    assert final.tied_within == pytest.approx(0.004, rel=0.01)
    assert "2 plans within 0.4 %, a tie" in describe_final(final)


def test_the_default_plan_is_a_guest(source: Path, tmp_path: Path) -> None:
    runner = noisy(source, tmp_path / "run", lambda plan, _sitting: timed(plan, 3.0 if plan == DEFAULT else 1.0))
    assert [0 in jobs for _, jobs in runner.sittings[:4]] == [True, True, True, False]
    with read_store(tmp_path / "run") as store:
        summary = summarize(store)
    default = toy_outcome(DEFAULT)
    assert isinstance(default, Timed) and summary.default_ms == pytest.approx(3 * default.median_ms)
    assert summary.speedup_over_default == pytest.approx(3 * default.median_ms / (summary.best_ms or 0))


def test_none_are_measured_again_if_not_wanted(source: Path, tmp_path: Path) -> None:
    runner = ToyRunner(answer=wide)
    tune(toy_options(source, 6, timing=Timing(finalists=0)), tmp_path / "run", Log(), toy_parts(runner))
    assert runner.sittings == []
    with read_store(tmp_path / "run") as store:
        assert summarize(store).final is None


class Dies(BaseException):
    """Stands for a crash: nothing in the project catches it."""


def in_sitting(number: int, act: Callable[[], None]) -> AnswerAgain:
    """Do `act` in the middle of one sitting."""
    acted: list[int] = []

    def answer(plan: Plan, sitting: Sitting) -> Outcome:
        if sitting.number == number and not acted:
            acted.append(number)
            act()
        return timed(plan, 1.0)

    return answer


@pytest.mark.parametrize("sitting", [0, 2])
def test_killed_in_the_final_nothing_is_lost_and_resume_finishes(sitting: int, source: Path, plain: Path,
                                                                    tmp_path: Path) -> None:
    def die() -> None:
        raise Dies

    killed = tmp_path / "killed"
    with pytest.raises(Dies):
        noisy(source, killed, in_sitting(sitting, die))
    with read_store(killed) as store:
        assert (store.ending(), len(store.results()), len(store.finals.latest())) == (None, 21, sitting)
    runner = ToyRunner(answer=wide)
    finish = resume(killed, None, Log(), toy_parts(runner))
    assert (finish.ending, runner.evaluated) == ("finished", [])
    assert runner.sittings
    for name in ("results.csv", "best.json", "best.cl"):
        assert (killed / name).read_text() == (plain / name).read_text()
    assert resume(killed, None, Log(), toy_parts(runner)).summary.final == finish.summary.final  # nothing is done again


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_after_one_signal_in_the_search_the_final_is_held(source: Path, tmp_path: Path) -> None:
    runner = noisy(source, tmp_path / "run", before=lambda job: interrupt() if job.number == 14 else None)
    assert runner.evaluated[-1] == 14 and len(runner.sittings) > 1
    with read_store(tmp_path / "run") as store:
        assert store.ending() == "interrupted" and summarize(store).final is not None


def test_one_signal_in_the_final_ends_it_with_the_sitting(source: Path, tmp_path: Path) -> None:
    runner = noisy(source, tmp_path / "run", in_sitting(1, interrupt))
    assert len(runner.sittings) == 2
    with read_store(tmp_path / "run") as store:
        assert (store.ending(), len(store.finals.latest())) == ("finished", 2)


def test_one_sitting_decides_nothing(source: Path, plain: Path, tmp_path: Path) -> None:
    lucky = best_two(plain)[0]
    acted: list[int] = []

    def answer(plan: Plan, sitting: Sitting) -> Outcome:
        if not acted:
            acted.append(sitting.number)
            interrupt()
        return wanting(lucky)(plan, sitting)

    noisy(source, tmp_path / "run", answer)
    with read_store(tmp_path / "run") as store:
        assert len(store.finals.latest()) == 1
        summary = summarize(store)
    assert (summary.final, summary.best_plan) == (None, lucky.digest)


def test_two_signals_end_the_final_at_once(source: Path, tmp_path: Path) -> None:
    def twice() -> None:
        interrupt()
        interrupt()

    noisy(source, tmp_path / "run", in_sitting(2, twice))
    with read_store(tmp_path / "run") as store:
        assert (store.ending(), len(store.finals.latest())) == ("interrupted", 2)
        assert summarize(store).final is not None
    runner = ToyRunner(answer=wide)
    assert resume(tmp_path / "run", None, Log(), toy_parts(runner)).ending == "finished"
    assert len(runner.sittings) > 1


def test_a_plan_found_after_the_final_is_not_judged_by_it(source: Path, tmp_path: Path) -> None:
    def answer(plan: Plan) -> Outcome:
        outcome = toy_outcome(DEFAULT)
        return replace(outcome, code_hash=plan.digest) if isinstance(outcome, Timed) else outcome

    directory = tmp_path / "run"
    tune(toy_options(source, 6), directory, Log(), toy_parts(ToyRunner(answer=answer)))
    with pytest.raises(Dies):
        def die(_job: Job) -> None:
            raise Dies

        resume(directory, Budget(evaluations=12), Log(), toy_parts(ToyRunner(before_again=die)))
    with read_store(directory) as store:
        summary = summarize(store)
    assert summary.final is None and summary.best_evaluation is not None and summary.best_evaluation > 6


def make_old(directory: Path) -> None:
    """As version 1 left it: only its tables and columns, and options without those that came later."""
    path, new = directory / "run.sqlite", directory / "new.sqlite"
    path.rename(new)
    schema = (Path(experiments.__file__).parent / "store" / "schema.sql").read_text()
    with closing(sqlite3.connect(path)) as db:
        db.executescript(schema)
        db.execute("ATTACH ? AS new", (str(new),))
        for (table,) in db.execute("SELECT name FROM main.sqlite_master WHERE type = 'table'").fetchall():
            names = ", ".join(row[1] for row in db.execute(f"PRAGMA main.table_info({table})"))
            db.execute(f"INSERT INTO main.{table} SELECT {names} FROM new.{table}")
        options = json.loads(db.execute("SELECT options FROM run").fetchone()[0])
        del options["timing"]
        db.execute("UPDATE run SET options = ?", (json.dumps(options),))
        db.commit()
    new.unlink()


def test_stores_of_version_1_are_read_and_go_on(plain: Path, tmp_path: Path) -> None:
    directory = tmp_path / "run"
    shutil.copytree(plain, directory)
    make_old(directory)
    with read_store(directory) as store:
        summary = summarize(store)
        assert (summary.final, summary.evaluations, store.info().options.timing) == (None, 20, Timing())
    with sqlite3.connect(directory / "run.sqlite") as db:  # reading has changed nothing
        assert db.execute("PRAGMA user_version").fetchone()[0] == 1
    runner = ToyRunner(answer=wide)
    finish = resume(directory, Budget(evaluations=24), Log(), toy_parts(runner))
    assert finish.summary.final is not None and finish.summary.evaluations == 24
    with open_store(directory) as store, sqlite3.connect(directory / "run.sqlite") as db:
        assert db.execute("PRAGMA user_version").fetchone()[0] == SCHEMA_VERSION
        assert len(store.results()) == 25


def test_equal_code_sits_once(plain: Path) -> None:
    with read_store(plain) as store:
        results = store.results()
    same = [replace(r, outcome=replace(r.outcome, code_hash="x")) for r in results if isinstance(r.outcome, Timed)]
    best = finalists(results, 5)[0].evaluation.number
    assert [r.evaluation.number for r in finalists(same, 20)] == [best]
    assert len(finalists(results, 1)) == 1 and finalists([], 5) == ()


def test_options_of_timing_are_checked_and_told() -> None:
    for bad in ({"precision": 0.0}, {"precision": 101.0}, {"max_repeats": 0}, {"finalists": -1}, {"finalists": 21}):
        with pytest.raises(InputError, match="use"):
            Timing(**bad)
    info = toy_info()
    assert "--precision" not in reproduce_command(info)
    options = replace(info.options, timing=Timing(0.5, 1000, "cold", 0))
    command = reproduce_command(replace(info, options=options))
    assert "--precision 0.5 --cache cold --max-repeats 1000 --finalists 0" in command
