"""Profiles in a run: how many, stored at once, told to the search, the same after a kill; never on a device without."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from experiments.graphs.history import explored
from experiments.run import profile_run, resume, tune
from experiments.search.reproducing import reproduce_command
from experiments.store import read_store
from experiments.values.options import Budget
from generator.errors import InputError
from metrics.outcome import NoProfile, Profile, Timed
from runners.base import Job
from tests.support.runs import Log, ToyRunner, toy_options, toy_parts
from tests.support.slow import few, in_turn


@dataclass
class CountingRunner(ToyRunner):
    """Counts something that says which blocks are good; `stop_at` plans are counted, then the power fails."""

    counted: list[int] = field(default_factory=list)
    stop_at: int | None = None

    def profile(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Profile | NoProfile]]:
        """See `runners.base.ProfilingRunner`."""
        for job in jobs:
            if len(self.counted) == self.stop_at:
                raise KeyboardInterrupt
            self.counted.append(job.number)
            kernel = job.plan.kernels[0]
            yield job.number, (NoProfile("too large to count") if kernel.unroll == 8 else
                               Profile("perf", ((("S0",), (("ipc", kernel.block[0] / 32),)),)))


def walks(directory: Path) -> list[tuple[int, str]]:
    with read_store(directory) as store:
        return list(store.walks().items())


def test_the_fastest_of_each_iteration_are_counted(source: Path, tmp_path: Path) -> None:
    runner = CountingRunner()
    tune(toy_options(source, 18, profile=2), tmp_path / "run", Log(), toy_parts(runner))
    with read_store(tmp_path / "run") as store:
        results, profiles, info = store.results(), store.profiles.all(), store.info()
    assert list(profiles) == sorted(runner.counted)
    for iteration in (1, 2, 3):
        timed = [r for r in results if r.evaluation.iteration == iteration and isinstance(r.outcome, Timed)]
        timed.sort(key=lambda r: getattr(r.outcome, "median_ms", 0.0))
        assert {r.evaluation.number for r in timed[:2]} == {
            n for n in profiles if any(r.evaluation.number == n for r in timed)}
    assert "--profile 2" in reproduce_command(info)
    assert {type(counted) for counted in profiles.values()} <= {Profile, NoProfile}


def test_a_stopped_run_goes_on_with_the_same_walks(source: Path, tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    tune(toy_options(source, 30, profile=3), whole, Log(), toy_parts(CountingRunner()))
    tune(toy_options(source, 30, profile=3), cut, Log(), toy_parts(CountingRunner(stop_at=4)))
    again = CountingRunner()
    resume(cut, None, Log(), toy_parts(again))
    assert walks(cut) == walks(whole)
    with read_store(cut) as store, read_store(whole) as other:
        assert store.profiles.all() == other.profiles.all()
        assert len(again.counted) == len(other.profiles.all()) - 4  # what was counted once is not counted again


@in_turn
def test_the_search_learns_from_what_was_counted(source: Path, tmp_path: Path) -> None:
    tune(toy_options(source, 90, profile=6), tmp_path / "counted", Log(), toy_parts(CountingRunner()))
    tune(toy_options(source, 90), tmp_path / "plain", Log(), toy_parts(CountingRunner()))
    assert walks(tmp_path / "counted") != walks(tmp_path / "plain")


def test_a_device_without_counters_is_refused_at_once(source: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--profile"):
        tune(toy_options(source, 6, profile=1), tmp_path / "run", Log(), toy_parts(ToyRunner()))
    assert not (tmp_path / "run").exists()
    with pytest.raises(InputError, match="--profile is -1"):
        toy_options(source, profile=-1)


def test_a_run_can_be_counted_later(source: Path, tmp_path: Path) -> None:
    tune(toy_options(source, 12), tmp_path / "run", Log(), toy_parts(CountingRunner()))
    found = profile_run(tmp_path / "run", 2, toy_parts(runner := CountingRunner()))
    assert list(found) == runner.counted
    assert runner.counted[0] == 0 and len(runner.counted) == 3
    with read_store(tmp_path / "run") as store:
        assert store.profiles.all() == found
        times = {r.evaluation.number: r.outcome for r in store.results()}
    best = min(ms for n, o in times.items() if n and isinstance(o, Timed) for ms in [o.median_ms])
    assert getattr(times[runner.counted[1]], "median_ms", None) == best


def forget_checkpoints(directory: Path) -> None:
    """As after a kill, or with another version."""
    for file in directory.glob("*.checkpoint"):
        file.unlink()


@in_turn
def test_what_was_counted_later_does_not_change_how_a_run_goes_on(source: Path, tmp_path: Path) -> None:
    counted, plain = tmp_path / "counted", tmp_path / "plain"
    for directory in (counted, plain):
        tune(toy_options(source, 60), directory, Log(), toy_parts(CountingRunner()))
    profile_run(counted, 40, toy_parts(CountingRunner()))
    for directory in (counted, plain):
        forget_checkpoints(directory)
        resume(directory, Budget(90), Log(), toy_parts(CountingRunner()))
    assert walks(counted) == walks(plain)


@pytest.mark.parametrize("profile", few([0, 3], 1))
def test_the_graph_of_a_counted_run_has_its_pheromone(profile: int, source: Path, tmp_path: Path) -> None:
    parts = toy_parts(CountingRunner())
    tune(toy_options(source, 60, profile=profile), tmp_path / "run", Log(), parts)
    profile_run(tmp_path / "run", 10, parts)
    with read_store(tmp_path / "run") as store:
        found = explored(store, parts)
    assert found.trails is not None and not found.note
