"""The loop of every run: ask, evaluate, store, tell. A resumed run repeats it with the stored outcomes.

    evaluation 0        the default plan, not counted in the budget
    iteration 1, 2, ... walks = explorer.ask(n)
                        the missing outcomes are measured, each is stored as it arrives
                        explorer.tell(walk, outcome) for all walks, in ask order

With `ahead` (`tune --ahead`), the walks of an iteration are asked before the outcomes of the previous one are told, and
the device's compilers begin with them.

The explorer's state is a function of the options, the seed and the ordered history. A resumed run therefore repeats the
loop from the start or from its latest checkpoint (`experiments.search.checkpoints`). Stored outcomes are told without
measuring, and an interrupted iteration measures only its missing jobs, so the search continues as if it had never
stopped. Adopted iterations (`resume --anyway`) are told without asking, as walks that the explorer did not propose.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from shutil import disk_usage
from tempfile import gettempdir
from threading import Thread
from typing import Protocol

from experiments.search.checkpoints import Checkpoints, Saved
from experiments.search.interrupt import Interrupt
from experiments.search.profiles import as_told, fastest, profile, profiling
from experiments.search.reuse import usable
from experiments.store import Store, utc_now
from experiments.store.profiles_table import Counted
from experiments.store.reused_table import Known
from experiments.values.options import Budget, Spent
from experiments.values.records import Ending, Evaluation, Result
from experiments.values.sought import BY_TIME, Sought
from experiments.values.stopping import NO_GAINS, Gains, gained
from experiments.words import command
from explorer.base import Explorer, PreparingExplorer
from generator.errors import AntuneError, InputError
from generator.plan import Plan
from graph.walk import Walk, choices_from_json, walk_to_json
from metrics.outcome import CompileFailed, Crashed, Durations, LaunchFailed, Outcome, TimedOut
from runners.base import NOTHING_KNOWN, AnnouncedRunner, Bounds, DiagnosingRunner, Job, Limits, Runner
from runners.limits import learned

NEEDED_BYTES = 2**20  # of free disk space, for the files that driver compilers write


class Diverged(InputError):
    """The explorer asks for other plans than those in the stored history."""


class Refused(AntuneError):
    """The device runs neither the default plan nor a trivial kernel, so that no other plan can succeed."""


class Observer(Protocol):
    """Receives every stored result, for example a progress bar, a log or a test."""

    def result(self, result: Result) -> None:
        """Handle an evaluation that was finished and stored."""


@dataclass(frozen=True, slots=True)
class Round:
    """An iteration that the explorer was asked for: its walks, and their evaluations."""

    iteration: int
    walks: Sequence[Walk]
    batch: Sequence[Evaluation]


@dataclass(slots=True)
class Search:
    """The state of the loop. All of it can be rebuilt from the store.

    `bounds` and `gains` summarise all *complete* iterations in ask order, so that early stops, time limits and stopping
    rules do not depend on the order in which results arrive. `profiled` is the number of plans per iteration that are
    also run under a profiler. `outcomes` holds the current iteration only; `by_plan` maps a plan's digest to its first
    evaluation, whose outcome is read from the store: this bounds the memory of a long search. `saved` is the checkpoint
    that `explorer` comes from, if any. Iterations up to `adopted` are told as walks that the explorer did not propose.
    `limits` are the user's. The stopping rules use the objective `sought`; the explorer is told costs by `scaled`, the
    same objective on another scale. `ahead` iterations are asked, and compiled, before the results of the current one
    are known; `told` is the last iteration that the explorer was told. `meanwhile`: work for the explorer that this
    process does while the device measures the default plan, unless the device shares the host's cores.
    """

    store: Store
    explorer: Explorer
    runner: Runner
    ants: int
    budget: Budget
    observer: Observer
    interrupt: Interrupt
    asked: int = 0
    told: int = 0
    ahead: int = 0
    bounds: Bounds = NOTHING_KNOWN
    gains: Gains = NO_GAINS
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    by_plan: dict[str, int] = field(default_factory=dict)
    profiled: int = 0
    profiles: dict[int, Counted] = field(default_factory=dict)
    checkpoints: Checkpoints | None = None
    saved: Saved | None = None
    limits: Limits = field(default_factory=Limits)
    sought: Sought = BY_TIME
    scaled: Sought = BY_TIME
    meanwhile: Callable[[], None] | None = None
    adopted: int = 0
    known: dict[str, Known] = field(default_factory=dict)
    elapsed_before_s: float = 0.0
    started_s: float = field(default_factory=time.monotonic)

    def run(self, default: Plan) -> Ending:
        """Search until the budget is used up. `default` is the plan of evaluation 0.

        Raises:
            Diverged: the explorer asks for other plans than those in the stored history.
            Refused: the device runs no kernel at all.
            KeyboardInterrupt: the user asked to stop at once; everything measured so far is stored.
        """
        self._begin()
        thread = self._beside()
        measured = self._complete(self._round(0, [Walk((), default)], 1), deque())
        if thread is not None:
            thread.join()  # isl's options are global: no other thread may use it meanwhile, nor a summary afterwards
        if not measured:
            return self._ending()
        self._check_device()
        self.scaled = self.sought.scaled(default, self.outcomes[0])
        waiting = deque(self._restore())
        first, ending = self.told + 1, None
        while True:
            while ending is None and len(waiting) <= self.ahead and not self.interrupt.requested:
                asked = self._ask(self.told + len(waiting) + 1)
                if isinstance(asked, Round):
                    waiting.append(asked)
                else:
                    ending = asked
            if not waiting or self.interrupt.requested or self._enough(waiting[0]):
                self._save(waiting)
                return ending if ending and not waiting else self._ending()
            current = waiting.popleft()
            if current.iteration == first:
                self._prepare(waiting)
            if not self._complete(current, waiting):
                return self._ending()
            self._profile(current.batch)
            self._tell(current)
            if self.checkpoints is not None and self.checkpoints.due():
                self._save(waiting)

    def _beside(self) -> Thread | None:
        """Return a thread that does the work of `meanwhile` while the device measures the default plan, if it may."""
        if self.meanwhile is None or self.runner.device.target.shares_host_cores or self.store.finished():
            return None
        thread = Thread(target=self.meanwhile, daemon=True)
        thread.start()
        return thread

    def _check_device(self) -> None:
        """Raise Refused if the default plan failed, no other plan was tried, and the device does not even run a trivial
        kernel.

        The stored outcome of the default plan is removed then, because the failure says nothing about the plan.
        """
        failed = self.outcomes[0]
        if (self.store.finished() == 1 and isinstance(failed, CompileFailed | LaunchFailed | Crashed | TimedOut)
                and isinstance(self.runner, DiagnosingRunner) and (reason := self.runner.refusal()) is not None):
            device = self.runner.device
            self.store.forget_result(0)
            raise Refused(f"{device.name} ({device.platform}) runs no kernel, not even one of one line: "
                          f"{'; '.join(reason.splitlines())}; {_remedy(self.store.directory)}. When the device works, "
                          f"`{command('resume', self.store.directory)}` goes on")

    def _begin(self) -> None:
        """Load the state that the store holds."""
        self.elapsed_before_s = self.store.elapsed_s()
        for result in self.store.results():
            self.by_plan.setdefault(result.evaluation.plan.digest, result.evaluation.number)
        self.profiles = self.store.profiles.all()
        self.known, self.adopted = self.store.reused.all(), self.store.reused.adopted()

    def _restore(self) -> Sequence[Round]:
        """Continue from the checkpoint, if there is one; return the iterations that it was asked but not told."""
        if self.saved is None:
            return ()
        self.told, self.asked = self.saved.iteration, self.saved.asked
        known = self.store.outcomes(1, self.asked)
        self.bounds = learned(self.bounds, list(known.values()))
        told = known if self.sought.objective.is_time else {
            r.evaluation.number: r.outcome for r in self.sought.judged(self.store.results())}
        self.gains = gained(self.gains, ((number, told[number]) for number in known))
        rounds = [self._stored(self.told + 1 + number) for number in range(self.saved.ahead)]
        self.asked += sum(len(each.batch) for each in rounds)
        return rounds

    def _save(self, waiting: Sequence[Round]) -> None:
        """Save the state of the explorer, which was asked for the iterations `waiting` but not told their results.

        If it was asked for fewer than usual, because the run ends, do not save: with a larger budget, it would be asked
        for them before it was told so much.
        """
        if self.checkpoints is not None and len(waiting) >= self.ahead:
            asked = waiting[0].batch[0].number - 1 if waiting else self.asked
            self.checkpoints.save(self.explorer, self.told, asked, len(waiting), self.by_plan)

    def _ask(self, iteration: int) -> Round | Ending:
        """Return the next iteration, or why there is none."""
        stored = self.store.asked(iteration)
        asked = self._affordable(iteration) if stored is None else stored
        if asked == 0:
            return "finished"
        walks = self._walks(iteration, asked)
        return self._round(iteration, walks, asked) if walks else "exhausted"

    def _walks(self, iteration: int, asked: int) -> Sequence[Walk]:
        """Return the walks to evaluate in `iteration`: from the explorer, or from the store if the iteration was
        adopted.
        """
        if iteration <= self.adopted:
            return self._stored(iteration).walks
        with self._explorer_works():
            return self.explorer.ask(asked)

    def _stored(self, iteration: int) -> Round:
        batch = self.store.batch(iteration)
        return Round(iteration, [Walk(choices_from_json(each.walk), each.plan) for each in batch], batch)

    def _enough(self, following: Round) -> bool:
        """Return whether a limit was reached after `following` was asked."""
        first, last = following.batch[0].number, following.batch[-1].number
        complete = len(self.store.outcomes(first, last)) > last - first  # then it is told again
        if not self.ahead or following.iteration <= self.adopted or complete:
            return False
        spent = Spent(first - 1, following.iteration - 1, self._elapsed_s(), self.gains)
        return self.budget.reached(spent) is not None

    def _tell(self, current: Round) -> None:
        told = as_told(current.batch, self.outcomes, self.profiles, self.profiled)
        with self._explorer_works():
            for walk, evaluation in zip(current.walks, current.batch, strict=True):
                try:
                    self.explorer.tell(walk, self.scaled.told(evaluation.plan, told[evaluation.number]))
                except ValueError:
                    if current.iteration > self.adopted:
                        raise  # an adopted walk may not exist in this version's space
        self.told = current.iteration

    def _prepare(self, waiting: Sequence[Round]) -> None:
        """Let the explorer import what its next call needs, if there will be one, while the device measures."""
        disturbs, following = self.runner.device.target.shares_host_cores, self.told + len(waiting) + 2
        if isinstance(self.explorer, PreparingExplorer) and not disturbs and self._affordable(following):
            Thread(target=self.explorer.prepare, daemon=True).start()

    def _explorer_works(self) -> AbstractContextManager[None]:
        return self.checkpoints.working() if self.checkpoints is not None else nullcontext()

    def _affordable(self, iteration: int) -> int:
        return self.budget.batch(self.ants, Spent(self.asked, iteration - 1, self._elapsed_s(), self.gains))

    def _ending(self) -> Ending:
        return "interrupted" if self.interrupt.requested else "finished"

    def _complete(self, current: Round, waiting: Sequence[Round]) -> bool:
        """Evaluate the missing plans of `current`; return False if the run must stop before they are done.

        Meanwhile, the device's compilers may begin with those of `waiting`.
        """
        batch = current.batch
        self.outcomes = self.store.outcomes(batch[0].number, batch[-1].number)
        missing = [e for e in batch if e.number not in self.outcomes]
        if missing and self._must_stop():
            return False
        self._announce(batch, waiting)
        self._evaluate(self._reuse(missing))
        if any(e.number not in self.outcomes for e in batch):
            return False
        self.bounds = learned(self.bounds, [self.outcomes[e.number] for e in batch])
        self.gains = gained(self.gains, [(e.number, self.sought.told(e.plan, self.outcomes[e.number])) for e in batch])
        return True

    def _announce(self, batch: Sequence[Evaluation], waiting: Sequence[Round]) -> None:
        """Tell the runner the plans of the iteration after `batch` that will be measured, also if there are none."""
        if self.ahead and isinstance(self.runner, AnnouncedRunner):
            seen = {e.plan.digest for e in batch} | self.by_plan.keys() | self.known.keys()
            following = [e for each in waiting for e in each.batch if e.plan.digest not in seen]
            self.runner.announce([Job(e.number, e.plan) for e in following])

    def _round(self, iteration: int, walks: Sequence[Walk], asked: int) -> Round:
        """Return an iteration with numbered evaluations, and store it unless it is stored. Raises Diverged."""
        first = 0 if iteration == 0 else self.asked + 1
        batch = tuple(Evaluation(first + ant, iteration, ant, walk.plan, walk_to_json(walk))
                      for ant, walk in enumerate(walks))
        self.asked += len(batch) if iteration else 0
        if self.store.asked(iteration) is None:
            self.store.add_batch(iteration, asked, batch)
        elif batch != (stored := self.store.batch(iteration)):
            raise Diverged(_divergence(batch, stored, self.store))
        return Round(iteration, walks, batch)

    def _reuse(self, batch: Sequence[Evaluation]) -> Sequence[Evaluation]:
        """Store the known outcomes of equal plans, from this run or from other runs, and return the remaining
        evaluations.
        """
        new = []
        for evaluation in batch:
            known, other = self.by_plan.get(evaluation.plan.digest), self.known.get(evaluation.plan.digest)
            if known is not None:
                self._keep(evaluation, replace(self.store.outcomes(known, known)[known], durations=Durations()))
            elif other is not None and evaluation.number and self._usable(evaluation, other):
                self._keep(evaluation, replace(other.outcome, durations=Durations()), other.source)
            else:
                new.append(evaluation)
        return new

    def _usable(self, evaluation: Evaluation, other: Known) -> bool:
        """Return whether another run's outcome holds here and has the metrics that the objective needs (older runs have
        fewer).
        """
        return usable(other.outcome, self.limits, self.bounds) and not self.sought.lacks(evaluation.plan, other.outcome)

    def _evaluate(self, batch: Sequence[Evaluation]) -> None:
        if not batch:
            return
        by_number = {e.number: e for e in batch}
        results = self.runner.evaluate([Job(e.number, e.plan) for e in batch], self.bounds)
        try:
            for number, outcome in results:
                self._keep(by_number[number], outcome)
                if self._must_stop():
                    return
        finally:
            _cancel(results)

    def _profile(self, batch: Sequence[Evaluation]) -> None:
        """Run the fastest plans of a complete iteration under the profiler, as many as the options ask for."""
        missing = [e for e in fastest(batch, self.outcomes, self.profiled) if e.number not in self.profiles]
        if missing:
            for number, counted in profile(profiling(self.runner), missing):
                self.store.profiles.add(number, counted)
                self.profiles[number] = counted

    def _keep(self, evaluation: Evaluation, outcome: Outcome, reused_from: str | None = None) -> None:
        elapsed_s = self._elapsed_s()
        self.store.add_result(evaluation.number, outcome, elapsed_s, reused_from)
        self.outcomes[evaluation.number] = outcome
        self.by_plan.setdefault(evaluation.plan.digest, evaluation.number)
        self.observer.result(Result(evaluation, outcome, utc_now(), elapsed_s, reused_from))

    def _must_stop(self) -> bool:
        """Return whether the user asked to stop or time is up; time does not count before the default plan is done."""
        return self.interrupt.requested or (self.asked > 0 and self.budget.out_of_time(self._elapsed_s()))

    def _elapsed_s(self) -> float:
        return self.elapsed_before_s + time.monotonic() - self.started_s


def _cancel(results: Iterator[tuple[int, Outcome]]) -> None:
    """Cancel the jobs that were not fetched, now instead of at garbage collection."""
    if isinstance(results, Generator):
        results.close()


def _divergence(batch: Sequence[Evaluation], stored: Sequence[Evaluation], store: Store) -> str:
    pairs = zip(batch, stored, strict=False)
    number = next((old.number for new, old in pairs if new != old), stored[0].number if stored else 0)
    return (
        f"the stored history cannot be continued as it was: evaluation {number} would now be another plan, because "
        "antune, the device or an explorer of your own changed since; use the version that made the run, or go on from "
        f"what was measured with `{command('resume', store.directory)} --anyway`"
    )


def _remedy(directory: Path) -> str:
    """Return what to do when a device that worked before runs nothing: drivers abort when a disk is full."""
    full = [place for place in (directory, Path(gettempdir())) if disk_usage(place).free < NEEDED_BYTES]
    return f"the disk of {full[0].resolve()} is full, free some of it" if full else "run `antune doctor`"
