"""Known results of other runs take the place of measurements, where they mean the same, and stay when those runs are
gone.
"""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.run import More, resume, tune
from experiments.search.parts import Parts
from experiments.search.reuse import usable
from experiments.store import open_store, read_store
from experiments.values.environment import Environment, current_environment
from experiments.values.options import Budget, RunOptions, Timing
from experiments.values.program_json import from_json, to_json
from experiments.values.versions import changed_settings
from generator.errors import InputError
from generator.problem import Problem
from metrics.outcome import CompileFailed, Crashed, Durations, Illegal, LaunchFailed, Outcome, TimedOut, WrongResult
from runners.base import NOTHING_KNOWN, Bounds, Limits
from tests.support.runs import DEVICE, PROGRAM, REFERENCE, Log, ToyRunner, toy_options, toy_outcome, toy_parts

SPENT = Durations()


@pytest.fixture
def first(source: Path, tmp_path: Path) -> Path:
    """A run of 36 random plans."""
    tune(toy_options(source, 36, explorer="random"), tmp_path / "first", Log(), toy_parts(ToyRunner()))
    return tmp_path / "first"


def reusing(source: Path, first: Path, evaluations: int = 36, explorer: str = "exhaustive") -> RunOptions:
    return toy_options(source, evaluations, explorer=explorer, reuse=(str(first),))


def test_known_plans_are_not_measured_again_and_say_where_they_come_from(
    source: Path, first: Path, tmp_path: Path
) -> None:
    runner, log, run = ToyRunner(), Log(), tmp_path / "second"
    finish = tune(reusing(source, first), run, log, toy_parts(runner))
    with read_store(run) as store, read_store(first) as other:
        results, known = store.results(), {r.evaluation.plan.digest: r.outcome for r in other.results()}
    reused = [r for r in results if r.reused_from]
    assert finish.summary.evaluations == 36 and 0 < len(reused) < 36  # they count in the budget
    assert sorted(runner.evaluated) == [r.evaluation.number for r in results if not r.reused_from]
    assert all(r.evaluation.plan.digest in known and r.reused_from == str(first) for r in reused)
    assert all(
        replace(r.outcome, durations=SPENT) == replace(known[r.evaluation.plan.digest], durations=SPENT) for r in reused
    )
    assert any("37 plans are known from other runs" in note for note in log.notes)
    with (run / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["reused_from"] or None for row in rows] == [r.reused_from for r in results]
    assert runner.sittings  # finals are measured


def test_the_search_goes_the_same_way_and_on_without_the_other_run(source: Path, first: Path, tmp_path: Path) -> None:
    tune(toy_options(source, 42, explorer="colony"), tmp_path / "alone", Log(), toy_parts(ToyRunner()))
    run = tmp_path / "second"
    tune(reusing(source, first, 18, "colony"), run, Log(), toy_parts(ToyRunner()))
    shutil.rmtree(first)
    resume(run, Budget(evaluations=42), Log(), toy_parts(ToyRunner()))
    (run / "search.checkpoint").unlink(missing_ok=True)
    resume(run, Budget(evaluations=42), Log(), toy_parts(ToyRunner()))
    with read_store(run) as store, read_store(tmp_path / "alone") as alone:
        assert [r.evaluation for r in store.results()] == [r.evaluation for r in alone.results()]
        assert any(r.reused_from for r in store.results()[19:])


def test_a_stopped_run_may_take_over_results_later(source: Path, first: Path, tmp_path: Path) -> None:
    run, runner = tmp_path / "second", ToyRunner()
    tune(toy_options(source, 6, explorer="exhaustive"), run, Log(), toy_parts(ToyRunner()))
    resume(run, Budget(evaluations=60), Log(), toy_parts(runner), more=More(reuse=(str(first),)))
    with read_store(run) as store:
        assert 0 < sum(r.reused_from is not None for r in store.results()) == 54 - len(runner.evaluated)


def test_what_was_reused_names_its_first_source_when_it_is_reused_again(
    source: Path, first: Path, tmp_path: Path
) -> None:
    tune(reusing(source, first), tmp_path / "second", Log(), toy_parts(ToyRunner()))
    tune(reusing(source, tmp_path / "second"), tmp_path / "third", Log(), toy_parts(ToyRunner()))
    with read_store(tmp_path / "third") as store:
        assert {r.reused_from for r in store.results()} == {None, str(first), str(tmp_path / "second")}


