"""The deterministic device inside a worker process: whole evaluations as tasks, for clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, assert_never

from generator.plan import Plan
from generator.problem import Problem, Reference, Subject
from runners.base import Bounds, Job, Limits, Sitting
from runners.messages import Answer, Handler, Report


@dataclass(frozen=True, slots=True)
class Evaluate:
    """Task: evaluate `plan`. Answered by an Outcome."""

    plan: Plan
    bounds: Bounds


@dataclass(frozen=True, slots=True)
class Again:
    """Task: time `plans` again, in turns. Answered by a tuple of Outcomes."""

    plans: tuple[Plan, ...]
    sitting: Sitting


WholeTask: TypeAlias = Evaluate | Again


def make_deterministic_worker(subject: Subject, limits: Limits, selector: str) -> Handler:
    """Factory that a worker of the device `selector` (deterministic, deterministic:SECONDS) calls."""
    from runners.deterministic import DeterministicRunner
    from runners.registry import delay_of

    nothing = Reference({}, {}, (), "harness", "", ())
    runner = DeterministicRunner(Problem(subject, nothing), limits, delay_of(selector))

    def handler(task: WholeTask, report: Report) -> Answer:
        report("time", None)
        match task:
            case Evaluate(plan, bounds):
                return Answer(next(runner.evaluate([Job(0, plan)], bounds))[1])
            case Again(plans, sitting):
                jobs = [Job(number, plan) for number, plan in enumerate(plans)]
                return Answer(tuple(outcome for _, outcome in runner.remeasure(jobs, sitting)))
            case _:
                assert_never(task)

    return handler
