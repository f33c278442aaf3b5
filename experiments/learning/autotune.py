"""Rounds of samples, measurement and training on given pipelines (Anderson et al. 2021, sections 5 and 6.1).

A *batch* is the plan of a beam search and greedy samples with dropout. One-shot takes the plan with the lowest
predicted time, top-5 measures the five lowest, both without plans that spill registers (`spilling`); autotune measures
whole batches, trains on all measurements, and repeats. All measurements are in one database per device, and each round
stores its model (`folder`), so that stopping loses at most one plan: the same command continues.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from experiments.learning.collect import problem_of, program_at
from experiments.learning.database import Database, MeasuredPlan
from experiments.learning.dataset import FEWEST, Pipeline, pipeline_of
from experiments.learning.folder import Tell, TuningJob, claim, keep_model, rounds_done
from experiments.learning.samples import Sample, batch, space_of
from experiments.learning.series import LIMITS, Origin, Series, series_of
from experiments.learning.spilling import Compiling, likely_fastest, opened
from experiments.search.guides.beam_plans import unrated_words
from experiments.search.guides.guided import GuidedSpace
from experiments.search.guides.settings import beam_settings, settings_text
from generator.errors import InputError
from generator.plan import Plan
from generator.polyhedral.pipelines.dataflow import dataflow
from generator.problem import Problem
from generator.program import Program
from metrics.costs.device import cost_device
from metrics.costs.learned.file import Trained, Training, model_text
from metrics.costs.learned.model import Learned
from metrics.costs.learned.training import CONTINUED, train
from metrics.outcome import cost_ms
from runners.backends import reports_spills
from runners.base import DeviceInfo, Job, Limits, Runner

FEW = 5


@dataclass(frozen=True, slots=True)
class Wanted:
    """An autotuning: `samples` plans per batch, `rounds` of them, `epochs` of training after each. `limits`: how plans
    are measured; `beam`: parameters of the beam search (`experiments.search.guides.settings`).
    """

    origins: tuple[Origin, ...]
    out: Path
    samples: int = 80
    rounds: int = 20
    epochs: int = 200
    seed: int = 0
    limits: Limits = LIMITS
    beam: str = ""


@dataclass(frozen=True, eq=False)
class Given:
    """A pipeline to tune."""

    program: Program
    series: Series

    @cached_property
    def problem(self) -> Problem:
        """The program with its data and results, which are computed on first use. Raises InputError."""
        return problem_of(self.series.origin)

    def compute_results(self) -> None:
        """Compute the data and results now, so that a refusal comes first. Raises InputError."""
        _ = self.problem

    @property
    def name(self) -> str:
        """Its name in messages."""
        return Path(self.series.origin.source).name


@dataclass(frozen=True, slots=True, eq=False)
class Tuned:
    """A pipeline to tune, with its space, guided by a model."""

    given: Given
    space: GuidedSpace


def given(origin: Origin, device: DeviceInfo) -> Given:
    """Return a pipeline in its current form. Raises InputError if it has no stages to place, or cannot be read."""
    program = program_at(origin)
    if not any(node.stage for node in dataflow(program).nodes):
        raise InputError(f"{origin.source} computes no array between others, so that there are no stages to place; use "
                         "`antune tune`")
    return Given(program, series_of(origin, program, device))


def tuned(one: Given, device: DeviceInfo, model: Learned, beam: str = "") -> Tuned:
    """Return a pipeline with its space, guided by a model. Raises InputError for other parameters of a `beam`."""
    return Tuned(one, space_of(one.program, one.series.origin.source, device.target, model, beam_settings(beam)))


def one_shot(one: Tuned, wanted: Wanted, device: DeviceInfo, tell: Tell) -> Sample:
    """Return the plan of a batch with the lowest predicted time (see `spilling`). Raises InputError if there is none.
    """
    return _likely(one, 1, wanted, device, tell)[0]


def _likely(one: Tuned, count: int, wanted: Wanted, device: DeviceInfo, tell: Tell,
            runner: Runner | None = None) -> tuple[Sample, ...]:
    """Return the plans of a batch with the lowest predicted times; `runner` will run them. Raises InputError if there
    is none.
    """
    for line in unrated_words(one.given.program):
        tell(f"{one.given.name}: {line}")
    all_count = reports_spills(device.key)  # those with the lowest predicted times may be passed over
    found = batch(one.space, wanted.samples, (wanted.seed, 0), least=None if all_count else count)
    if not found:
        raise InputError(f"no plan of {one.given.name} is legal")
    where = Compiling(lambda: one.given.problem, one.given.name, device, wanted.limits, tell, runner)
    return likely_fastest(found, count, where)


def measured(base: Database, one: Given, plans: Sequence[Plan], number: int,
             runner: AbstractContextManager[Runner]) -> dict[str, float]:
    """Return milliseconds of plans by digest, from the database if they are known; failures are absent. `runner` is
    entered only if there is something to measure.
    """
    known = {plan.plan.digest: plan.ms for plan in base.plans(one.series)}
    fresh = [plan for plan in dict.fromkeys(plans) if plan.digest not in known]
    if fresh:
        with runner as running:
            for k, outcome in running.evaluate([Job(k, plan) for k, plan in enumerate(fresh)]):
                base.add(one.series, number, fresh[k], outcome, True)
                known[fresh[k].digest] = cost_ms(outcome)
    return {plan.digest: ms for plan in plans if (ms := known[plan.digest]) is not None}


def top(base: Database, one: Tuned, wanted: Wanted, device: DeviceInfo, tell: Tell) -> tuple[Plan, float]:
    """Return the fastest of the plans with the lowest predicted times (see `spilling`). Raises InputError if all of
    them fail.
    """
    with opened(one.given.problem, device, wanted.limits) as runner:
        found = _likely(one, FEW, wanted, device, tell, runner)
        times = measured(base, one.given, [sample.plan for sample in found], 0, nullcontext(runner))
    if not times:
        raise InputError(f"none of the {len(found)} plans of {one.given.name} can be run; see `antune doctor`")
    best = min((sample.plan for sample in found if sample.plan.digest in times), key=lambda plan: times[plan.digest])
    return best, times[best.digest]


def autotune(base: Database, found: Sequence[Given], wanted: Wanted, device: DeviceInfo, start: Trained,
             tell: Tell) -> None:
    """Do the rounds that are not done yet on the pipelines `found`; `tell` gets a line per pipeline and round.

    Raises InputError if the folder is that of another job.
    """
    begun = hashlib.sha256(model_text(start).encode()).hexdigest()[:16]
    claim(wanted.out, TuningJob(tuple(one.series for one in found), wanted.samples, wanted.epochs, wanted.seed, begun,
                                settings_text(beam_settings(wanted.beam))))
    done, model = rounds_done(wanted.out, start, tell)
    for number in range(done + 1, wanted.rounds + 1):
        for one in found:
            space = tuned(one, device, Learned(model), wanted.beam)
            tell(f"round {number}: {_round(base, space, wanted, number, device)}")
        before, model = model, trained(base, found, wanted, device, start.training, model, number)
        if model is before:
            tell(f"round {number}: the model stays as it was: it learns from programs with {FEWEST} measured plans "
                 f"or more, and none has so many; use more rounds, or --samples {FEWEST} or more "
                 "with another --out")
        keep_model(wanted.out, number, model)


def best_of(base: Database, one: Given) -> MeasuredPlan:
    """Return the fastest measured plan. Raises InputError if there is none."""
    found = [(plan.ms, k, plan) for k, plan in enumerate(base.plans(one.series)) if plan.ms is not None]
    if not found:
        raise InputError(f"none of the plans of {one.name} can be run; see `antune doctor`")
    return min(found, key=lambda entry: entry[:2])[2]


def _round(base: Database, one: Tuned, wanted: Wanted, number: int, device: DeviceInfo) -> str:
    """Measure a batch; return the result in words, also the time of the plan with the lowest predicted time, even if
    it spills registers.
    """
    found = batch(one.space, wanted.samples, (wanted.seed, number))
    runner = opened(one.given.problem, device, wanted.limits)
    times = measured(base, one.given, [sample.plan for sample in found], number, runner)
    best = min(found, key=lambda sample: sample.predicted_ms, default=None)
    first = times.get(best.plan.digest) if best is not None else None
    fastest = min((plan.ms for plan in base.plans(one.given.series) if plan.ms is not None), default=None)
    return (f"{one.given.name}: {len(times)} of {len(found)} plans run; plan predicted fastest {_ms(first)}, "
            f"best so far {_ms(fastest)}")


def _ms(value: float | None) -> str:
    return "none" if value is None else f"{value:.3g} ms"


def trained(base: Database, some: Sequence[Given], wanted: Wanted, device: DeviceInfo, begun: Training,
            before: Trained, number: int) -> Trained:
    """Return the model after more training, on all measurements of these pipelines; `begun`: of the first model."""
    found = list(_measured_pipelines(base, some, device))
    if not found:
        return before
    rng = np.random.default_rng((wanted.seed, number))
    batches = [one.batch for one in found]
    members = tuple(train(batches, wanted.epochs, rng, weights, rate=CONTINUED) for weights in before.members)
    count = sum(len(one.plans) for one in found)
    made = Training(device.key, device.name, begun.plans + count, begun.pipelines + len(found), wanted.epochs,
                    f"antune autotune, round {number}, after: {begun.command}")
    return Trained(made, members, before.caution)


def _measured_pipelines(base: Database, some: Sequence[Given], device: DeviceInfo) -> Iterator[Pipeline]:
    for one in some:
        timed = [plan for plan in base.plans(one.series) if plan.ms is not None]
        made = pipeline_of(one.program, one.series.origin, timed, cost_device(device.target))
        if made is not None:
            yield made
