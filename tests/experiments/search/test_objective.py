"""Searches for something else than the time: what is told, what is best, what ends a run, and what files say."""

from __future__ import annotations

import csv
import json
import re
import shlex
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from experiments.exports.chosen import choose, choose_any
from experiments.exports.csv_table import csv_files
from experiments.exports.t4 import t4_files
from experiments.report.page import write_report
from experiments.run import Finish, resume, tune
from experiments.search.summary import reproduce_command
from experiments.store import read_store
from experiments.values.objective import (
    BY_TIME,
    MEASURED,
    MODELLED,
    RATES,
    Objective,
    Sought,
    parse_objective,
    sought_for,
)
from experiments.values.options import Budget
from experiments.values.stopping import parse_goal
from generator.errors import InputError
from generator.plan import Plan
from metrics.outcome import Illegal, KernelTime, Outcome, Timed
from tests.support.paths import ROOT
from tests.support.runs import DEFAULT, PROGRAM, Log, ToyRunner, toy_options, toy_outcome, toy_parts
from tests.support.templates import small_sum

SLOW = Objective("10 / time")
"""Less of it is better, so the slowest plan wins."""


def with_threads(plan: Plan) -> Outcome:
    """The toy's outcome with the threads of its block."""
    outcome = toy_outcome(plan)
    if not isinstance(outcome, Timed):
        return outcome
    threads = float(plan.kernels[0].block[0])
    return replace(outcome, kernels=tuple(replace(k, amounts=(("threads", threads),)) for k in outcome.kernels))


def score(text: str, timed: Timed, plan: Plan) -> float:
    """What the objective `text` is after, computed here: more is better."""
    threads = plan.kernels[0].block[0]
    return {"10 / time": -10 / timed.median_ms, "time * threads": -timed.median_ms * threads,
            "GFLOP/s": 16 / timed.median_ms / 1e6, "wall - threads / 1e4": threads / 1e4 - timed.host_ms}[text]


def run(directory: Path, objective: Objective, evaluations: int = 30, log: Log | None = None,
        **changes: object) -> tuple[Finish, ToyRunner]:
    directory.parent.mkdir(parents=True, exist_ok=True)
    (file := directory.parent / "toy.c").write_text("int main;\n")
    runner = ToyRunner(answer=with_threads, answer_again=lambda plan, _: with_threads(plan))
    options = toy_options(file, evaluations, objective=objective, **changes)
    return tune(options, directory, log or Log(), toy_parts(runner)), runner


@pytest.mark.parametrize(("text", "higher"), [("10 / time", False), ("time * threads", False),
                                              ("GFLOP/s", True), ("wall - threads / 1e4", False)])
def test_the_best_is_the_best_by_the_objective_everywhere(tmp_path: Path, text: str, higher: bool) -> None:
    finish, _ = run(tmp_path / "run", Objective(text, higher), timing=replace(toy_options(Path()).timing, finalists=3))
    with read_store(tmp_path / "run") as store:
        results, chosen = store.results(), choose(store, None, False)
        if text == "10 / time":  # a report takes a second
            assert f"least {text}" in write_report(store, tmp_path).read_text()
        scores = {r.evaluation.number: score(text, r.outcome, r.evaluation.plan) for r in results
                  if isinstance(r.outcome, Timed)}
        exported = csv_files(choose_any(store)), json.loads(str(next(iter(t4_files(choose_any(store)).values()))))
    best = max(scores, key=lambda number: scores[number])
    assert scores[finish.summary.best_evaluation or 0] == pytest.approx(scores[best])
    assert finish.best is not None and chosen.result.evaluation == finish.best.evaluation
    assert finish.summary.best_value == pytest.approx(abs(scores[best]), rel=1e-6)
    assert (finish.summary.objective, finish.summary.objective_higher) == (text, higher)
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["best_value"] == finish.summary.best_value
    rows = list(csv.DictReader((tmp_path / "run" / "results.csv").open()))
    assert {int(row["evaluation"]): float(row["objective"]) for row in rows if row["objective"]} == pytest.approx(
        {number: abs(score) for number, score in scores.items()}, rel=1e-6)
    assert float(rows[-1]["best_so_far_ms"]) == next(r.outcome.median_ms for r in results if isinstance(
        r.outcome, Timed) and r.evaluation.number == best)
    assert "objective" in str(next(iter(exported[0].values()))).splitlines()[0]
    assert exported[1]["results"][0]["objectives"] == [text]


def test_a_search_finds_what_it_goes_after(tmp_path: Path) -> None:
    slow, _ = run(tmp_path / "slow", SLOW, 60)
    fast, _ = run(tmp_path / "fast", Objective(), 60)
    assert slow.summary.best_ms is not None and fast.summary.best_ms is not None
    assert slow.summary.best_ms > 8 and fast.summary.best_ms < 2.5  # of 2.1 to 9.2 ms


