"""Values that describe a run: its fixed facts, the plans asked for, and their outcomes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from experiments.values.options import RunOptions
from generator.plan import Plan
from generator.problem import Baseline, Subject, program_of
from generator.program import Program
from metrics.outcome import Outcome, cost_ms
from runners.base import DeviceInfo

Ending: TypeAlias = Literal["finished", "exhausted", "interrupted"]


@dataclass(frozen=True, slots=True)
class RunInfo:
    """The facts of a run that never change. `source_hash` is the SHA-256 of the tuned file when the run began.

    `sequential_ms` are the times of the sequential C program in milliseconds, one per repeat, and `compiler` compiled
    it. `baselines` are other builds of the program (empty in runs that older versions began).
    """

    created_at: str
    options: RunOptions
    source_hash: str
    source_text: str
    subject: Subject
    device: DeviceInfo
    compiler: str
    sequential_ms: tuple[float, ...]
    baselines: tuple[Baseline, ...] = ()

    @property
    def program(self) -> Program:
        """The tuned program. Raises InputError for a template."""
        return program_of(self.subject)


@dataclass(frozen=True, slots=True)
class Asked:
    """A plan that was asked for. `number` counts plans in ask order; 0 is the default plan.

    `iteration` counts from 1 (0: the default plan), `ant` from 0 within its iteration.
    """

    number: int
    iteration: int
    ant: int
    plan: Plan


@dataclass(frozen=True, slots=True)
class Evaluation(Asked):
    """A plan with the walk that led to it, as JSON text of the walk's choices, the largest field by far."""

    walk: str


@dataclass(frozen=True, slots=True)
class Result:
    """An evaluation with its outcome. `elapsed_s`: active seconds of the run when the outcome was stored.

    `reused_from`: the run directory that the outcome was copied from, if it was not measured here.
    """

    evaluation: Asked
    outcome: Outcome
    finished_at: str
    elapsed_s: float
    reused_from: str | None = None


def best_of(results: Iterable[Result]) -> Result | None:
    """Return the timed result with the least cost (the earliest if equal); None if there is no valid result.

    Costs are times, unless `results` are judged by another objective (`experiments.values.sought`).
    """
    timed = [(cost, r.evaluation.number, r) for r in results if (cost := cost_ms(r.outcome)) is not None]
    return min(timed, key=lambda entry: entry[:2])[2] if timed else None


def speedup(base_ms: float | None, ms: float | None) -> float | None:
    """Return `base_ms / ms`; None if one of them is unknown or zero."""
    return base_ms / ms if base_ms and ms else None
