"""Rounds of samples, measurement and training on given pipelines (Anderson et al. 2021, sections 5 and 6.1).

A *batch* is the plan of a beam search and greedy samples with dropout. One-shot takes the plan with the lowest
predicted time, top-5 measures the five lowest; autotune measures whole batches, trains on all that was measured, and
begins again. All that is measured is in one database per device, and each round leaves its model behind, so that
stopping loses a plan at most: the same command goes on.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from experiments.learning.collect import LIMITS, problem_of
from experiments.learning.database import Database, Origin
from experiments.learning.dataset import Pipeline, pipeline_of
from experiments.search.guides.guided import GuidedSpace, guided_space
from experiments.search.parts import make_reachable_space
from experiments.values.options import Budget, RunOptions
from explorer.beam import greedy, search
from explorer.beam_pass import BeamOptions
from generator.errors import InputError
from generator.frontend_c.source import Compilation
from generator.plan import Plan
from generator.polyhedral.pipelines.dataflow import dataflow
from generator.problem import Problem, program_of
from graph.guiding import Prefix, guide_of
from graph.space import DeadEnd
from metrics.costs.device import cost_device
from metrics.costs.learned.file import Trained, Training, read_model, write_model
from metrics.costs.learned.model import Learned
from metrics.costs.learned.training import train
from metrics.outcome import cost_ms
from runners.base import DeviceInfo, Job
from runners.registry import open_runner

ONE_SHOT, TOP, AUTOTUNE = "one-shot", "top-5", "autotune"
FEW = 5
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is tuned, and how: `samples` plans per batch, `rounds` of them, `epochs` of training after each."""

    origins: tuple[Origin, ...]
    out: Path
    samples: int = 80
    rounds: int = 20
    epochs: int = 200
    seed: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Tuned:
    """A pipeline that is tuned."""

    origin: Origin
    problem: Problem
    space: GuidedSpace


@dataclass(frozen=True, slots=True)
class Sample:
    """A plan of a batch, and milliseconds that the model predicts; the first one is the beam's."""

    plan: Plan
    predicted_ms: float


def tuned(origin: Origin, device: DeviceInfo, model: Learned) -> Tuned:
    """A pipeline with its space, guided by a model. Raises InputError: it has no stages to place."""
    problem = problem_of(origin)
    program = program_of(problem.subject)
    if not any(node.stage for node in dataflow(program).nodes):
        raise InputError(f"{origin.source} computes no array between others, so that there are no stages to place; use "
                         "`antune tune`")
    options = RunOptions(origin.source, Compilation(), Budget(evaluations=1), space="pipeline")
    inside = make_reachable_space(program, device.target, options)
    return Tuned(origin, problem, guided_space(inside, program, device.target, model))


def batch(one: Tuned, count: int, seed: tuple[int, ...], options: BeamOptions | None = None) -> tuple[Sample, ...]:
    """Up to `count` different plans: the beam's, then greedy ones."""
    given, guide = options or BeamOptions(), guide_of(one.space)
    assert guide is not None
    found: dict[Plan, float] = {}
    searched = search(one.space, guide, given, np.random.default_rng((*seed, 0)))
    end = searched.end
    for number in range(1, 2 * count):
        if end is not None:
            found.setdefault(end.state.plan, guide.costs([end])[0])
        if len(found) >= count:
            break
        end = _greedy(one.space, given, np.random.default_rng((*seed, number)), searched.length)
    return tuple(Sample(plan, ms) for plan, ms in found.items())


def _greedy(space: GuidedSpace, options: BeamOptions, rng: np.random.Generator, length: int) -> Prefix | None:
    guide = guide_of(space)
    assert guide is not None
    with suppress(DeadEnd):
        return greedy(space, guide, options, rng, length)
    return None


def one_shot(one: Tuned, wanted: Wanted) -> Sample:
    """The plan of a batch with the lowest predicted time. Raises InputError: there is none."""
    found = batch(one, wanted.samples, (wanted.seed, 0))
    if not found:
        raise InputError(f"no plan of {one.origin.source} is legal")
    return min(found, key=lambda sample: sample.predicted_ms)


