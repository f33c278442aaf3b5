"""`antune suite timing`: the same plans twice, and what the two passes agree on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from experiments.run import tune
from experiments.search.parts import Parts
from experiments.studies.retimed.passes import measure
from experiments.studies.retimed.plans import Material, generated_plans, material_of_run
from experiments.studies.retimed.results import Figures, figures
from experiments.values.options import Budget, RunOptions
from generator.errors import InputError
from generator.frontend_c.source import Compilation
from generator.plan import Plan
from generator.problem import Problem
from metrics.outcome import Outcome, Timed
from metrics.statistics import median_interval
from runners.base import NOTHING_KNOWN, Bounds, DeviceInfo, Job, Limits, Runner, Sitting
from runners.many import HERE, Place
from tests.support.cli import Antune, antune_command
from tests.support.runs import (
    DEVICE,
    PROGRAM,
    REFERENCE,
    TARGET,
    Log,
    ToyRunner,
    toy_options,
    toy_outcome,
    toy_parts,
    toy_source,
)


class NoisyRunner:
    """The toy device on a machine that is busy for minutes: whatever is timed in a batch gets that batch's luck."""

    device: DeviceInfo = DEVICE

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def evaluate(self, jobs: Sequence[Job], bounds: Bounds = NOTHING_KNOWN) -> Iterator[tuple[int, Outcome]]:
        """See `runners.base.Runner`: one plan has a quiet moment, the next has not."""
        for job in jobs:
            yield job.number, self._noisy(job.plan, self._rng.uniform(1, 1.5), 20)

    def remeasure(self, jobs: Sequence[Job], sitting: Sitting) -> Iterator[tuple[int, Outcome]]:
        """See `runners.base.Runner`: all have the same moments."""
        moments = self._rng.uniform(1, 1.5, 30)
        for job in jobs:
            yield job.number, self._noisy(job.plan, moments, 30)

    def close(self) -> None:
        """Nothing to end."""

    def _noisy(self, plan: Plan, slowdown: object, count: int) -> Outcome:
        outcome = toy_outcome(plan)
        if not isinstance(outcome, Timed):
            return outcome
        samples = outcome.median_ms * np.asarray(slowdown) * self._rng.normal(1, 0.003, count)
        interval = median_interval(samples.tolist())
        return replace(outcome, samples_ms=tuple(samples.tolist()), median_ms=float(np.median(samples)),
                       low_ms=interval.low, high_ms=interval.high)


def noisy_parts() -> Parts:
    """Every opened runner has another seed."""
    seeds = iter(range(100))

    def open_runner(_problem: Problem, _place: Place, _limits: Limits, _work: Path) -> Runner:
        return NoisyRunner(next(seeds))

    return replace(toy_parts(ToyRunner()), open_runner=open_runner)


def toy_figures(parts: Parts, notes: list[str]) -> Figures:
    material = Material(Problem(PROGRAM, REFERENCE), toy_options(Path("toy.c"), explorer="random"), HERE, ())
    return figures(measure(material, 40, 5.0, notes.append, parts))


def test_luck_names_the_winner_without_a_final_and_not_with_one() -> None:
    notes: list[str] = []
    found = toy_figures(noisy_parts(), notes)
    assert found.passed and found.final.apart < 0.01 and max(found.final.lost) < 0.01
    assert max(found.one_shot.lost) > 0.01
    assert all(share is not None and share < 0.5 for share in found.coverage)  # quiet moments make intervals narrow
    assert found.agreement is not None and 0.5 < found.agreement < 1
    assert len(notes) == 4 and found.plans == 40
    data = json.loads(json.dumps(found.to_data()))
    assert data["passed"] is True and data["final"]["plans"] == list(found.final.plans)


def test_on_a_steady_device_everything_agrees() -> None:
    found = toy_figures(toy_parts(ToyRunner()), [])
    assert found.one_shot.plans == found.final.plans
    assert (found.one_shot.apart, found.agreement, found.ratio, found.coverage) == (0.0, 1.0, 1.0, (1.0, 1.0))


def test_plans_of_the_space_are_different_and_begin_with_the_default() -> None:
    options = toy_options(Path("toy.c"))
    plans = generated_plans(PROGRAM, TARGET, options, 30, toy_parts(ToyRunner()))
    assert len(plans) == len({plan.digest for plan in plans}) == 30
    assert plans == generated_plans(PROGRAM, TARGET, options, 30, toy_parts(ToyRunner()))


def test_plans_of_a_run_are_its_first_valid_ones(tmp_path: Path) -> None:
    source = toy_source(tmp_path)
    tune(toy_options(source, 18), tmp_path / "run", Log(), toy_parts(ToyRunner()))
    wanted = RunOptions("", Compilation(), Budget(evaluations=1), seed=3)
    material = material_of_run(tmp_path / "run", 10, wanted)
    assert len(material.stored) == 10 and material.options.seed == 3
    assert all(isinstance(toy_outcome(plan), Timed) for plan in material.stored)
    tune(toy_options(source, 1), tmp_path / "short", Log(), toy_parts(ToyRunner()))
    with pytest.raises(InputError, match="3 are the fewest"):
        material_of_run(tmp_path / "short", 10, wanted)


@pytest.fixture
def run_antune(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Antune:
    """Run the command in this process, in an empty directory; returns the exit code."""
    monkeypatch.chdir(tmp_path)
    return antune_command(monkeypatch)


@pytest.mark.slow
def test_the_command_prints_and_writes(run_antune: Antune, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from experiments.suites.polybench import program_file

    file = program_file("mvt")
    assert (
        run_antune(
            "suite",
            "timing",
            file,
            "-D",
            "MINI_DATASET",
            "--plans",
            6,
            "--device",
            "deterministic",
            "--json",
            "out.json",
        )
        == 0
    )
    told = capsys.readouterr()
    for words in (
        "named by",
        "best time",
        "final",
        "rank correlation",
        "Passed: the winners of the finals differ by 0 %",
    ):
        assert words in told.out
    assert "pass 2: timing 6 plans on deterministic" in told.err
    assert json.loads((tmp_path / "out.json").read_text())["passed"] is True
    assert (
        run_antune("tune", file, "-D", "MINI_DATASET", "--device", "deterministic", "--evaluations", 8,
                   "--finalists", 3, "--out", "run")
        == 0
    )
    assert "Measured again in turns, " in capsys.readouterr().out
    assert run_antune("suite", "timing", "run", "--plans", 5) == 0
    assert "5 plans on deterministic" in capsys.readouterr().out


def test_mistakes_are_told(run_antune: Antune, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, told in ((("nowhere.c",), "is not a file"), ((tmp_path,), "is not a run directory"),
                        ((tmp_path, "-D", "N=3"), "its program is fixed"), (("--precision", 0), "--precision is 0")):
        assert run_antune("suite", "timing", *words) == 2
        assert told in capsys.readouterr().err
