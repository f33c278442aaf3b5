"""A process that checks plans of any program on a device, started once per test process: starting the workers of a
runner takes longer than most plans. Runners themselves are tested in tests/runners.
"""

from __future__ import annotations

import atexit
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import assert_never

from generator.lowering import lower
from generator.plan import Plan
from generator.problem import Problem, save_reference
from metrics.outcome import CompileFailed, Crashed, Durations, Illegal, LaunchFailed, Outcome, TimedOut
from runners.base import DeviceInfo, Limits
from runners.locks import timing_lock
from runners.messages import Answer, Report, Startup
from runners.opencl.platforms import driver_environment
from runners.pools import wait_for
from runners.processes import Died, Expired, Finished, Task, WorkerPool
from runners.tasks import Compile, Compiled, Generate, Generated, Measure, WorkerSetup

LIMITS = Limits(compile_s=120, run_s=60, min_repeats=2, max_repeats=2, time_s=0.1)
"""High enough for a busy machine."""
PLAN_S = 300.0
POCL_FLAGS = "POCL_EXTRA_BUILD_FLAGS"


@dataclass(frozen=True, slots=True)
class Check:
    """Task: evaluate `plan`. `number` distinguishes problems: the workers of the latest one are kept."""

    number: int
    setup: WorkerSetup
    plan: Plan


class Bench:
    """Handles Check."""

    def __init__(self) -> None:
        """Opens nothing yet."""
        self._number = 0

    def __call__(self, task: Check, report: Report) -> Answer:
        """Return an Outcome."""
        from runners.compile_worker import CompileWorker  # here, because it loads pyopencl
        from runners.device_worker import DeviceWorker

        if task.number != self._number:
            self._number = task.number
            self._compiler, self._device = CompileWorker(task.setup), DeviceWorker(task.setup)
        made: Generated | Illegal = self._compiler(Generate(task.plan, PLAN_S, rated=False), report).value
        if isinstance(made, Illegal):
            return Answer(made)
        built: Compiled | CompileFailed | LaunchFailed = self._compiler(Compile(made.variant, PLAN_S), report).value
        if not isinstance(built, Compiled):
            return Answer(built)
        return Answer(self._device(Measure(built, None, task.setup.limits), report).value)


@lru_cache
def _pool(flags: str | None) -> tuple[WorkerPool, Path, Iterator[int]]:
    """The process that compiles with these options of PoCL."""
    folder = tempfile.TemporaryDirectory(prefix="antune-bench-")
    path = Path(folder.name)
    pool = WorkerPool("bench", 1, Startup(Bench, ()), driver_environment(path), path)
    atexit.register(folder.cleanup)
    atexit.register(pool.close)
    return pool, path, count(1)


def outcomes_of(device: DeviceInfo, found: Problem, plans: Iterable[Plan], limits: Limits = LIMITS) -> list[Outcome]:
    """Return the outcomes of `plans` on an OpenCL device, in their order."""
    pool, folder, numbers = _pool(os.environ.get(POCL_FLAGS))
    number, reference = next(numbers), folder / "reference.npz"
    save_reference(found.reference, reference)
    setup = WorkerSetup(found.program, reference, device.key, device.target, limits,
                        timing_lock(device.key, device.target), lower)
    return [_outcome(pool, Check(number, setup, plan)) for plan in plans]


def _outcome(pool: WorkerPool, check: Check) -> Outcome:
    pool.submit(Task(check.number, check, "generate", PLAN_S))
    while True:
        wait_for([pool])
        for event in pool.poll():
            match event:
                case Finished(_, outcome):
                    return outcome  # type: ignore[no-any-return]  # tasks are any values
                case Died(_, phase, message, _):
                    return Crashed(phase, message, Durations())
                case Expired(_, phase, limit_s, _):
                    return TimedOut(phase, limit_s, Durations())
                case _:
                    assert_never(event)