def measured(base: Database, one: Tuned, plans: Sequence[Plan], number: int, device: DeviceInfo) -> dict[str, float]:
    """Milliseconds of plans by digest, those that are known from the database; failures are absent."""
    known = {plan.plan.digest: plan.ms for plan in base.plans(one.origin)}
    fresh = [plan for plan in dict.fromkeys(plans) if plan.digest not in known]
    if fresh:
        with tempfile.TemporaryDirectory(prefix="antune-learning-") as folder, closing(
                open_runner(one.problem, device.key, LIMITS, Path(folder))) as runner:
            for k, outcome in runner.evaluate([Job(k, plan) for k, plan in enumerate(fresh)]):
                base.add(one.origin, number, fresh[k], outcome)
                known[fresh[k].digest] = cost_ms(outcome)
    return {plan.digest: ms for plan in plans if (ms := known[plan.digest]) is not None}


def top(base: Database, one: Tuned, wanted: Wanted, device: DeviceInfo) -> tuple[Plan, float]:
    """The fastest of the plans with the lowest predicted times. Raises InputError: all of them fail."""
    found = sorted(batch(one, wanted.samples, (wanted.seed, 0)), key=lambda sample: sample.predicted_ms)[:FEW]
    times = measured(base, one, [sample.plan for sample in found], 0, device)
    if not times:
        raise InputError(f"none of the {len(found)} plans of {one.origin.source} can be run")
    best = min((sample.plan for sample in found if sample.plan.digest in times), key=lambda plan: times[plan.digest])
    return best, times[best.digest]


def autotune(base: Database, wanted: Wanted, device: DeviceInfo, start: Trained, tell: Tell) -> Trained:
    """Rounds that are not done yet. Returns the last model; `tell` hears a line per pipeline and round."""
    done, model = rounds_done(wanted.out, start)
    for number in range(done + 1, wanted.rounds + 1):
        for one in (tuned(origin, device, Learned(model)) for origin in wanted.origins):
            tell(f"round {number}: {_round(base, one, wanted, number, device)}")
        model = trained(base, wanted, device, model, number)
        write_model(wanted.out / f"model-{number}.json", model)
    return model


def rounds_done(out: Path, start: Trained) -> tuple[int, Trained]:
    """How many rounds left a model behind, and the last one."""
    numbers = [int(tail) for file in out.glob("model-*.json") if (tail := file.stem.removeprefix("model-")).isdecimal()]
    return (max(numbers), read_model(out / f"model-{max(numbers)}.json")) if numbers else (0, start)


def _round(base: Database, one: Tuned, wanted: Wanted, number: int, device: DeviceInfo) -> str:
    """Measure a batch; in words what came of it."""
    found = batch(one, wanted.samples, (wanted.seed, number))
    times = measured(base, one, [sample.plan for sample in found], number, device)
    best = min(found, key=lambda sample: sample.predicted_ms, default=None)
    shot = times.get(best.plan.digest) if best is not None else None
    fastest = min((plan.ms for plan in base.plans(one.origin) if plan.ms is not None), default=None)
    return (f"{Path(one.origin.source).name}: {len(times)} of {len(found)} plans run; one-shot plan {_ms(shot)}, "
            f"best so far {_ms(fastest)}")


def _ms(value: float | None) -> str:
    return "none" if value is None else f"{value:.3g} ms"


def trained(base: Database, wanted: Wanted, device: DeviceInfo, before: Trained, number: int) -> Trained:
    """The model after more training, on all that was measured of these pipelines."""
    found = list(_measured_pipelines(base, wanted.origins, device))
    if not found:
        return before
    rng = np.random.default_rng((wanted.seed, number))
    weights = train([one.batch for one in found], wanted.epochs, rng, before.weights)
    count = sum(len(one.plans) for one in found)
    made = Training(device.key, device.name, before.training.plans + count, before.training.pipelines + len(found),
                    wanted.epochs, f"antune autotune, round {number}, after: {before.training.command}")
    return Trained(made, weights)


def _measured_pipelines(base: Database, origins: Sequence[Origin], device: DeviceInfo) -> Iterator[Pipeline]:
    for origin in origins:
        timed = [plan for plan in base.plans(origin) if plan.ms is not None]
        made = pipeline_of(program_of(problem_of(origin).subject), origin, timed, cost_device(device.target))
        if made is not None:
            yield made
