"""Predicted against measured: the section of a run of a pipeline, its numbers, and where there is none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.report import predictions
from experiments.report.facts import Facts, gather
from experiments.run import tune
from experiments.search.costs import find_model, judge, total
from experiments.store import read_store
from experiments.suites.image_pipelines import pipeline
from experiments.values.options import Budget, RunOptions
from generator.frontend_c.source import Compilation
from metrics.costs.base import Cost
from metrics.costs.constants import Calibration
from metrics.outcome import Timed
from tests.support.pages import made_run
from tests.support.runs import Log
from tests.support.slow import in_turn


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Facts]:
    """A run of a pipeline on a device that computes its times."""
    folder = tmp_path_factory.mktemp("predictions")
    one = pipeline("unsharp")
    options = RunOptions(str(one.file), Compilation(), Budget(evaluations=14), parameters=one.parameters_at("small"),
                         explorer="sioutas", device="deterministic", space="pipeline")
    tune(options, folder / "run", Log())
    with read_store(folder / "run") as store:
        yield gather(store)


@in_turn
def test_every_timed_plan_is_judged_or_counted(facts: Facts) -> None:
    timed = [one for one in facts.results if isinstance(one.outcome, Timed)]
    for found in predictions.predictions(facts):
        assert len(found.costs) + sum(count for _, count in found.refused) == len(timed)
        assert -1 <= found.correlation <= 1 and found.costs[found.chosen] == min(found.costs)


def test_the_costs_are_those_that_explain_prints(facts: Facts) -> None:
    program, target = facts.info.program, facts.info.device.target
    plans = {one.evaluation.number: one.evaluation.plan for one in facts.results}
    looked_at = 0
    for found in predictions.predictions(facts):
        for number, cost in list(zip(found.numbers, found.costs, strict=True))[:3]:
            whole = total(judge(program, plans[number], target, find_model(found.model, target)))
            assert isinstance(whole, Cost) and whole.number == pytest.approx(cost)
            looked_at += 1
    assert looked_at >= 3


def test_the_costs_are_those_of_the_constants_of_the_run(facts: Facts) -> None:
    program, target = facts.info.program, facts.info.device.target
    own = Calibration("deterministic", 400.0, 16384.0, (10.0, 0.5, 60.0, 10.0, 2.0, 100.0, 1.0))
    fitted = replace(facts, info=replace(facts.info, options=replace(facts.info.options, calibration=own)))
    plans = {one.evaluation.number: one.evaluation.plan for one in facts.results}
    for found, usual in zip(predictions.predictions(fitted), predictions.predictions(facts), strict=True):
        whole = total(judge(program, plans[found.numbers[0]], target, find_model(found.model, target, own)))
        assert isinstance(whole, Cost) and whole.number == pytest.approx(found.costs[0])
        assert found.costs[0] != pytest.approx(usual.costs[0])


def test_the_section_has_a_view_and_a_line_for_each_model(facts: Facts) -> None:
    [section] = predictions.section(facts)
    assert section.anchor == "predictions" and "plot-predictions" in section.body
    assert "<td>sioutas</td>" in section.body and "rank correlation" in section.body
    assert [still.name for still in predictions.stills(facts)][:1] == ["predictions-sioutas"]


def test_few_plans_tell_nothing_and_the_reason_of_refusals_is_said(facts: Facts) -> None:
    [section] = predictions.section(replace(facts, results=facts.results[:3]))
    assert "fewer than 5 timed plans" in section.body and "plot" not in section.body


def test_long_runs_are_thinned_evenly_and_keep_the_best(facts: Facts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predictions, "MOST", 4)
    for found in predictions.predictions(facts):
        assert len(found.costs) + sum(count for _, count in found.refused) <= 6


def test_programs_without_stages_have_no_section(tmp_path: Path) -> None:
    with made_run(tmp_path / "run", 30) as store:
        assert predictions.section(gather(store)) == () and predictions.stills(gather(store)) == []
