"""Searches for something else than the time: what is told, what is best, what ends a run, and what files say."""

from __future__ import annotations

import csv
import json
import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import antune
from antune.progress import Tally
from experiments.exports.chosen import choose, choose_any
from experiments.exports.csv_table import csv_files
from experiments.exports.t4 import t4_files
from experiments.graphs.history import explored
from experiments.report.page import write_report
from experiments.run import Finish, resume, tune
from experiments.search.reproducing import reproduce_command
from experiments.search.summary import Finalist, FinalSummary, describe_final
from experiments.store import read_store
from experiments.values.objective import MEASURED, MODELLED, RATES, Objective, parse_objective
from experiments.values.options import Budget
from experiments.values.sought import BY_TIME, Sought, check_names, sought_for
from experiments.values.stopping import parse_goal
from generator.errors import InputError
from generator.plan import Plan
from metrics.outcome import Illegal, KernelTime, Outcome, Timed
from tests.support.paths import ROOT
from tests.support.runs import DEFAULT, PROGRAM, Log, ToyRunner, toy_options, toy_outcome, toy_parts, toy_source
from tests.support.slow import few, in_turn
from tests.support.templates import SUM, small_sum

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
        again: Callable[[Plan], Outcome] = with_threads, **changes: object) -> tuple[Finish, ToyRunner]:
    directory.parent.mkdir(parents=True, exist_ok=True)
    runner = ToyRunner(answer=with_threads, answer_again=lambda plan, _: again(plan))
    options = toy_options(toy_source(directory.parent), evaluations, objective=objective, **changes)
    return tune(options, directory, log or Log(), toy_parts(runner)), runner


@pytest.mark.parametrize(("text", "higher"), few([("10 / time", False), ("time * threads", False),
                                              ("GFLOP/s", True), ("wall - threads / 1e4", False)],
    (("time * threads", False), ("GFLOP/s", True))))
def test_the_best_is_the_best_by_the_objective_everywhere(tmp_path: Path, text: str, higher: bool) -> None:
    finish, _ = run(tmp_path / "run", Objective(text, higher), timing=replace(toy_options(Path()).timing, finalists=3))
    with read_store(tmp_path / "run") as store:
        results, chosen = store.results(), choose(store, None, False)
        if text == "10 / time":  # a report takes a second
            page = write_report(store, tmp_path).read_text()
            assert f"least {text}" in page and "worse half" in page and "slower half" not in page
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


@in_turn
def test_the_path_of_a_search_does_not_depend_on_the_unit(tmp_path: Path) -> None:
    paths = []
    for place, text in enumerate(("1 / time", "1e15 / time")):
        run(tmp_path / str(place), Objective(text, True), 60)
        with read_store(tmp_path / str(place)) as store:
            paths.append([r.evaluation.plan for r in store.results()])
            assert explored(store, toy_parts(ToyRunner())).note == ""
    assert paths[0] == paths[1]


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
    for goal in "2x-sequential", "90%":
        more = Budget(evaluations=150, stop_at=parse_goal(goal))
        refused = pytest.raises(InputError, match=f"--stop-at {goal} compares times, and the objective is 10 / time")
        with refused:
            run(tmp_path / "other", SLOW, budget=more)
        assert not (tmp_path / "other").exists()
        with refused:
            resume(tmp_path / "run", more, Log(), toy_parts(ToyRunner(answer=with_threads)))


@pytest.mark.parametrize(("objective", "change"), [
    (Objective("1e12 / time", True), {"samples_ms": (60.0,) * 3, "median_ms": 60.0}),
    (Objective("time / 1e12"), {"samples_ms": (60.0,) * 3, "median_ms": 60.0}),
    (Objective("wall"), {"host_ms": 60.0}),
])
def test_the_final_decides_by_what_it_measures(tmp_path: Path, objective: Objective, change: dict[str, Any]) -> None:
    first, _ = run(tmp_path / "first", objective, 12)
    assert first.best is not None
    lucky = first.best.evaluation.plan

    def again(plan: Plan) -> Outcome:
        outcome = with_threads(plan)
        assert isinstance(outcome, Timed)
        return replace(outcome, **change) if plan == lucky else outcome

    second, _ = run(tmp_path / "second", objective, 12, again=again)
    assert second.best is not None and second.best.evaluation.plan != lucky
    final = second.summary.final
    assert final is not None and final.finalists[-1].plan == lucky.digest and (final.finalists[-1].ratio or 0) > 10


def test_no_multiple_of_nothing_is_a_goal(tmp_path: Path) -> None:
    goal = Budget(evaluations=12, stop_at=parse_goal("8x"))
    finish, _ = run(tmp_path / "run", Objective("max(0, time - 9)"), budget=goal)
    assert finish.summary.default_value == finish.summary.best_value == 0
    assert finish.summary.evaluations == 12


