"""Times finalists again in the workers: compiles all of them, then times them in turns in one new process.

A variant that crashes the process must not affect the others. If a sitting returns anything but times, each variant
runs alone in a process of its own, and the result there is its outcome.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from typing import assert_never

from generator.errors import IllegalPlan
from generator.plan import Plan
from generator.variant import Variant
from metrics.outcome import (
    Compilation,
    CompileFailed,
    Crashed,
    Durations,
    Failed,
    Illegal,
    LaunchFailed,
    NoProfile,
    Outcome,
    Phase,
    Profile,
    TimedOut,
    WrongResult,
)
from runners.base import Job, Limits, Sitting
from runners.pools import Devices, Pool, wait_for
from runners.processes import Died, Event, Expired, Finished, Task
from runners.tasks import Compile, Compiled, Count, Generate, Generated, Interleave, Interleaved, Make, Measure

NOTHING = Durations()


class Rematch:
    """One call of `Runner.remeasure`, `ProfilingRunner.profile` or `CompilingRunner.compiled`.

    `ready` maps plan digests to device code, and is shared by all sittings of a runner.
    """

    def __init__(self, compilers: Pool, devices: Devices, limits: Limits,
                 ready: MutableMapping[str, Compiled], make: Make | None = None) -> None:
        """The pools must be idle, and are idle afterwards. `make`: see `Batch`."""
        self._compilers, self._devices, self._limits, self._ready = compilers, devices, limits, ready
        self._make = make

    def run(self, jobs: Sequence[Job], sitting: Sitting) -> Iterator[tuple[int, Outcome]]:
        """Yield (job number, outcome): first for plans that do not compile, for the others after the sitting."""
        try:
            failed = self._compile([job for job in jobs if job.plan.digest not in self._ready])
            for job in jobs:
                if (outcome := failed.get(job.plan.digest)) is not None:
                    yield job.number, outcome
            yield from self._sit([job for job in jobs if job.plan.digest in self._ready], sitting)
        finally:
            self._compilers.cancel()
            self._devices.cancel()

    def profile(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Profile | NoProfile]]:
        """Yield (job number, profile or the reason for its absence); each plan runs in a process of its own."""
        try:
            failed = self._compile([job for job in jobs if job.plan.digest not in self._ready])
            for job in jobs:
                if (outcome := failed.get(job.plan.digest)) is not None:
                    yield job.number, NoProfile(_message(outcome))
                    continue
                task = Task(0, Count(self._ready[job.plan.digest]), "time", None)
                ((_, answer),) = self._answers(self._devices, [task])
                yield job.number, answer if isinstance(answer, Profile | NoProfile) else NoProfile(_message(answer))
        finally:
            self._compilers.cancel()
            self._devices.cancel()

    def compiled(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Compilation | Failed]]:
        """Yield (job number, what the compiler reports, or how it failed), in the order of `jobs`; nothing runs."""
        try:
            failed = self._compile([job for job in jobs if job.plan.digest not in self._ready])
            for job in jobs:
                outcome = failed.get(job.plan.digest)
                yield job.number, outcome or Compilation(self._ready[job.plan.digest].spills)
        finally:
            self._compilers.cancel()
            self._devices.cancel()

    def refusal(self, variant: Variant) -> str | None:
        """Return why `variant` cannot be compiled and run; None if it can, regardless of its results."""
        try:
            task = Task(0, Compile(variant, self._limits.compile_s), "compile", None)
            ((_, answer),) = self._answers(self._compilers, [task])
            if isinstance(answer, Compiled):
                task = Task(0, Measure(answer, None, self._limits), "check", None)
                ((_, answer),) = self._answers(self._devices, [task])
            return answer.message if isinstance(answer, CompileFailed | LaunchFailed | Crashed | TimedOut) else None
        finally:
            self._compilers.cancel()
            self._devices.cancel()

    def _compile(self, jobs: Sequence[Job]) -> dict[str, Failed]:
        """Compile the plans of `jobs` into `ready`; return the failures by digest."""
        plans = {job.plan.digest: job.plan for job in jobs}
        digests, limit_s = list(plans), self._limits.compile_s
        failed: dict[str, Failed] = {}
        tasks = list[Task]()
        for key, digest in enumerate(digests):
            first = self._first_task(key, plans[digest])
            if isinstance(first, Illegal):
                failed[digest] = first
            else:
                tasks.append(first)
        for key, answer in self._answers(self._compilers, tasks):
            if isinstance(answer, Generated):
                compile_task = Compile(answer.variant, limit_s)
                self._compilers.submit(Task(key, compile_task, "compile", None))
            elif isinstance(answer, Compiled):
                self._ready[digests[key]] = answer
            else:
                failed[digests[key]] = _failure(answer)
        return failed

    def _first_task(self, key: int, plan: Plan) -> Task | Illegal:
        """Return the task that begins with `plan`; Illegal if the maker of a template refuses it."""
        if self._make is None:
            return Task(key, Generate(plan, self._limits.compile_s, rated=False), "generate", None)
        try:
            return Task(key, Compile(self._make(plan), self._limits.compile_s), "compile", None)
        except IllegalPlan as error:  # a plan that was timed before is legal, but `compiled` is for all plans
            return Illegal(str(error), NOTHING)

    def _sit(self, jobs: Sequence[Job], sitting: Sitting) -> Iterator[tuple[int, Outcome]]:
        if not jobs:
            return
        task = Task(0, Interleave(tuple(self._ready[job.plan.digest] for job in jobs), sitting), "check", None)
        ((_, answer),) = self._answers(self._devices, [task])
        if isinstance(answer, Interleaved):
            yield from zip((job.number for job in jobs), answer.outcomes, strict=True)
        elif len(jobs) == 1:
            yield jobs[0].number, _failure(answer)
        else:
            for job in jobs:
                yield from self._sit([job], sitting)

    def _answers(self, pool: Pool, tasks: Sequence[Task]) -> Iterator[tuple[int, object]]:
        """Yield (key, answer) of `tasks`, and of tasks submitted meanwhile, until the pool is idle."""
        for task in tasks:
            pool.submit(task)
        while pool.unfinished:
            wait_for([pool])
            for event in pool.poll():
                yield event.key, self._answer(event)

    def _answer(self, event: Event) -> object:
        match event:
            case Finished(_, value):
                return value
            case Expired(_, phase, _, _):
                return TimedOut(phase, self._limit(phase), NOTHING)
            case Died(_, phase, message, _):
                return Crashed(phase, message, NOTHING)
            case _:
                assert_never(event)

    def _limit(self, phase: Phase) -> float:
        return self._limits.compile_s if phase in ("generate", "compile") else self._limits.run_s


def _message(answer: object) -> str:
    return _failure(answer).message


def _failure(answer: object) -> Failed:
    if isinstance(answer, Illegal | CompileFailed | LaunchFailed | TimedOut | Crashed | WrongResult):
        return answer
    raise TypeError(f"a worker answered {answer!r}")
