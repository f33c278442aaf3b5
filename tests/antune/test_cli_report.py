"""The page and the words about a run say what the store says."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from antune.cli import app
from antune.progress import Tally
from experiments.report.effects import decision_effects
from experiments.report.page import write_report
from experiments.run import tune
from experiments.search.reproducing import reproduce_command
from experiments.search.summary import results_csv, shares_of
from experiments.store import read_store
from experiments.values.options import USUAL_MODELS, Budget
from experiments.values.records import Evaluation, Result
from experiments.words import describe_ms, describe_percent, describe_plan, describe_ratio, describe_seconds
from generator.frontend_c.source import Compilation
from generator.plan import KernelPlan, Plan
from generator.schedules.choice import ScheduleChoice
from graph.space import Decision, Option
from graph.walk import Choice, Walk, walk_to_json
from metrics.outcome import CompileFailed, Durations, Outcome, Timed
from tests.support.pages import walks
from tests.support.runs import DEFAULT, Log, ToyRunner, toy_info, toy_options, toy_outcome, toy_parts, toy_source

VOID = {"meta", "br", "hr", "img", "link", "input"}


class Balance(HTMLParser):
    """Fails on a tag that is closed in the wrong place; collects addresses that a browser would load."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.loaded += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def result(number: int, outcome: Outcome, choices: dict[str, Option]) -> Result:
    walk = Walk(tuple(Choice(Decision(name, ("S0",)), option) for name, option in choices.items()), DEFAULT)
    return Result(Evaluation(number, 1, number - 1, DEFAULT, walk_to_json(walk)), outcome, "", 0.0)


def timed(ms: float) -> Timed:
    return Timed(ms, ms, ms, (ms,), ms, (), "", False, Durations(1.0, 2.0, 0.5, 0.5))


def test_effects_group_times_by_option_and_put_the_strongest_first() -> None:
    results = [result(1, timed(1.0), {"tile": 64, "unroll": 1}), result(2, timed(4.0), {"tile": 8, "unroll": 1}),
               result(3, timed(2.0), {"tile": 64, "unroll": 2}),
               result(4, CompileFailed("x", Durations()), {"tile": 8, "unroll": 2})]
    tile, unroll = decision_effects(results, walks(results))
    assert (tile.title, tile.ratio, tile.met) == ("tile of S0", 4.0 / 1.5, 3)
    assert [(o.option, o.times_ms, o.failures) for o in tile.options] == [(8, (4.0,), 1), (64, (1.0, 2.0), 0)]
    assert (unroll.decision, unroll.ratio) == ("unroll", 1.25)
    assert tile.strength > unroll.strength == 0.0


def test_the_page_is_whole_safe_and_needs_no_network(tmp_path: Path) -> None:
    def answer(plan: Plan) -> Outcome:
        outcome = toy_outcome(plan)
        return replace(outcome, message="<script>alert(1)</script>") if isinstance(outcome, CompileFailed) else outcome

    options = toy_options(toy_source(tmp_path), 120, explorer="random")
    tune(options, tmp_path / "run", Log(), toy_parts(ToyRunner(answer=answer)))
    with read_store(tmp_path / "run") as store:
        page = write_report(store, tmp_path / "run").read_text()
    balance = Balance()
    balance.feed(page)
    assert balance.open == []
    assert [address for address in balance.loaded if not address.startswith(("#", "data:"))] == []
    assert "<script>alert" not in page and "&lt;script&gt;alert" in page
    for text in ("tile of S0", "Toy device", "cc 1.0", "antune tune"):
        assert text in page


def test_the_command_to_reproduce_is_a_command_that_parses(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "my toy.c").write_text("void f(void) {\n#pragma scop\n#pragma endscop\n}\n")
    options = replace(toy_options(tmp_path / "my toy.c"), budget=Budget(evaluations=7, minutes=2.0), scop=1,
                      compilation=Compilation((str(tmp_path),), ("N=1 + 2", "M"), ("-std=c11", "-DX='a b'"), ()),
                      parameters=(("n", -3),), device="pocl", function="f", compile_limit_s=12.5,
                      run_limit_s=3.0, memory_limit_gb=1.5)
    words = shlex.split(reproduce_command(replace(toy_info(), options=options)))
    seen: list[object] = []
    monkeypatch.delenv("ANTUNE_FINALISTS")
    monkeypatch.setattr("experiments.run.tune", lambda given, *_, **_named: seen.append(given))
    monkeypatch.setattr("antune.command_run._end", lambda _finish: None)
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as end:
        app(words[1:])
    assert end.value.code == 0
    assert seen == [replace(options, models=(USUAL_MODELS,))], "loops have no usual models"