def other_program(parts: Parts) -> Parts:
    return replace(parts, read_problem=lambda *_: Problem(replace(PROGRAM, parameters=(("n", 9),)), REFERENCE))


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (other_program, {}, "another program .toy of .*, or other sizes"),
        (
            ToyRunner(device=replace(DEVICE, name="Other")),
            {},
            "another device .Toy device, Toy platform, instead of Other",
        ),
        (ToyRunner(device=replace(DEVICE, driver="2.0")), {}, "another driver .1.0 instead of 2.0"),
        (
            ToyRunner(device=replace(DEVICE, target=replace(DEVICE.target, max_threads=128))),
            {},
            "other limits of the device",
        ),
        (ToyRunner(), {"timing": Timing(cache="cold")}, "times with warm caches"),
        (ToyRunner(), {"timing": Timing(realtime=True)}, "times at ordinary priority .without --realtime"),
        (ToyRunner(), {"timing": Timing(precision=1.0)}, "times that are less precise .--precision 2 instead of 1"),
    ],
)
def test_what_would_not_hold_is_refused_with_the_difference(
    change: ToyRunner | Callable[[Parts], Parts],
    options: dict[str, object],
    message: str,
    source: Path,
    first: Path,
    tmp_path: Path,
) -> None:
    parts = toy_parts(change) if isinstance(change, ToyRunner) else change(toy_parts(ToyRunner()))
    with pytest.raises(
        InputError, match=f"--reuse .*first: its results do not hold for this run: {message}.*; leave it out"
    ):
        tune(replace(reusing(source, first), **options), tmp_path / "run", Log(), parts)  # type: ignore[arg-type]  # fields by name
    assert not (tmp_path / "run").exists()


def test_another_version_of_the_generator_and_what_is_no_run_are_refused(
    source: Path, first: Path, tmp_path: Path
) -> None:
    with open_store(first) as store, store._writing():
        store._db.execute("""UPDATE session SET environment = replace(environment, '["runners","', '["runners","0')""")
    with pytest.raises(InputError, match=r"another version of antune .its runners changed"):
        tune(reusing(source, first), tmp_path / "run", Log(), toy_parts(ToyRunner()))
    with pytest.raises(InputError, match="gone is not a run directory"):
        tune(reusing(source, tmp_path / "gone"), tmp_path / "run", Log(), toy_parts(ToyRunner()))


@pytest.mark.parametrize(("before", "now"), [("", "2"), ("2", ""), ("2", "3")])
def test_what_drivers_were_told_is_a_difference(
    before: str, now: str, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tell(value: str) -> None:
        monkeypatch.setenv("POCL_MAX_PTHREAD_COUNT", value) if value else monkeypatch.delenv(
            "POCL_MAX_PTHREAD_COUNT", raising=False
        )

    tell(before)
    tune(toy_options(source, 5), tmp_path / "first", Log(), toy_parts(ToyRunner()))
    tell(now)
    differ = (
        rf"a driver that was told otherwise \(POCL_MAX_PTHREAD_COUNT {before or 'unset'} instead of {now or 'unset'}\)"
    )
    with pytest.raises(InputError, match=differ):
        tune(reusing(source, tmp_path / "first"), tmp_path / "second", Log(), toy_parts(ToyRunner()))
    tell(before)
    tune(reusing(source, tmp_path / "first"), tmp_path / "third", Log(), toy_parts(ToyRunner()))


def test_every_session_counts(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results of a run that went on under another setting are a mixture."""
    tune(toy_options(source, 5), tmp_path / "first", Log(), toy_parts(ToyRunner()))
    monkeypatch.setenv("POCL_MAX_PTHREAD_COUNT", "2")
    resume(tmp_path / "first", Budget(evaluations=9), Log(), toy_parts(ToyRunner()))
    with pytest.raises(InputError, match="unset instead of 2"):
        tune(reusing(source, tmp_path / "first"), tmp_path / "second", Log(), toy_parts(ToyRunner()))


def test_settings_that_were_not_recorded_are_no_difference() -> None:
    now = current_environment()
    assert not changed_settings(replace(now, settings=None), replace(now, settings=(("POCL_AFFINITY", "0"),)))
    older = {name: value for name, value in json.loads(to_json(now)).items() if name != "settings"}
    assert from_json(json.dumps(older), Environment) == replace(now, settings=None)


def test_a_time_limit_counts_only_if_it_was_as_large() -> None:
    limits, bounds = Limits(compile_s=20.0, run_s=10.0), Bounds(5.0, 0.1, (1.0,) * 8)
    for outcome, known, now in (
        (TimedOut("compile", 20.0, SPENT), True, True),
        (TimedOut("compile", 6.0, SPENT), False, True),
        (TimedOut("check", 9.0, SPENT), False, True),
        (TimedOut("time", 4.0, SPENT), False, False),
    ):
        assert (usable(outcome, limits, NOTHING_KNOWN), usable(outcome, limits, bounds)) == (known, now)
    kept: list[Outcome] = [
        Illegal("", SPENT),
        CompileFailed("", SPENT),
        LaunchFailed("", SPENT),
        WrongResult("", SPENT),
    ]
    assert all(usable(outcome, limits, NOTHING_KNOWN) for outcome in kept)
    assert not usable(Crashed("time", "", SPENT), limits, NOTHING_KNOWN)


def test_crashes_are_tried_again(source: Path, tmp_path: Path) -> None:
    def crashing(plan: object) -> Outcome:
        return Crashed("check", "signal 11", SPENT)

    tune(
        toy_options(source, 12, explorer="exhaustive"), tmp_path / "first", Log(), toy_parts(ToyRunner(answer=crashing))
    )
    runner = ToyRunner(answer=toy_outcome)
    tune(reusing(source, tmp_path / "first", 12), tmp_path / "run", Log(), toy_parts(runner))
    assert len(runner.evaluated) == 13
