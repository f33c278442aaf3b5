"""The loop asks, stores and tells in order, keeps its budget and stops when it is told to."""

from __future__ import annotations

import csv
import json
import os
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from threading import Event

import pytest

from experiments.run import tune
from experiments.search.interrupt import Interrupt
from experiments.search.loop import Search
from experiments.search.parts import PARTS
from experiments.store import create_store, read_store, reserve
from experiments.values.options import Budget, RunOptions, Spent, make_budget
from explorer.base import Explorer
from generator.errors import InputError
from generator.plan import Plan, plan_from_json
from generator.problem import Subject
from generator.target import Target
from graph.walk import Walk
from metrics.outcome import CompileFailed, Durations, Outcome, cost_ms
from runners.base import NOTHING_KNOWN, Job
from runners.limits import learned
from tests.support.runs import (
    DEFAULT,
    DEVICE,
    PROGRAM,
    REFERENCE,
    TARGET,
    Log,
    ToyRunner,
    history,
    toy_info,
    toy_options,
    toy_outcome,
    toy_parts,
    toy_space,
)


class Told:
    """A real colony that remembers what it was told."""

    def __init__(self) -> None:
        self.inner: Explorer = PARTS.make_explorer(
            "colony", toy_space(PROGRAM, TARGET, toy_options(Path("toy.c"))), 0, ()
        )
        self.asked: list[list[Walk]] = []
        self.told: list[tuple[Walk, Outcome]] = []

    def ask(self, number: int) -> list[Walk]:
        self.asked.append(list(self.inner.ask(number)))
        return self.asked[-1]

    def tell(self, walk: Walk, outcome: Outcome) -> None:
        self.told.append((walk, outcome))
        self.inner.tell(walk, outcome)


def search_in(directory: Path, explorer: Explorer, runner: ToyRunner, budget: Budget, log: Log) -> str:
    with create_store(reserve(directory, "abc"), toy_info(), REFERENCE, "1") as store, Interrupt() as stop:
        return Search(store, explorer, runner, 6, budget, log, stop).run(DEFAULT)


def test_default_plan_comes_first_and_outside_the_budget(tmp_path: Path) -> None:
    log, runner = Log(), ToyRunner()
    assert search_in(tmp_path / "run", Told(), runner, Budget(evaluations=14), log) == "finished"
    with read_store(tmp_path / "run") as store:
        results = store.results()
    assert [r.evaluation.number for r in results] == list(range(15))
    assert results[0].evaluation.plan == DEFAULT
    assert [r.evaluation.iteration for r in results] == [0] + [1] * 6 + [2] * 6 + [3] * 2
    assert sorted(r.evaluation.number for r in log.results) == list(range(15))


def test_results_are_told_in_ask_order_although_they_arrive_in_another(tmp_path: Path) -> None:
    explorer, runner = Told(), ToyRunner()
    search_in(tmp_path / "run", explorer, runner, Budget(iterations=3), Log())
    assert [walk for walk, _ in explorer.told] == [walk for batch in explorer.asked for walk in batch]
    assert runner.evaluated != sorted(runner.evaluated)


def test_early_stop_and_limits_follow_from_complete_iterations_only(tmp_path: Path) -> None:
    runner = ToyRunner()
    search_in(tmp_path / "run", Told(), runner, Budget(iterations=4), Log())
    with read_store(tmp_path / "run") as store:
        results = store.results()
    for iteration, bounds in enumerate(runner.bounds):
        before = [r.outcome for r in results if r.evaluation.iteration < iteration]
        assert bounds == learned(NOTHING_KNOWN, before)
        assert bounds.best_ms == min((ms for o in before if (ms := cost_ms(o)) is not None), default=None)
    assert len(runner.bounds[-1].compiled_s) > 5 and runner.bounds[-1].run_s is not None


@dataclass
class Preparing(Told):
    """An explorer that says when it was prepared."""

    prepared: Event = field(default_factory=Event)

    def __post_init__(self) -> None:
        super().__init__()

    def prepare(self) -> None:
        self.prepared.set()


@pytest.mark.parametrize(("shares_host_cores", "iterations", "prepared"),
                         [(False, 2, True), (False, 1, False), (True, 2, False)])
def test_an_explorer_prepares_its_second_call_while_the_device_measures(
        shares_host_cores: bool, iterations: int, prepared: bool, tmp_path: Path) -> None:
    explorer, measured = Preparing(), list[bool]()
    device = replace(DEVICE, target=replace(TARGET, shares_host_cores=shares_host_cores))
    runner = ToyRunner(before=lambda _: measured.append(explorer.prepared.wait(5.0 if prepared and measured else 0.1)),
                       device=device)
    search_in(tmp_path / "run", explorer, runner, Budget(iterations=iterations, evaluations=7), Log())
    assert measured == [False] + [prepared] * (len(measured) - 1)


