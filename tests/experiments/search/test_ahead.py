"""`--ahead`: the loop asks for an iteration before it tells the outcomes of the previous one, in an order that only
depends on the history.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

import pytest

from experiments.graphs.history import HasGraph, LeavesTrails, explored
from experiments.run import resume, tune
from experiments.search.checkpoints import CHECKPOINT_FILE
from experiments.search.loop import Search
from experiments.store import read_store
from experiments.values.options import Budget, RunOptions
from experiments.values.records import Ending
from experiments.values.stopping import parse_goal
from generator.plan import Plan
from graph.walk import Walk
from runners.base import DeviceInfo, Job
from tests.support.runs import DEVICE, TARGET, Log, ToyRunner, history, toy_options, toy_parts, toy_source
from tests.support.slow import few

pytestmark = pytest.mark.usefixtures("saved_always")
GPU = replace(DEVICE, target=replace(TARGET, shares_host_cores=False))


@dataclass
class Announced(ToyRunner):
    """A runner that remembers what was announced before each of its calls."""

    device: DeviceInfo = GPU
    announced: list[list[int]] = field(default_factory=list)

    def announce(self, jobs: Sequence[Job]) -> None:
        self.announced.append([job.number for job in jobs])


@pytest.fixture
def options(tmp_path: Path) -> RunOptions:
    return toy_options(toy_source(tmp_path), 24, ahead=True)


def noted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the loop does with explorers from now on."""
    from experiments.search.loop import Round, Search

    events, walks, tell = list[str](), Search._walks, Search._tell

    def asking(search: Search, iteration: int, count: int) -> Sequence[Walk]:
        events.append(f"ask {iteration}")
        return walks(search, iteration, count)

    def telling(search: Search, current: Round) -> None:
        events.append(f"tell {current.iteration}")
        tell(search, current)

    monkeypatch.setattr(Search, "_walks", asking)
    monkeypatch.setattr(Search, "_tell", telling)
    return events


def test_an_iteration_is_asked_and_announced_before_the_previous_one_is_told(
        options: RunOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events, runner = noted(monkeypatch), Announced()
    finish = tune(options, tmp_path / "run", Log(), toy_parts(runner))
    assert events == ["ask 1", "ask 2", "tell 1", "ask 3", "tell 2", "ask 4", "tell 3", "tell 4"]
    assert runner.announced == [[], [*range(7, 13)], [*range(13, 19)], [*range(19, 25)], []]
    assert sorted(runner.evaluated) == [*range(25)] and finish.ending == "finished"
    with read_store(tmp_path / "run") as store:
        assert len({r.evaluation.plan.digest for r in store.results()}) == 25


@pytest.mark.parametrize("change, device, why", [
    ({"explorer": "genetic"}, GPU, "genetic needs all results"), ({}, DEVICE, "disturbs measurements"),
])
def test_a_note_says_why_nothing_is_asked_ahead(change: dict[str, str], device: DeviceInfo, why: str,
                                                options: RunOptions, tmp_path: Path,
                                                monkeypatch: pytest.MonkeyPatch) -> None:
    events, log, runner = noted(monkeypatch), Log(), Announced(device=device)
    tune(replace(options, budget=Budget(evaluations=12), **change),  # type: ignore[arg-type]  # real fields
         tmp_path / "run", log, toy_parts(runner))
    assert events == ["ask 1", "tell 1", "ask 2", "tell 2"] and not any(runner.announced)
    assert any("--ahead has no effect" in note and why in note for note in log.notes)


def test_an_iteration_that_is_asked_but_not_wanted_is_not_measured(options: RunOptions, tmp_path: Path) -> None:
    goal, runner = parse_goal("1.0001x"), Announced()
    finish = tune(replace(options, budget=Budget(evaluations=60, stop_at=goal)), tmp_path / "run", Log(),
                  toy_parts(runner))
    assert finish.ending == "finished" and sorted(runner.evaluated) == [*range(7)]
    assert runner.announced[1] == [*range(7, 13)]
    assert (finish.summary.evaluations, finish.summary.iterations) == (6, 1)


@pytest.mark.parametrize(("slow", "measured"), few([(4, 3), (7, 6)], 1))
def test_when_the_minutes_are_over_the_iteration_that_was_asked_is_left_for_a_resumed_run(
        slow: int, measured: int, options: RunOptions, tmp_path: Path) -> None:
    ticks = count(1)

    def wait(_job: Job) -> None:
        if next(ticks) == slow:
            time.sleep(1.2)

    run, budget = tmp_path / "run", Budget(minutes=1 / 60)
    finish = tune(replace(options, budget=budget), run, Log(), toy_parts(Announced(wait)))
    assert finish.ending == "finished"
    assert (finish.summary.evaluations, finish.summary.iterations) == (measured, 1)
    assert finish.summary.reason == budget.time_is_up
    resume(run, Budget(evaluations=24), Log(), toy_parts(Announced()))
    tune(options, tmp_path / "whole", Log(), toy_parts(Announced()))
    assert history(run) == history(tmp_path / "whole")


@pytest.mark.parametrize("budget", [Budget(evaluations=24), Budget(evaluations=60, stop_at=parse_goal("1.0001x"))])
def test_the_graph_of_a_run_has_the_pheromone_of_its_explorer(
        budget: Budget, options: RunOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if an iteration was asked that the explorer was told nothing about."""
    searches, run = list[Search](), Search.run

    def running(search: Search, default: Plan) -> Ending:
        searches.append(search)
        return run(search, default)

    monkeypatch.setattr(Search, "run", running)
    tune(replace(options, budget=budget), tmp_path / "run", Log(), toy_parts(Announced()))
    live = searches[0].explorer
    live.ask(0)  # it learns when it is asked
    with read_store(tmp_path / "run") as store:
        found = explored(store, toy_parts(Announced()))
    assert isinstance(live, HasGraph) and isinstance(live, LeavesTrails)
    assert found.trails is not None and not found.note
    assert found.graph.nodes.keys() == live.graph.nodes.keys() > set()
    for decision, node in found.graph.nodes.items():
        assert found.trails.level(node).tolist() == live.trails.level(live.graph.nodes[decision]).tolist()


class Killed(BaseException):
    pass


@pytest.mark.parametrize("how", ["checkpoint", "replay"])
def test_a_killed_and_extended_run_has_the_history_of_one_that_was_never_stopped(
        how: str, options: RunOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tune(replace(options, budget=Budget(evaluations=42)), tmp_path / "whole", Log(), toy_parts(Announced()))
    run, events = tmp_path / "run", noted(monkeypatch)

    def kill(job: Job) -> None:
        if job.number == 15:
            raise Killed

    with pytest.raises(Killed):
        tune(options, run, Log(), toy_parts(Announced(kill)))
    for evaluations in (24, 24, 30, 42):
        if how == "replay":
            (run / CHECKPOINT_FILE).unlink(missing_ok=True)
        events.clear()
        resume(run, Budget(evaluations=evaluations), Log(), toy_parts(Announced()))
        assert (events[0] == "ask 1") == (how == "replay")
    assert history(run) == history(tmp_path / "whole")
    (run / CHECKPOINT_FILE).unlink(missing_ok=True)
    resume(run, Budget(evaluations=48), Log(), toy_parts(Announced()))  # what was stored can be replayed
    assert history(run)[:43] == history(tmp_path / "whole")
