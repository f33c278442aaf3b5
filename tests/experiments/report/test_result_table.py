"""One table of results: the same figures on the terminal and in the report, and old runs without the newer ones."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import pytest

from antune.tables import print_finish
from experiments.report import evaluations, kernels, overview
from experiments.report.facts import gather
from experiments.report.finals import section as finals_section
from experiments.run import resume, tune
from experiments.search.result_table import result_notes
from experiments.search.summary import summarize
from experiments.store import SCHEMA_VERSION, read_store
from experiments.values.options import Budget
from experiments.words import describe_ratio
from generator.plan import Plan
from generator.problem import Baseline, Problem
from metrics.outcome import Outcome, Timed
from runners.base import Sitting
from tests.support.runs import (
    DEFAULT,
    PROGRAM,
    REFERENCE,
    Log,
    ToyRunner,
    toy_options,
    toy_outcome,
    toy_parts,
    toy_source,
)

AnswerAgain: TypeAlias = Callable[[Plan, Sitting], Outcome]
BASELINES = (Baseline("o3", "cc 1.0 -O3", 1, (70.0, 71.0, 72.0)), Baseline("openmp", "cc 1.0 -O3 -fopenmp", 2, (30.0,)))


def slower_again(plan: Plan, _sitting: Sitting) -> Outcome:
    """Measured again, the default plan takes three times as long, every other plan as long as before."""
    outcome, factor = toy_outcome(plan), 3.0 if plan == DEFAULT else 1.0
    if not isinstance(outcome, Timed):
        return outcome
    return replace(
        outcome,
        median_ms=factor * outcome.median_ms,
        low_ms=factor * outcome.low_ms,
        high_ms=factor * outcome.high_ms,
        samples_ms=tuple(factor * ms for ms in outcome.samples_ms),
        host_ms=factor * outcome.host_ms,
        kernels=tuple(replace(k, median_ms=factor * k.median_ms) for k in outcome.kernels),
    )


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_source(tmp_path_factory.mktemp("source"))


def cells(body: str, row: str) -> list[str]:
    """The cells of the table's line that begins with `row`."""
    lines = [[re.sub("<[^>]*>", "", cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line, re.DOTALL)]
             for line in re.findall(r"<tr[^>]*>(.*?)</tr>", body, re.DOTALL)]
    return next(line for line in lines if line[0] == row)


def test_cards_tables_and_terminal_have_the_same_figures(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = replace(toy_parts(ToyRunner(answer_again=slower_again)),
                    read_problem=lambda *_: Problem(PROGRAM, replace(REFERENCE, baselines=BASELINES)))
    finish = tune(toy_options(source, 20, explorer="random"), tmp_path / "run", Log(), parts)
    print_finish(finish)
    shown = capsys.readouterr().out
    with read_store(tmp_path / "run") as store:
        facts = gather(store)
    over = describe_ratio(finish.summary.speedup_over_default)
    page = overview.section(facts).body
    (card,) = re.findall(r'over the default plan</div><div class="value">([^<]*)<', page)
    assert card == over == cells(page, "best plan")[-1] == cells(kernels.section(facts).body, "all kernels")[-1]
    terminal = next(line for line in shown.splitlines() if line.strip().startswith("best plan"))
    assert terminal.split()[-1] == over and terminal.split()[-2] == cells(page, "best plan")[-2]
    assert float(cells(finals_section(facts).body, "default plan")[3]) == pytest.approx(float(over[:-1]), rel=0.01)
    first = toy_outcome(DEFAULT)
    assert isinstance(first, Timed) and finish.summary.default_ms == pytest.approx(3 * first.median_ms)
    assert cells(kernels.section(facts).body, "S0")[1] == cells(page, "default plan")[1]
    assert cells(evaluations.section(facts).body, "0")[4] == "1x", (
        "times of the search have the default plan's of the search beside them"
    )
    for words in ("71.0 ms", "your OpenMP, 2 threads", "1 thread, cc 1.0.", "2 threads, cc 1.0 -O3 -fopenmp."):
        assert words in shown and words in page, words


def disturbed(plan: Plan, sitting: Sitting) -> Outcome:
    """Most rounds are disturbed for one plan or the other, so that medians of times and of ratios differ."""
    outcome = toy_outcome(plan)
    assert isinstance(outcome, Timed)
    factors = (30.0, 30.0, 3.0, 3.0, 3.0) if plan == DEFAULT else (1.0, 1.0, 0.1, 1.0, 1.0)
    times = tuple(factor * outcome.median_ms for factor in factors)
    return replace(outcome, median_ms=sorted(times)[2], low_ms=min(times), high_ms=max(times), samples_ms=times)


def test_ratios_are_those_of_the_times_beside_them_also_on_a_busy_machine(source: Path, tmp_path: Path,
                                                                         capsys: pytest.CaptureFixture[str]) -> None:
    def table(answer: AnswerAgain, name: str) -> tuple[float, str]:
        finish = tune(
            toy_options(source, 20, explorer="random"),
            tmp_path / name,
            Log(),
            toy_parts(ToyRunner(answer_again=answer)),
        )
        print_finish(finish)
        default_ms, best_ms = finish.summary.default_ms, finish.summary.best_ms
        assert default_ms and best_ms
        return default_ms / best_ms, capsys.readouterr().out

    for answer, busy in ((slower_again, False), (disturbed, True)):
        over, shown = table(answer, str(busy))
        best = next(line for line in shown.splitlines() if line.strip().startswith("best plan"))
        assert best.split()[-1] == describe_ratio(over)
        assert ("The machine was busy: compared round by round, the best plan is " in shown) == busy


def test_a_baseline_that_other_work_slowed_down_is_no_baseline(source: Path, tmp_path: Path) -> None:
    """The same program with plain -O3 takes 80 ms."""
    with read_store(tune(toy_options(source, 6, explorer="random"), tmp_path / "run", Log(),
                         toy_parts(ToyRunner())).directory) as store:
        summary = replace(summarize(store), sequential_o3_ms=80.0, best_ms=40.0)
    for ms, warned in ((859.0, True), (100.0, False)):
        shown = " ".join(result_notes(replace(summary, sequential_ms=ms)))
        assert ("it took 10.7x as long as with plain -O3, so the machine was probably busy" in shown) == warned
        assert ("the best plan is 2x as fast as that" in shown) == warned


def test_runs_of_older_versions_are_read_and_go_on_from_their_default_plan(source: Path, tmp_path: Path) -> None:
    directory = tmp_path / "run"
    tune(toy_options(source, 6, explorer="random"), directory, Log(), toy_parts(ToyRunner()))
    with sqlite3.connect(directory / "run.sqlite") as db:
        db.execute("ALTER TABLE run DROP COLUMN baselines")
        db.execute("PRAGMA user_version = 3")
    with read_store(directory) as store:
        summary = summarize(store)
        assert store.info().baselines == () and "sequential C" in overview.section(gather(store)).body
    assert (summary.sequential_o3_ms, summary.openmp_ms, summary.sequential_ms, summary.compiler) == (
        None,
        None,
        51.0,
        "cc 1.0",
    )
    now = replace(DEFAULT, kernels=(replace(DEFAULT.kernels[0], unroll=8),))
    parts = replace(toy_parts(ToyRunner()), default_plan=lambda *_: now)
    assert resume(directory, Budget(evaluations=9), Log(), parts).summary.evaluations == 9
    with read_store(directory) as store:
        assert store.batch(0)[0].plan == DEFAULT
    with sqlite3.connect(directory / "run.sqlite") as db:
        assert db.execute("PRAGMA user_version").fetchone()[0] == SCHEMA_VERSION