@pytest.mark.parametrize("shares_host_cores", [False, True])
def test_start_walks_are_made_while_a_device_of_its_own_measures_the_default_plan(
        shares_host_cores: bool, tmp_path: Path, source: Path) -> None:
    begun, made, measured = Event(), Event(), list[bool]()

    def starts(subject: Subject, target: Target, options: RunOptions) -> Sequence[Walk]:
        begun.set()
        assert shares_host_cores or made.wait(10.0)
        return PARTS.starts(subject, target, options)

    def measure(_job: Job) -> None:
        measured.append(begun.wait(0.1 if shares_host_cores else 10.0))
        made.set()

    device = replace(DEVICE, target=replace(TARGET, shares_host_cores=shares_host_cores))
    parts, options = toy_parts(ToyRunner(before=measure, device=device)), toy_options(source, 12)
    tune(options, tmp_path / "run", Log(), replace(parts, starts=starts))
    assert measured[0] is not shares_host_cores
    tune(options, tmp_path / "before", Log(), toy_parts(ToyRunner(device=device)))
    assert history(tmp_path / "run") == history(tmp_path / "before")


def test_an_error_in_start_walks_ends_the_run_with_it(tmp_path: Path, source: Path) -> None:
    def starts(_subject: Subject, _target: Target, _options: RunOptions) -> Sequence[Walk]:
        raise InputError("no start")

    device = replace(DEVICE, target=replace(TARGET, shares_host_cores=False))
    with pytest.raises(InputError, match="no start"):
        tune(toy_options(source, 12), tmp_path / "run", Log(),
             replace(toy_parts(ToyRunner(device=device)), starts=starts))


def test_a_plan_that_is_known_is_not_measured_again(tmp_path: Path) -> None:
    class Twice(Told):
        def ask(self, number: int) -> list[Walk]:
            return [Walk((), DEFAULT), *super().ask(number - 1)]

        def tell(self, walk: Walk, outcome: Outcome) -> None:
            if walk.choices:
                super().tell(walk, outcome)

    runner = ToyRunner()
    search_in(tmp_path / "run", Twice(), runner, Budget(iterations=1), Log())
    assert 1 not in runner.evaluated
    with read_store(tmp_path / "run") as store:
        first, again, *_ = store.results()
    assert cost_ms(again.outcome) == cost_ms(first.outcome)
    assert again.outcome.durations == Durations()


def test_a_small_space_ends_the_run(tmp_path: Path, source: Path) -> None:
    finish = tune(toy_options(source, 10_000, explorer="random"), tmp_path / "run", Log(), toy_parts(ToyRunner()))
    assert (finish.ending, finish.summary.evaluations) == ("exhausted", 5 * 6 * 4)
    assert finish.best is not None and finish.best.evaluation.plan.kernels[0].tile == (256,)


def test_minutes_end_a_run_within_an_iteration(tmp_path: Path, source: Path) -> None:
    ticks = count(1)

    def wait(_job: Job) -> None:
        if next(ticks) == 4:
            time.sleep(1.2)

    options = replace(toy_options(source), budget=Budget(minutes=1.0 / 60))
    finish = tune(options, tmp_path / "run", Log(), toy_parts(ToyRunner(wait)))
    assert (finish.ending, finish.summary.evaluations) == ("finished", 3)


def test_the_default_plan_is_outside_of_the_minutes(tmp_path: Path, source: Path) -> None:
    options = replace(toy_options(source), budget=Budget(minutes=1e-9))
    finish = tune(options, tmp_path / "run", Log(), toy_parts(ToyRunner()))
    assert (finish.ending, finish.summary.evaluations) == ("finished", 0)
    assert finish.best is not None and finish.best.evaluation.number == 0


def test_budget_ends_at_the_first_limit() -> None:
    budget = Budget(evaluations=12, iterations=2, minutes=1.0)
    assert budget.batch(10, Spent(0, 0, 0.0)) == 10
    assert budget.batch(10, Spent(10, 1, 59.0)) == 2
    assert budget.batch(10, Spent(12, 1, 59.0)) == 0
    assert budget.batch(10, Spent(11, 2, 59.0)) == 0
    assert budget.batch(10, Spent(10, 1, 60.0)) == 0
    assert (budget.total(10), make_budget(None, None, None), Budget(minutes=1.0).total(3)) == (
        12, Budget(iterations=5), None)


