"""What a run shows while it goes on: how fast each phase works, and how long it will take."""

from __future__ import annotations

import itertools
import re
import time
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from antune.progress import Bar, Lines, Rates, Tally
from antune.suite_progress import reporting
from experiments.values.options import Budget
from experiments.values.records import Evaluation, Result
from experiments.words import describe_rate
from metrics.outcome import CompileFailed, Durations, Outcome
from tests.support.runs import DEFAULT, toy_info, toy_outcome

SLOW = Durations(0.05, 1.5, 0.1, 0.35)


def result(number: int, outcome: Outcome) -> Result:
    return Result(Evaluation(number, 1, number, DEFAULT, "[]"), outcome, "", float(number))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two seconds go by between any two looks at the clock."""
    ticks = itertools.count(2.0, 2.0)
    monkeypatch.setattr(time, "monotonic", lambda: next(ticks))


def test_rates_are_evaluations_per_second_of_work_and_shares() -> None:
    rates = Rates()
    for _ in range(4):
        rates.add(SLOW)
    rates.add(Durations(generate_s=0.05))  # it failed before it was compiled
    rates.add(Durations())  # it was known
    assert rates.words() == "generate 20/s 3.1 %, compile 0.67/s 75 %, check 10/s 5 %, time 2.9/s 17 %"
    assert Rates().words() == ""


@pytest.mark.parametrize(
    ("per_s", "words"), [(1234.6, "1235/s"), (12.34, "12/s"), (0.834, "0.83/s"), (0.02, "1.2/min")]
)
def test_rates_in_words(per_s: float, words: str) -> None:
    assert describe_rate(per_s) == words


def test_the_pace_counts_this_session_only(clock: None) -> None:
    tally = Tally(1.0, 20, None, 0.0, started_s=0.0)
    for number in range(1, 11):
        tally.add(result(number, toy_outcome(DEFAULT)))
    tally.done_before = 8
    assert tally.pace() == "1/s, 20 s left"  # two in two seconds; the second look is four seconds after the start


def test_the_view_fits_a_terminal_of_eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    bar = Bar()
    console = Console(width=80, force_terminal=True, color_system=None)
    monkeypatch.setattr(bar, "_console", console)
    bar.begin(
        replace(toy_info(Path("toy.c")), sequential_ms=(12345.6,)), Budget(evaluations=20_000, minutes=6000.0), (), 0.0
    )
    for number in range(3):
        bar.result(result(number, replace(toy_outcome(DEFAULT), durations=SLOW)))
        bar.result(result(number + 3, CompileFailed("no", Durations(0.001, 12.5))))
    with console.capture() as capture:
        console.print(bar._view())
    bar.__exit__()
    lines = capture.get().splitlines()
    assert len(lines) == 4 and max(map(len, lines)) <= 80
    assert any("compile" in line and "%" in line for line in lines) and any("left" in line for line in lines)


def test_without_a_terminal_a_line_now_and_then(clock: None, capsys: pytest.CaptureFixture[str]) -> None:
    lines = Lines()
    lines.begin(toy_info(), Budget(evaluations=40), (), 0.0)
    for number in range(1, 31):
        lines.result(result(number, toy_outcome(DEFAULT)))
    said = [line for line in capsys.readouterr().out.splitlines() if "compile" in line]
    assert 2 <= len(said) <= 6
    assert "left; generate" in said[-1] and "%" in said[-1]


def test_a_suite_that_goes_on_guesses_by_what_it_did_itself(clock: None, capsys: pytest.CaptureFixture[str]) -> None:
    with reporting("evaluations") as progress:
        for done in range(80, 101):
            progress(done, 100)
    first, *others = capsys.readouterr().err.splitlines()
    assert first == "100 evaluations, 80 of them done"
    assert 1 <= len(others) <= 3
    done, left = re.findall(r"\d+(?= of| s left)", others[0])
    assert 1.9 < int(left) / (100 - int(done)) < 2.6  # they take two seconds each, and there is a beginning
