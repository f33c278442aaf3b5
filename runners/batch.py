"""The steps of a batch of Plans in the workers: generate, compile, measure; each code only once.

It handles processes and answers, without any driver. On a device that shares the host's cores, measurements start after
the whole batch is compiled, since compilers disturb them; elsewhere the two overlap. There, idle compilers may also
work on the jobs of the next call, which are measured only when it comes.

Limits depend on the times of earlier batches. In the first batch, Plans that are already compiled tighten the limit of
the others.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import assert_never

from generator.errors import IllegalPlan
from generator.plan import Plan
from generator.variant import Variant
from metrics.outcome import (
    CompileFailed,
    Crashed,
    Durations,
    Illegal,
    LaunchFailed,
    Outcome,
    Phase,
    Ratings,
    Timed,
    TimedOut,
    WrongResult,
)
from runners.base import NOTHING_KNOWN, Bounds, Job, Limits
from runners.limits import ENOUGH, adapted, learned
from runners.pools import Devices, Pool, wait_for
from runners.processes import Died, Event, Expired, Finished, Task
from runners.shares import shares
from runners.tasks import Compile, Compiled, Generate, Generated, Make, Measure, Warm, Warmed


@dataclass(slots=True)
class _Shared:
    """The work whose kernels all workers compile: the keys of the unfinished shares."""

    key: int
    variant: Variant
    left: set[int]


@dataclass(slots=True)
class _Work:
    """The work on one code: its current phase and limits. `jobs` are all jobs with this code."""

    jobs: list[Job]
    limits: Limits
    stage: Phase = "generate"
    lowered_s: float = 0.0
    spent: Durations = field(default_factory=Durations)
    code_hash: str | None = None
    ratings: Ratings = ()


class Batch:
    """The work of one call of `Runner.evaluate`, or of several whose jobs were announced.

    `known` (code hash to outcome) is shared by all batches of a runner.
    """

    def __init__(self, compilers: Pool, devices: Devices, limits: Limits, overlap: bool,
                 known: dict[str, Outcome], faulty: Callable[[str], None],
                 make: Make | None = None, share: int = 1) -> None:
        """`overlap`: measure while other Plans are still being compiled. `limits` are upper limits. `faulty` is told
        why a plan has no metrics. `make`: generates here, not in a worker. `share`: the number of compile workers that
        share compiled kernels, and may each compile a part of a Plan's kernels (see `runners.shares`).
        """
        self._compilers, self._devices, self._most, self._overlap = compilers, devices, limits, overlap
        self._known, self._faulty, self._make = known, faulty, make
        self._share = share
        self._shared: _Shared | None = None
        self._learn_bounds(NOTHING_KNOWN)
        self._keys = count()
        self._begun: dict[int, Plan] = {}  # plans of the jobs without a yielded outcome
        self._asked: set[int] = set()  # those of the current call
        self._works: dict[int, _Work] = {}
        self._by_hash: dict[str, int] = {}
        self._compiled: dict[int, Compiled] = {}
        self._results: deque[tuple[int, Outcome]] = deque()

    def _learn_bounds(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._limits, self._compiled_s = adapted(self._most, bounds), list(bounds.compiled_s)
        self._learning = len(bounds.compiled_s) < ENOUGH

    def fits(self, jobs: Sequence[Job]) -> bool:
        """Return whether all jobs that have begun are among `jobs`."""
        plans = {job.number: job.plan for job in jobs}
        return all(plans.get(number) == plan for number, plan in self._begun.items())

    def run(self, jobs: Sequence[Job], bounds: Bounds, upcoming: Sequence[Job] = ()) -> Iterator[tuple[int, Outcome]]:
        """Yield (job number, outcome) as results arrive.

        `jobs` contain all that have begun. `upcoming`: jobs of the next call, which idle compilers begin. If they are
        given, call `run` again or `cancel`.
        """
        self._learn_bounds(bounds)
        self._lower_limits()  # of jobs that have begun
        self._asked = {job.number for job in jobs}
        upcoming = [job for job in upcoming if job.number not in self._asked]
        complete, continues = False, bool(upcoming)
        try:
            self._begin(job for job in jobs if job.number not in self._begun)
            yield from self._arrived()
            while self._asked:
                if upcoming and not self._compiling():
                    self._begin(upcoming)
                    upcoming = ()
                self._measure_next()
                wait_for([self._compilers, self._devices])
                for event in [*self._compilers.poll(), *self._devices.poll()]:
                    self._on_event(event)
                self._measure_next()
                yield from self._arrived()
            complete = True
        finally:
            if not complete or not continues:
                self.cancel()

    def cancel(self) -> None:
        """Give up all jobs without an outcome."""
        self._compilers.cancel()
        self._devices.cancel()

    def _begin(self, jobs: Iterable[Job]) -> None:
        for job in jobs:
            key = next(self._keys)
            self._begun[job.number] = job.plan
            self._works[key] = _Work([job], self._limits)
            if self._make is not None:
                self._make_one(key, self._make)
            else:
                self._compilers.submit(Task(key, Generate(job.plan, self._limits.compile_s), "generate", None))

    def _compiling(self) -> bool:
        """Return whether a job of this call is not compiled yet."""
        return any(work.stage in ("generate", "compile") and self._is_asked(work) for work in self._works.values())

    def _is_asked(self, work: _Work) -> bool:
        return any(job.number in self._asked for job in work.jobs)

    def _arrived(self) -> Iterator[tuple[int, Outcome]]:
        """Yield the results of this call's jobs, and keep those of upcoming ones."""
        for _ in range(len(self._results)):
            number, outcome = self._results.popleft()
            if number in self._asked:
                self._asked.remove(number)
                del self._begun[number]
                yield number, outcome
            else:
                self._results.append((number, outcome))

    def _make_one(self, key: int, make: Make) -> None:
        start = time.perf_counter()
        try:
            variant = make(self._works[key].jobs[0].plan)
        except IllegalPlan as error:
            self._finish(key, Illegal(str(error), Durations(generate_s=time.perf_counter() - start)))
        else:
            self._on_generated(key, Generated(variant, time.perf_counter() - start))

    def _measure_next(self) -> None:
        """Give every idle device its next task, in job order."""
        while self._devices.free and (self._overlap or not self._compilers.unfinished):
            ready = [key for key in self._compiled if self._is_asked(self._works[key])]
            if not ready:
                return
            key = min(ready)
            work = self._works[key]
            work.limits = replace(self._limits, run_s=adapted(self._most, self._bounds).run_s)
            measure = Measure(self._compiled.pop(key), self._bounds.best_ms, work.limits, work.ratings)
            self._devices.submit(Task(key, measure, "check", None))

    def _on_event(self, event: Event) -> None:
        match event:
            case Finished(key) | Expired(key) | Died(key) if key < 0:
                self._on_share(event)
            case Finished(key, value):
                self._on_answer(key, value)
            case Expired(key, "rate") | Died(key, "rate"):  # the model failed: continue without metrics
                work = self._works[key]
                self._rating_failed(
                    work, event.message if isinstance(event, Died) else f"no result after {event.elapsed_s:.0f} s"
                )
                work.spent = _sum(work.spent, _spent("rate", event.elapsed_s))
                again = Generate(work.jobs[0].plan, work.limits.compile_s, rated=False)
                self._compilers.submit(Task(key, again, "generate", None))
            case Expired(key, phase, _, elapsed_s):
                self._on_expired(key, phase, elapsed_s)
            case Died(key, phase, message, elapsed_s):
                self._finish(key, Crashed(phase, message, _spent(phase, elapsed_s)))
            case _:
                assert_never(event)

    def _on_share(self, event: Event) -> None:
        """A worker has finished its share, or failed.

        After a failure the other shares are dropped, as the compilers have no other tasks: either the limit of a kernel
        has passed, or compiling the whole code shows the error. The durations do not contain the work on dropped
        shares.
        """
        shared = self._shared
        if shared is None or event.key not in shared.left:
            return  # it was dropped
        shared.left.remove(event.key)
        match event:
            case Finished(_, Warmed(seconds, failed)):
                pass
            case Expired(_, _, _, seconds) | Died(_, _, _, seconds):
                failed = True
            case _:
                raise TypeError(f"a worker answered {event!r} to a share")
        if failed:
            self._compilers.cancel()
            shared.left.clear()
        if isinstance(event, Expired):
            self._shared = None
            self._on_expired(shared.key, event.phase, seconds)
            return
        work = self._works[shared.key]
        work.spent = _sum(work.spent, Durations(compile_s=seconds))
        if not shared.left:
            self._shared = None
            self._compile_whole(shared.key, shared.variant)

    def _on_expired(self, key: int, phase: Phase, elapsed_s: float) -> None:
        work = self._works[key]
        if phase in ("generate", "compile") and work.stage != "check":
            self._compiled_s.append(work.spent.generate_s + work.spent.compile_s + elapsed_s)
        self._finish(key, TimedOut(phase, _limit_s(phase, work.limits), _spent(phase, elapsed_s)))

    def _on_answer(self, key: int, value: object) -> None:
        match value:
            case Generated():
                self._on_generated(key, value)
            case Compiled(_, seconds, _):
                work = self._works[key]
                work.spent, work.stage = _sum(work.spent, Durations(compile_s=seconds)), "check"
                self._compiled[key] = value
                if work.spent.compile_s:  # otherwise nothing was compiled
                    self._compiled_s.append(work.spent.generate_s + work.spent.compile_s)
                    self._tighten()
            case (Timed() | Illegal() | CompileFailed() | LaunchFailed() | TimedOut() | Crashed()
                  | WrongResult()):
                self._finish(key, value)
            case _:
                raise TypeError(f"a worker answered {value!r}")

    def _on_generated(self, key: int, generated: Generated) -> None:
        """Reuse a known outcome, join the work on the same code, or compile."""
        work, code_hash = self._works[key], generated.variant.code_hash
        if generated.fault:
            self._rating_failed(work, generated.fault)
        work.spent = _sum(work.spent, Durations(generate_s=generated.seconds + generated.rating_s))
        if (outcome := self._known.get(code_hash)) is not None:
            del self._works[key]
            self._results.append((work.jobs[0].number, replace(outcome, durations=work.spent)))
        elif code_hash in self._by_hash:
            self._works[self._by_hash[code_hash]].jobs.extend(work.jobs)
            del self._works[key]
        else:
            work.code_hash, work.ratings = code_hash, generated.ratings
            work.stage, work.lowered_s = "compile", generated.seconds
            self._by_hash[code_hash] = key
            self._compile(key, generated.variant)

    def _compile(self, key: int, variant: Variant) -> None:
        """Give a code to a worker; but if this call waits for it alone, first its kernels to all workers."""
        others = any(work.stage in ("generate", "compile") for other, work in self._works.items() if other != key)
        several = () if others or not self._is_asked(self._works[key]) else shares(variant, self._share)
        if not several:
            self._compile_whole(key, variant)
            return
        keys = [-1 - number for number in range(len(several))]  # keys of works are not negative
        self._shared = _Shared(key, variant, set(keys))
        for share, part in zip(keys, several, strict=True):
            self._compilers.submit(Task(share, Warm(part, self._kernel_s(key)), "compile", None))

    def _compile_whole(self, key: int, variant: Variant) -> None:
        whole = Compile(variant, self._kernel_s(key), self._works[key].spent.compile_s)
        self._compilers.submit(Task(key, whole, "compile", None))

    def _kernel_s(self, key: int) -> float:
        """Return the maximum time to compile a kernel of the work, in seconds."""
        work = self._works[key]
        return max(work.limits.compile_s - work.lowered_s, 0.0)

    def _rating_failed(self, work: _Work, why: str) -> None:
        self._faulty(
            f"the static model fails for plan {work.jobs[0].plan.digest} ({why}): it is measured without metrics, as "
            f"others may be; "
            "please report this"
        )

    def _tighten(self) -> None:
        """Limit the uncompiled works by the times of the others."""
        seen = replace(self._bounds, compiled_s=tuple(self._compiled_s))
        limits = adapted(self._most, seen, self._compilers.running)
        if self._learning and limits.compile_s < self._limits.compile_s:
            self._limits = replace(self._limits, compile_s=limits.compile_s)
            self._lower_limits()

    def _lower_limits(self) -> None:
        """Apply the limit of compiling to all uncompiled works that have a higher one."""
        for key, work in self._works.items():
            if work.stage in ("generate", "compile") and self._limits.compile_s < work.limits.compile_s:
                work.limits = replace(work.limits, compile_s=self._limits.compile_s)
                self._compilers.tighten(key, work.stage, self._kernel_s(key))

    def _finish(self, key: int, outcome: Outcome) -> None:
        """Record the outcome for every job of this work; only the first one gets its durations."""
        work = self._works.pop(key)
        outcome = replace(outcome, durations=_sum(work.spent, outcome.durations), device=self._devices.where(key))
        if work.code_hash is not None:
            self._known[work.code_hash] = outcome
            del self._by_hash[work.code_hash]
        self._bounds = learned(self._bounds, [outcome])
        first, *others = work.jobs
        self._results.append((first.number, outcome))
        self._results.extend((job.number, replace(outcome, durations=Durations())) for job in others)


def _limit_s(phase: Phase, limits: Limits) -> float:
    """Return the limit that the user knows: it covers this phase and the previous one."""
    return limits.compile_s if phase in ("generate", "compile") else limits.run_s


def _sum(left: Durations, right: Durations) -> Durations:
    return Durations(left.generate_s + right.generate_s, left.compile_s + right.compile_s,
                     left.check_s + right.check_s, left.time_s + right.time_s)


def _spent(phase: Phase, seconds: float) -> Durations:
    match phase:
        case "generate" | "rate":
            return Durations(generate_s=seconds)
        case "compile":
            return Durations(compile_s=seconds)
        case "check":
            return Durations(check_s=seconds)
        case "time":
            return Durations(time_s=seconds)
        case _:
            assert_never(phase)
