"""Profile plans of a run: choose the plans, and add the counters to their outcomes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from experiments.store.profiles_table import Counted
from experiments.values.records import Asked, Result
from generator.errors import InputError
from metrics.outcome import NoProfile, Outcome, Timed
from runners.base import DeviceInfo, Job, ProfilingRunner, Runner


def profiling(runner: Runner) -> ProfilingRunner:
    """Return `runner` if its device has counters. Raises InputError if not."""
    if isinstance(runner, ProfilingRunner):
        return runner
    raise InputError(_nothing(runner.device))


def _nothing(device: DeviceInfo) -> str:
    return f"nothing can be counted on the device {device.name}; leave out --profile, or choose a real device"


def fastest(batch: Sequence[Asked], outcomes: Mapping[int, Outcome], count: int) -> list[Asked]:
    """Return the `count` fastest plans of `batch`, fastest first, without those whose measurement was stopped early."""
    timed = [(outcome.median_ms, evaluation.number, evaluation) for evaluation in batch
             if isinstance(outcome := outcomes.get(evaluation.number), Timed) and not outcome.stopped_early]
    return [evaluation for _, _, evaluation in sorted(timed, key=lambda entry: entry[:2])[:count]]


def profile(runner: ProfilingRunner, evaluations: Sequence[Asked]) -> Iterator[tuple[int, Counted]]:
    """Yield (evaluation number, counters) as they arrive."""
    yield from runner.profile([Job(evaluation.number, evaluation.plan) for evaluation in evaluations])


def with_profile(outcome: Outcome, counted: Counted | None) -> Outcome:
    """Return `outcome` with the counters added to each kernel's metrics from the static model."""
    if not isinstance(outcome, Timed) or counted is None or isinstance(counted, NoProfile):
        return outcome
    by_kernel = dict(counted.kernels)
    kernels = tuple(replace(kernel, metrics=kernel.metrics + by_kernel.get(kernel.statements, ()))
                    for kernel in outcome.kernels)
    return replace(outcome, kernels=kernels)


def as_told(batch: Sequence[Asked], outcomes: Mapping[int, Outcome], profiles: Mapping[int, Counted],
            count: int) -> dict[int, Outcome]:
    """Return the outcomes for the explorer, by number: those of the `count` fastest plans with their counters.

    Counters that `antune profile` added later are left out, because a resumed explorer must get the same as the
    original one.
    """
    counted = {evaluation.number for evaluation in fastest(batch, outcomes, count)}
    return {e.number: with_profile(outcomes[e.number], profiles.get(e.number) if e.number in counted else None)
            for e in batch if e.number in outcomes}


def worth_profiling(results: Sequence[Result], count: int) -> list[Asked]:
    """Return the default plan and the `count` fastest plans of a run."""
    outcomes = {result.evaluation.number: result.outcome for result in results}
    evaluations = [result.evaluation for result in results]
    default = [evaluation for evaluation in evaluations if evaluation.number == 0]
    chosen = fastest([e for e in evaluations if e.number], outcomes, count)
    return [e for e in default if isinstance(outcomes[e.number], Timed)] + chosen