def test_csv_leaves_unknown_times_empty() -> None:
    lines = results_csv([result(1, CompileFailed("x", Durations()), {}), result(2, timed(2.5), {})]).splitlines()
    assert lines[1].startswith("1,1,0,compile_failed,,,")
    assert lines[2].startswith("2,1,1,timed,2.5,2.5,")


def test_shares_add_up() -> None:
    shares = shares_of([result(1, timed(1.0), {}), result(2, timed(1.0), {})])
    assert (shares.generate, shares.compile, shares.check, shares.time) == (0.25, 0.5, 0.125, 0.125)
    assert shares_of([]).compile == 0


def test_plans_and_numbers_in_words() -> None:
    kernel = KernelPlan(("S0", "S1"), (32, 64), (8, 32), shared=True, inner_tile=32, unroll=4)
    lines = describe_plan(Plan(ScheduleChoice(serialize_sccs=True, outer_coincidence=False), (kernel,)))
    assert lines == (
        "schedule: algorithm pluto, serialize SCCs yes, outer coincidence no",
        (
            "kernel S0 S1: outer tile size 32x64, thread block size 8x32 (4x2 points each), unroll factor 4, shared "
            "memory, "
            "inner tile size 32"
        ),
    )
    assert describe_plan(Plan(ScheduleChoice(), (KernelPlan(("S0",), (), ()),)))[1] == "kernel S0: a single thread"
    assert [describe_ms(ms) for ms in (None, 0.0, 0.0004567, 0.01234, 0.99951, 12.34, 999.6, 4321.0, 2e6)] == [
        "-", "0 ns", "457 ns", "12.3 us", "1.00 ms", "12.3 ms", "1.00 s", "4.32 s", "2000 s"]
    assert [describe_percent(share) for share in (None, 0.0, 0.0041, 0.0996, 0.15, 1.1, 12.0)] == [
        "-", "0 %", "0.41 %", "10 %", "15 %", "110 %", "1200 %"]
    assert [describe_ratio(x) for x in (None, 0.5, 12.34, 4321.0)] == ["-", "0.5x", "12.3x", "4321x"]
    assert [describe_seconds(s) for s in (0.4, 61, 3700)] == ["0 s", "1 min 1 s", "1 h 1 min"]


def test_kernels_with_the_same_decisions_share_a_line() -> None:
    kernels = [KernelPlan((f"S{k}",), (), ()) for k in range(150)]
    odd = KernelPlan(("T",), (8,), (8,))

    def told(*plans: KernelPlan) -> list[str]:
        return list(describe_plan(Plan(ScheduleChoice(), plans)))[1:]

    assert told(*kernels[:3], odd) == [*(f"kernel S{k}: a single thread" for k in range(3)),
                                       "kernel T: outer tile size 8, thread block size 8"]
    assert told(*kernels[:4], odd)[0] == "kernels S0 | S1 | S2 | S3, each: a single thread"
    assert told(odd, *kernels)[1:] == ["kernels S0 | S1 | S2 and 147 more, each: a single thread"]


def test_progress_counts_failures_and_guesses_the_time_left() -> None:
    tally = Tally(10.0, 20, None, 0.0)
    assert (tally.best(), tally.left()) == ("nothing valid yet", "")
    tally.add(Result(Evaluation(0, 0, 0, DEFAULT, "[]"), timed(5.0), "", 0.0))
    tally.add(result(1, timed(2.0), {}))
    tally.add(result(2, CompileFailed("x", Durations()), {}))
    assert tally.best() == "best 2.00 ms (5x sequential, 2.5x default)"
    assert tally.failed() == "failed: 1 compile failed"
    assert tally.left().endswith(" left") and tally.done == 2
