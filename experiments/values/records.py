"""What a run consists of, as values: who made it, what was asked, what came of it."""

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
    """The fixed facts of a run. `source_hash` is the SHA-256 of the tuned file when the run began.

    `sequential_ms` are the samples of the sequential C program, `compiler` is what compiled it, `baselines` are other
    builds of it (none in runs that older versions began).
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
    """A plan that was asked for. `number` counts all of them in ask order; 0 is the default plan.

    `iteration` counts from 1 (0: the default plan), `ant` from 0 within its iteration.
    """

    number: int
    iteration: int
    ant: int
    plan: Plan


@dataclass(frozen=True, slots=True)
class Evaluation(Asked):
    """The same with the walk that led to it, as the JSON text of its choices, which is longer than all the rest."""

    walk: str


@dataclass(frozen=True, slots=True)
class Result:
    """An evaluation with its outcome. `elapsed_s`: active seconds of the run when it was stored.

    `reused_from`: the run directory that the outcome was taken from, if it was not measured.
    """

    evaluation: Asked
    outcome: Outcome
    finished_at: str
    elapsed_s: float
    reused_from: str | None = None


def best_of(results: Iterable[Result]) -> Result | None:
    """The timed result of the least cost (the earliest of equals), None when nothing valid was found.

    Costs are times, unless `results` are judged by another objective (`experiments.values.objective`).
    """
    timed = [(cost, r.evaluation.number, r) for r in results if (cost := cost_ms(r.outcome)) is not None]
    return min(timed, key=lambda entry: entry[:2])[2] if timed else None


def speedup(base_ms: float | None, ms: float | None) -> float | None:
    """How many times faster `ms` is than `base_ms`; None when one of them is unknown or zero."""
    return base_ms / ms if base_ms and ms else None
