"""Batches without processes: pools that answer by a script, and codes with many kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from multiprocessing.connection import Connection

from generator.frontend_c.source import Compilation
from generator.lowering import lower
from generator.lowering.heuristics.default import default_plan
from generator.plan import Plan
from generator.problem import Problem
from generator.variant import Variant
from metrics.outcome import CompileFailed, Durations, Phase, Timed
from runners.processes import Event, Task
from runners.shares import LEAST
from tests.support.programs import scop, write_c
from tests.support.reading import read_untimed
from tests.support.suite import TARGET

MANY = 2 * LEAST + 2


LOOPS = "\n".join(["for (j = 0; j < 3; j++) {", "  for (i = 1; i < 40; i++) x[i] = x[i] * 0.5 + j;",
                   "  for (i = 1; i < 40; i++) y[i] = x[39 - i] + y[i]; }",
                   *(f"for (i = 1; i < 39; i++) A[{k + 1}][i] = A[{k}][i - 1] + {k}.5 * A[{k}][i + 1];"
                     for k in range(MANY - 2))])
"""The first two loops are launched by a loop of the host, which gives them its iterator."""


@lru_cache
def many() -> Problem:
    """Return a program of so many statements."""
    file = write_c(scop(LOOPS, f"double A[{MANY}][40], x[40], y[40];"))
    return read_untimed(file, Compilation(), None, None, {}, 0)


class FakePool:
    """A pool without processes: `script` gives the event for each task that has begun; what has none stays there."""

    def __init__(self, script: Callable[[Task], Event | None]) -> None:
        """See above."""
        self.script, self.asked, self.limits, self.cancelled = script, list[Task](), list[tuple[int, float]](), 0
        self.queue = list[Task]()

    @property
    def unfinished(self) -> int:
        """See `runners.pools.Pool`."""
        return len(self.queue)

    running = unfinished

    @property
    def free(self) -> int:
        """See `runners.pools.Pool`."""
        return 1

    def where(self, key: int) -> str:
        """See `runners.pools.Pool`."""
        return ""

    def submit(self, task: Task) -> None:
        """See `runners.pools.Pool`."""
        self.asked.append(task)
        self.queue.append(task)

    def poll(self) -> list[Event]:
        """See `runners.pools.Pool`."""
        found = [(task, self.script(task)) for task in self.queue]
        self.queue = [task for task, event in found if event is None]
        return [event for _, event in found if event is not None]

    def tighten(self, key: int, phase: Phase, limit_s: float) -> None:
        """See `runners.pools.Pool`."""
        self.limits.append((key, limit_s))

    def cancel(self) -> None:
        """See `runners.pools.Pool`."""
        self.cancelled += 1
        self.queue.clear()

    def close(self) -> None:
        """See `runners.pools.Pool`."""
        self.queue.clear()

    def connections(self) -> list[Connection]:
        """See `runners.pools.Pool`."""
        return []

    def next_deadline(self) -> float | None:
        """See `runners.pools.Pool`."""
        return 0.0


GENERATE_S, WHOLE_S, TIME_S = 0.5, 0.25, 2.0
FAILED = CompileFailed("no", Durations(compile_s=WHOLE_S))
TIMED = Timed(1.0, 1.0, 1.0, (1.0,), 1.0, (), "code", False, Durations(time_s=TIME_S))


@lru_cache
def lowered() -> tuple[Plan, Variant]:
    """Return the default plan of `many` and its code."""
    plan = default_plan(many().program, TARGET)
    return plan, lower(many().program, plan, TARGET)


def other(number: int) -> Variant:
    """Return another code of as many kernels."""
    variant = lowered()[1]
    return replace(variant, preamble=f"{variant.preamble}\n/* {number} */")