@pytest.mark.parametrize("bad", [{"evaluations": 0}, {"iterations": -1}, {"minutes": float("nan")}, {}])
def test_a_budget_without_sense_is_refused(bad: dict[str, float]) -> None:
    with pytest.raises(InputError):
        Budget(**bad)  # type: ignore[arg-type]  # tests hand over what a command line could


def test_one_signal_finishes_what_runs_and_saves(tmp_path: Path, source: Path) -> None:
    def interrupt(job: Job) -> None:
        if job.number == 9:
            os.kill(os.getpid(), signal.SIGINT)

    log, runner = Log(), ToyRunner(interrupt)
    finish = tune(toy_options(source), tmp_path / "run", log, toy_parts(runner))
    assert finish.ending == "interrupted"
    assert runner.evaluated[-1] == 9
    with read_store(tmp_path / "run") as store:
        assert sorted(runner.evaluated) == [r.evaluation.number for r in store.results()]
    assert any("Ctrl-C again" in note for note in log.notes)
    assert runner.closed
    assert (tmp_path / "run" / "summary.json").exists()


def test_two_signals_stop_at_once_and_keep_what_was_measured(tmp_path: Path, source: Path) -> None:
    def interrupt(job: Job) -> None:
        if job.number == 9:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGTERM)

    runner = ToyRunner(interrupt)
    finish = tune(toy_options(source), tmp_path / "run", Log(), toy_parts(runner))
    assert finish.ending == "interrupted"
    assert 9 not in runner.evaluated
    with read_store(tmp_path / "run") as store:
        assert len(store.results()) == len(runner.evaluated)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_files_agree_with_the_store(tmp_path: Path, source: Path) -> None:
    directory = tmp_path / "run"
    finish = tune(toy_options(source), directory, Log(), replace(toy_parts(ToyRunner()), picture=True))
    summary = json.loads((directory / "summary.json").read_text())
    rows = list(csv.DictReader((directory / "results.csv").open()))
    with read_store(directory) as store:
        results = store.results()
    times = [ms for r in results if (ms := cost_ms(r.outcome)) is not None]
    assert summary["best_ms"] == min(times) == float(rows[-1]["best_so_far_ms"])
    assert (summary["sequential_ms"], summary["default_ms"]) == (51.0, cost_ms(toy_outcome(DEFAULT)))
    assert summary["speedup_over_sequential"] == pytest.approx(51.0 / min(times))
    assert sum(summary["outcomes"].values()) == len(rows) == 26
    assert sum(summary["shares"].values()) == pytest.approx(1)
    best = plan_from_json((directory / "best.json").read_text())
    assert best.digest == summary["best_plan"]
    assert finish.best is not None and finish.best.evaluation.plan == best
    assert (directory / "convergence.png").read_bytes().startswith(b"\x89PNG")
    assert list(rows[0]) == ["evaluation", "iteration", "ant", "status", "median_ms", "best_so_far_ms", "plan",
                             "reused_from"]
    assert not (directory / "work").exists()


@pytest.mark.parametrize(("said", "drawn"), [("0", False), ("1", True), (None, True)])
def test_the_environment_says_whether_a_picture_is_drawn(said: str | None, drawn: bool, source: Path, tmp_path: Path,
                                                         monkeypatch: pytest.MonkeyPatch) -> None:
    if said is None:
        monkeypatch.delenv("ANTUNE_PICTURE")
    else:
        monkeypatch.setenv("ANTUNE_PICTURE", said)
    tune(toy_options(source, 2), tmp_path / "run", Log(), replace(toy_parts(ToyRunner()), picture=None))
    assert (tmp_path / "run" / "convergence.png").exists() == drawn


def test_a_run_in_which_everything_fails_still_writes_its_files(tmp_path: Path, source: Path) -> None:
    def fail(_plan: Plan) -> Outcome:
        return CompileFailed("no", Durations())

    directory = tmp_path / "run"
    finish = tune(toy_options(source), directory, Log(), replace(toy_parts(ToyRunner(answer=fail)), picture=True))
    assert finish.best is None
    summary = json.loads((directory / "summary.json").read_text())
    assert (summary["best_ms"], summary["outcomes"]) == (None, {"compile_failed": 26})
    assert (directory / "convergence.png").exists()
    assert not (directory / "best.json").exists()


def test_a_run_that_cannot_start_leaves_nothing_behind(tmp_path: Path, source: Path) -> None:
    def refuse(*_: object) -> ToyRunner:
        raise InputError("no such device")

    parts = replace(toy_parts(ToyRunner()), open_runner=refuse)
    with pytest.raises(InputError, match="no such device"):
        tune(toy_options(source), tmp_path / "run", Log(), parts)
    assert not (tmp_path / "run").exists()