def test_a_resumed_run_goes_after_the_same(tmp_path: Path) -> None:
    whole, _ = run(tmp_path / "whole", SLOW, 30)
    run(tmp_path / "parts", SLOW, 12)
    runner = ToyRunner(answer=with_threads)
    again = resume(tmp_path / "parts", Budget(evaluations=30), Log(), toy_parts(runner))
    with read_store(tmp_path / "whole") as one, read_store(tmp_path / "parts") as two:
        assert [r.evaluation.plan for r in one.results()] == [r.evaluation.plan for r in two.results()]
        assert one.info().options.objective == SLOW
        assert "--objective '10 / time' --minimize" in reproduce_command(two.info())
    assert again.summary.best_plan == whole.summary.best_plan


def test_nothing_slow_is_given_up_and_goals_are_ratios_of_the_objective(tmp_path: Path) -> None:
    finish, _ = run(tmp_path / "run", SLOW, 140, budget=Budget(evaluations=140, stop_at=parse_goal("1.5x")))
    assert finish.summary.reason is not None and "1.5x over the default plan reached" in finish.summary.reason
    with pytest.raises(InputError, match="--stop-at 2x-sequential compares times, and the objective is 10 / time"):
        run(tmp_path / "other", SLOW, budget=Budget(evaluations=9, stop_at=parse_goal("2x-sequential")))
    assert not (tmp_path / "other").exists()


def test_what_has_no_value_is_never_the_best_and_is_said(tmp_path: Path) -> None:
    log = Log()
    finish, _ = run(tmp_path / "none", Objective("time * shared_bytes"), 6, log)
    assert finish.best is None
    assert any("no plan has a value of the objective" in note and "shared_bytes" in note for note in log.notes)
    finish, _ = run(tmp_path / "some", Objective("time - 4"), 40)  # negative below 4 ms
    assert finish.summary.best_ms is not None and finish.summary.best_ms >= 4


@pytest.mark.parametrize(("text", "metrics", "message"), [
    ("time +", (), "`time \\+` is no Python expression"),
    ("speed", (), "uses `speed`, which no plan has; there are time, wall, threads, n, shared_bytes"),
    ("time * open", (("open", "__import__('os')"),), "metric open, `__import__.*calls"),
    ("a", (("a", "b"), ("b", "time")), "`b` uses `b`|`b`, which no plan has"),
    ("a", (("a", "time"), ("a", "wall")), "given twice"),
    ("  ", (), "objective is '  '"),
])
def test_wrong_objectives_are_one_sentence(text: str, metrics: tuple[tuple[str, str], ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        sought_for(parse_objective(text, None, metrics), PROGRAM)


def test_rates_are_to_be_high_unless_it_is_said() -> None:
    assert parse_objective("GFLOP/s", None).higher and parse_objective("occupancy", None).higher
    assert not parse_objective("GFLOP/s", False).higher and not parse_objective("1 / occupancy", None).higher
    assert parse_objective(None, None).is_time


def test_costs_keep_the_interval_and_the_shares_of_kernels() -> None:
    sought = sought_for(parse_objective("rate", True, [("rate", "operations / time")]), PROGRAM)
    outcome = with_threads(DEFAULT)
    assert isinstance(outcome, Timed)
    told = sought.told(DEFAULT, outcome)
    assert isinstance(told, Timed)
    assert told.median_ms == pytest.approx(outcome.median_ms / 16) and told.low_ms <= told.median_ms <= told.high_ms
    halves = replace(outcome, kernels=(KernelTime(("A",), 1.0), KernelTime(("B",), outcome.median_ms - 1)))
    both = sought.told(DEFAULT, halves)
    assert isinstance(both, Timed)
    assert sum(kernel.median_ms for kernel in both.kernels) == pytest.approx(both.median_ms)
    assert BY_TIME.told(DEFAULT, outcome) is outcome
    assert isinstance(Sought(Objective("x", True), {"x": 0.0}).told(DEFAULT, outcome), Illegal)


def test_the_most_time_is_nothing_to_seek() -> None:
    with pytest.raises(InputError, match="seeks the slowest plan"):
        parse_objective("time", True)


def test_the_objectives_of_the_page_are_known() -> None:
    page = (ROOT / "docs" / "objectives.md").read_text()
    commands = [shlex.split(line.partition("  #")[0]) for line in page.splitlines() if line.startswith("antune tune")]
    assert len(commands) == 5
    for words in commands:
        given = dict(pairwise(words))
        metrics = [tuple(text.split("=", 1)) for text in [given.get("--metric", "")] if text]
        objective = parse_objective(given["--objective"], None, metrics)  # type: ignore[arg-type]  # pairs
        subject = PROGRAM if words[2].endswith(".c") else small_sum().template
        assert sought_for(objective, subject).objective == objective
    rows = re.findall(r"^\| (`.*?) \|", page, re.MULTILINE)
    listed = {name for row in rows for name in re.findall(r"`([\w/]+)`", row)}
    assert listed == {*MEASURED, *MODELLED, *dict(RATES), "operations", "bytes"}
