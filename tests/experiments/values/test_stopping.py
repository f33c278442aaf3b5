"""Runs end when enough was found, or when nothing more comes; resumed ones end in the same place."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.ceilings.files import keep_ceilings
from experiments.ceilings.placed import program_roof
from experiments.goals import with_base
from experiments.run import resume, tune
from experiments.search.reproducing import reproduce_command
from experiments.store import read_store
from experiments.values.options import Budget, Spent, make_budget
from experiments.values.program_json import from_json, to_json
from experiments.values.stopping import NO_GAINS, Gains, Goal, gained, parse_goal
from generator.errors import InputError
from metrics.outcome import CompileFailed, Durations, Outcome, Timed
from metrics.roofline import Bandwidth, Ceilings
from runners.base import Job
from tests.support.cli import antune_command
from tests.support.runs import DEVICE, Log, ToyRunner, toy_options, toy_parts
from tests.support.suite import polybench_program


def timed(ms: float, noise: float = 0.0) -> Timed:
    return Timed(ms, ms * (1 - noise), ms * (1 + noise), (ms,), ms, (), f"{ms}", False, Durations())


def gains_of(*outcomes: Outcome) -> Gains:
    return gained(NO_GAINS, enumerate(outcomes))


def run(source: Path, budget: Budget, before: Callable[[Job], None] = lambda _job: None) -> tuple[str, int, str | None]:
    options = replace(toy_options(source), budget=budget, explorer="random")
    finish = tune(options, source.parent / "run", Log(), toy_parts(ToyRunner(before)))
    return finish.ending, finish.summary.evaluations, finish.summary.reason


@pytest.mark.parametrize(
    ("text", "goal"),
    [
        ("8x", Goal("default", 8)),
        (" 1.5X", Goal("default", 1.5)),
        (".5x", Goal("default", 0.5)),
        ("2x-sequential", Goal("sequential", 2)),
        ("90 %", Goal("roofline", 90)),
    ],
)
def test_goals_are_read_and_written(text: str, goal: Goal) -> None:
    assert parse_goal(text) == goal
    assert parse_goal(goal.option) == goal


@pytest.mark.parametrize("text", ["", "8", "x", "-8x", "0x", "8x-default", "nanx", "infx", "1e3x", "8x, 90%", "101%"])
def test_what_is_no_goal_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--stop-at"):
        parse_goal(text)


def test_a_goal_is_a_time_below_what_it_is_compared_with() -> None:
    assert Goal("default", 8).target_ms(16.0) == 2
    assert Goal("default", 8).target_ms(None) is None
    assert Goal("sequential", 2, base_ms=50.0).target_ms(16.0) == 25
    assert Goal("roofline", 80, base_ms=1.0).target_ms(16.0) == 1.25


def test_luck_does_not_reach_a_goal() -> None:
    assert not gains_of(timed(16), timed(1.95, noise=0.1)).reaches(Goal("default", 8))
    assert gains_of(timed(16), timed(1.8, noise=0.1)).reaches(Goal("default", 8))
    assert not gains_of(CompileFailed("", Durations()), timed(1)).reaches(Goal("default", 8))


def test_improvements_below_the_noise_do_not_count_but_add_up() -> None:
    assert gains_of(timed(16, 0.02), timed(15.9, 0.02), CompileFailed("", Durations())).stagnant == 2
    assert gains_of(timed(16, 0.02), timed(15, 0.02), timed(15.1)).stagnant == 1
    creeping = [timed(16 * 0.99**n, 0.02) for n in range(12)]
    assert gains_of(*creeping).stagnant < 5
    assert gains_of(CompileFailed("", Durations()), CompileFailed("", Durations())).stagnant == 1


def test_a_run_ends_at_its_goal_and_says_so(source: Path) -> None:
    ending, evaluations, reason = run(source, Budget(evaluations=140, stop_at=parse_goal("1.5x")))
    assert ending == "finished" and evaluations < 140 and evaluations % 6 == 0
    assert reason is not None and reason.startswith("1.5x over the default plan reached by evaluation ")
    with read_store(source.parent / "run") as store:
        times = [r.outcome.high_ms for r in store.results() if isinstance(r.outcome, Timed)]
        default = store.results()[0]
        first = next(
            r.evaluation.number
            for r in store.results()
            if isinstance(r.outcome, Timed) and r.outcome.high_ms <= default.outcome.median_ms / 1.5  # type: ignore[union-attr]  # it is timed
        )
    assert min(times) <= min(times[:1]) / 1.5
    assert evaluations - 6 < first <= evaluations


def test_a_run_ends_when_nothing_better_comes(source: Path) -> None:
    ending, evaluations, reason = run(source, Budget(stagnation=18))
    assert (ending, evaluations < 140) == ("finished", True)
    assert reason is not None and reason.startswith("no clear improvement since evaluation ") and "18" in reason
    with read_store(source.parent / "run") as store:
        gains = gained(NO_GAINS, ((r.evaluation.number, r.outcome) for r in store.results()))
    assert 18 <= gains.stagnant < 18 + 6


def test_a_stopped_run_goes_on_with_a_larger_budget(source: Path) -> None:
    _, evaluations, _ = run(source, Budget(stagnation=12))
    directory = source.parent / "run"
    log = Log()
    assert resume(directory, None, log, toy_parts(ToyRunner())).summary.evaluations == evaluations
    assert "complete" in log.notes[0]
    finish = resume(directory, Budget(evaluations=evaluations + 10), Log(), toy_parts(ToyRunner()))
    assert (finish.summary.evaluations, finish.summary.reason) == (
        evaluations + 10, "the budget is used up")


@pytest.mark.parametrize("budget", [Budget(stagnation=18), Budget(evaluations=140, stop_at=parse_goal("3x"))])
def test_an_interrupted_run_ends_where_the_uninterrupted_one_does(source: Path, tmp_path: Path, budget: Budget) -> None:
    def interrupt(job: Job) -> None:
        if job.number == 9:
            os.kill(os.getpid(), signal.SIGINT)

    expected = tune(
        replace(toy_options(source), budget=budget, explorer="random"),
        tmp_path / "other",
        Log(),
        toy_parts(ToyRunner()),
    )
    assert run(source, budget, interrupt)[0] == "interrupted"
    finish = resume(tmp_path / "run", None, Log(), toy_parts(ToyRunner()))
    assert (finish.ending, finish.summary.reason) == ("finished", expected.summary.reason)
    with read_store(tmp_path / "run") as one, read_store(tmp_path / "other") as two:
        assert [r.evaluation for r in one.results()] == [r.evaluation for r in two.results()]


def test_goals_are_stored_with_what_they_are_compared_with(source: Path) -> None:
    run(source, Budget(evaluations=6, stop_at=parse_goal("2x-sequential"), stagnation=100))
    with read_store(source.parent / "run") as store:
        assert store.budget() == Budget(evaluations=6, stop_at=Goal("sequential", 2, base_ms=51.0), stagnation=100)
        command = reproduce_command(store.info())
    assert "--stop-at 2x-sequential" in command and "--stagnation 100" in command
    assert from_json(to_json(Budget(stagnation=3)), Budget) == Budget(stagnation=3)


def test_percent_of_the_roofline_needs_measured_ceilings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    budget, program = Budget(evaluations=6, stop_at=parse_goal("50%")), polybench_program("mvt")
    with pytest.raises(InputError, match="antune suite roofline --device toy"):
        with_base(budget, program, (1.0,), DEVICE)
    ceilings = Ceilings(DEVICE.key, DEVICE.driver, "2026-01-01", (("double", 16e9),), (Bandwidth(1 << 16, 1e9),))
    keep_ceilings(ceilings)
    goal, roof = with_base(budget, program, (1.0,), DEVICE).stop_at, program_roof(program, ceilings)
    assert goal is not None and roof is not None and goal.base_ms == roof.ms > 0
    with pytest.raises(InputError, match="no ceiling for the type"):
        keep_ceilings(replace(ceilings, operations_per_s=(("float", 16e9),)))
        with_base(budget, program, (1.0,), DEVICE)


def test_the_default_number_of_iterations_holds_where_a_run_might_not_end() -> None:
    goal = parse_goal("8x")
    assert make_budget(None, None, None, goal) == Budget(iterations=5, stop_at=goal)
    assert make_budget(None, None, None, goal, 30) == Budget(stop_at=goal, stagnation=30)
    with pytest.raises(InputError, match="no end"):
        Budget(stop_at=goal)
    with pytest.raises(InputError, match="--stagnation"):
        Budget(stagnation=0)
    assert Budget(evaluations=12).reached(Spent(12, 2, 1.0)) == "the budget is used up"


def test_the_command_says_why_it_ended(source: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
                                       capsys: pytest.CaptureFixture[str]) -> None:
    source.write_text(
        "int n = 8; double A[8], x = 3;\nvoid f(void) {\n#pragma scop\nfor (int i = 0; i < n; i++) A[i] += x * 2;\n"
        "#pragma endscop\n}\nint main(void) { f(); return A[0] > 0 ? 0 : 1; }\n"
    )
    monkeypatch.chdir(tmp_path)
    antune = antune_command(monkeypatch)
    assert (
        antune("tune", source, "--device", "deterministic", "--explorer", "random", "--stagnation", 8, "--finalists", 0)
        == 0
    )
    assert "evaluations: no clear improvement since evaluation" in capsys.readouterr().out
    assert antune("tune", source, "--device", "deterministic", "--stop-at", "90%") == 2
    assert "measures nothing" in capsys.readouterr().err
    assert antune("tune", source, "--stop-at", "fast") == 2
    assert "write 8x" in capsys.readouterr().err