def test_nothing_has_no_ratios(tmp_path: Path) -> None:
    sought = sought_for(Objective("max(0, time - 3)"), PROGRAM)
    finish, _ = run(tmp_path / "run", sought.objective, 20)
    with read_store(finish.directory) as store:
        results, tally = store.results(), Tally(None, None, None, 0.0, sought=sought)
    for result in results:
        tally.add(result)
    assert "least max(0, time - 3): 0 (the default 1.8)" in tally.best()
    final = json.loads((finish.directory / "summary.json").read_text())["final"]
    assert final["ties"] > 1 and final["tied_within"] is None
    assert {one[key] for one in final["finalists"] for key in ("ratio", "ratio_low", "ratio_high")} == {None}
    assert final["finalists"][-1]["verdict"] == "slower"
    assert finish.summary.final is not None
    assert re.search(r"\d plans could not be told apart \(evaluations [\d, ]+\)$", describe_final(finish.summary.final))
    one = Finalist(4, "a", 2.0, 2.0, 2.0, None, None, None, "winner")
    other = replace(one, evaluation=9, verdict="slower")
    assert describe_final(FinalSummary(6, 1, 0.0, (one, other), {}), "x").endswith("evaluation 4 is the best; worse: 9")


def test_results_without_a_value_are_measured_again(tmp_path: Path) -> None:
    old = tmp_path / "old"
    tune(toy_options(toy_source(tmp_path), 8), old, Log(), toy_parts(ToyRunner()))  # as older versions: without amounts
    finish, _ = run(tmp_path / "new", Objective("time * threads"), 8, reuse=(str(old),))
    best, _ = run(tmp_path / "alone", Objective("time * threads"), 8)
    assert finish.summary.best_plan == best.summary.best_plan


def test_from_python_the_value_is_never_a_time(tmp_path: Path) -> None:
    finish, _ = run(tmp_path / "run", Objective("GFLOP/s", True), 4)
    best = antune.Result(finish).best
    lost = antune.Result(replace(finish, summary=replace(finish.summary, best_value=None))).best
    assert best is not None and best.value == finish.summary.best_value
    assert lost is not None and lost.value is None


def test_what_has_no_value_is_never_the_best_and_is_said(tmp_path: Path) -> None:
    log = Log()
    finish, _ = run(tmp_path / "none", Objective("time * shared_bytes"), 6, log)
    assert finish.best is None
    assert any("no plan has a value of the objective" in note and "shared_bytes" in note for note in log.notes)
    finish, _ = run(tmp_path / "some", Objective("time - 4"), 40)  # negative below 4 ms
    assert finish.summary.best_ms is not None and finish.summary.best_ms >= 4


@pytest.mark.parametrize(("text", "metrics", "message"), [
    ("time +", (), "`time \\+` is not a Python expression"),
    ("speed", (), "uses `speed`, which no plan has; there are time, wall, threads, n, shared_bytes"),
    ("time * open", (("open", "__import__('os')"),), "metric open, `__import__.*calls"),
    ("a", (("a", "b"), ("b", "time")), "`b` uses `b`|`b`, which no plan has"),
    ("a", (("a", "time"), ("a", "wall")), "given twice"),
    ("  ", (), "objective is '  '"),
    ("time", (("a", "time +"),), "the metric a is for an objective, and the objective is the time"),
    (" time", (("a", "threads"),), "the metric a is for an objective, and the objective is the time"),
    ("wall * n", (("wall", "time"),), "`wall` is what antune measures or computes, and also a metric of your own"),
    ("wall", (("n", "time"),), "`n` is a size of the program, and also a metric of your own"),
])
def test_wrong_objectives_are_one_sentence(text: str, metrics: tuple[tuple[str, str], ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_names(parse_objective(text, None, metrics), PROGRAM)


@pytest.mark.parametrize("name", ["threads", "wall", "time"])
def test_names_of_ones_own_do_not_hide_what_is_measured(name: str) -> None:
    own = small_sum(SUM.replace("per_thread", name), parameters={"block_size_x": [16, 32], name: [1, 2]},
                    grid=f"ceil(1000 / (block_size_x * {name}))").template
    message = f"`{name}` is what antune measures or computes, and also a parameter of the template; rename the latter"
    with pytest.raises(InputError, match=message):
        check_names(Objective(f"{name} * block_size_x"), own)
    check_names(Objective("block_size_x"), own)
    with pytest.raises(InputError, match="`bytes` is what antune measures or computes, and also a size of the program"):
        check_names(Objective("time * bytes"), replace(PROGRAM, parameters=(("bytes", 8),)))


def test_an_ambiguous_objective_starts_no_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="`wall` is what antune measures"):
        run(tmp_path / "run", Objective("wall", metrics=(("wall", "time"),)))
    assert not (tmp_path / "run").exists()


def test_rates_are_to_be_high_unless_it_is_said() -> None:
    assert parse_objective("GFLOP/s", None).higher and parse_objective("occupancy", None).higher
    assert not parse_objective("GFLOP/s", False).higher and not parse_objective("1 / occupancy", None).higher
    assert parse_objective(None, None).is_time
    assert parse_objective(" GFLOP/s ", None) == parse_objective("GFLOP/s", None)
    assert parse_objective("a", None, [(" a ", " time ")]) == Objective("a", metrics=(("a", "time"),))


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
