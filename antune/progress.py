"""The display during a run: a bar on a terminal, plain lines anywhere else."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Self

from experiments.values.options import Budget
from experiments.values.outcome_rows import kind_of
from experiments.values.records import Result, RunInfo, speedup
from experiments.values.sought import BY_TIME, Sought, describe_value, sought_for
from experiments.words import describe_ms, describe_percent, describe_rate, describe_ratio, describe_seconds
from generator.plain_text import printable
from metrics.outcome import Durations, cost_ms

if TYPE_CHECKING:
    from rich.console import Group
    from rich.live import Live
    from rich.progress import Progress, TaskID


EVERY_S = 20.0
"""How often the rates are printed without a terminal."""
PHASES = ("generate", "compile", "check", "time")


@dataclass(slots=True)
class Rates:
    """The speeds of the phases of this session's evaluations: seconds of work, and evaluations that reached it, by
    phase.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    reached: Counter[str] = field(default_factory=Counter)

    def add(self, spent: Durations) -> None:
        """Count one evaluation."""
        for phase, seconds in _by_phase(spent).items():
            if seconds > 0:
                self.seconds[phase] = self.seconds.get(phase, 0.0) + seconds
                self.reached[phase] += 1

    def words(self) -> str:
        """Return `generate 21/s 4%, compile 1.1/s 86%, ...`: evaluations per second of such work, and its share of all
        work.

        Several workers compile in parallel, so the total may be faster. Empty if nothing was measured.
        """
        total = sum(self.seconds.values())
        return ", ".join(f"{phase} {describe_rate(self.reached[phase] / self.seconds[phase])} "
                         f"{describe_percent(self.seconds[phase] / total)}" for phase in PHASES if self.reached[phase])


def _by_phase(spent: Durations) -> Mapping[str, float]:
    return dict(zip(PHASES, (spent.generate_s, spent.compile_s, spent.check_s, spent.time_s), strict=True))


@dataclass(slots=True)
class Tally:
    """The numbers of the display: times in milliseconds, `done` without the default plan, `rates` of this session.

    `sought` decides which plan is the best; `best_ms` is its time, `best_cost` and `default_cost` are by the objective.
    """

    sequential_ms: float | None
    total: int | None
    minutes: float | None
    elapsed_before_s: float
    started_s: float = field(default_factory=time.monotonic)
    default_ms: float | None = None
    best_ms: float | None = None
    done: int = 0
    done_before: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    rates: Rates = field(default_factory=Rates)
    sought: Sought = BY_TIME
    default_cost: float | None = None
    best_cost: float | None = None

    def add(self, result: Result) -> None:
        """Count one more result."""
        ms = cost_ms(result.outcome)
        cost = cost_ms(self.sought.told(result.evaluation.plan, result.outcome))
        self.rates.add(result.outcome.durations)
        if result.evaluation.number == 0:
            self.default_ms, self.default_cost = ms, cost
        else:
            self.done += 1
        if ms is None:
            self.failures[kind_of(result.outcome).replace("_", " ")] += 1
        elif cost is None:
            self.failures["without a value of the objective"] += 1
        elif self.best_cost is None or cost < self.best_cost:
            self.best_ms, self.best_cost = ms, cost

    def best(self) -> str:
        """Return `best 3.2 ms (12x sequential, 1.8x default)`."""
        if self.best_ms is None:
            return "nothing valid yet"
        if not self.sought.objective.is_time:
            objective, cost = self.sought.objective, self.best_cost or 0.0
            value = describe_value(1 / cost if objective.higher and cost else cost)
            over_default = f"{describe_ratio(speedup(self.default_cost, cost))} default"
            if not cost:  # no ratio
                over_default = f"the default {describe_value(self.default_cost)}"
            return f"{objective.words}: {value} ({over_default}) in {describe_ms(self.best_ms)}"
        if self.sequential_ms is None:
            over_default = describe_ratio(speedup(self.default_ms, self.best_ms))
            return f"best {describe_ms(self.best_ms)} ({over_default} default)"
        over = (describe_ratio(speedup(self.sequential_ms, self.best_ms)),
                describe_ratio(speedup(self.default_ms, self.best_ms)))
        return f"best {describe_ms(self.best_ms)} ({over[0]} sequential, {over[1]} default)"

    def failed(self) -> str:
        """Return `failed: 2 illegal, 1 timed out`, empty if nothing failed."""
        counts = ", ".join(f"{count} {kind}" for kind, count in self.failures.most_common())
        return f"failed: {counts}" if counts else ""

    def pace(self) -> str:
        """Return `0.83/s, 1 min 20 s left`: evaluations of this session per second, and the time left."""
        active_s, fresh = time.monotonic() - self.started_s, self.done - self.done_before
        rate = [describe_rate(fresh / active_s)] if fresh and active_s > 0 else []
        return ", ".join(words for words in (*rate, self.left()) if words)

    def left(self) -> str:
        """Return the time left at this session's pace, empty before the first result."""
        active_s = time.monotonic() - self.started_s
        guesses = [] if self.minutes is None else [60 * self.minutes - self.elapsed_before_s - active_s]
        fresh = self.done - self.done_before
        if self.total is not None and fresh > 0:
            guesses.append(active_s / fresh * (self.total - self.done))
        return f"{describe_seconds(max(0.0, min(guesses)))} left" if guesses else ""


def make_tally(info: RunInfo, budget: Budget, stored: tuple[Result, ...], elapsed_s: float) -> Tally:
    """Return the numbers at the start of a session."""
    sequential_ms = median(info.sequential_ms) if info.sequential_ms else None
    tally = Tally(sequential_ms, budget.total(info.options.ants), budget.minutes, elapsed_s,
                  sought=sought_for(info.options.objective, info.subject))
    for result in stored:
        tally.add(result)
    tally.done_before = tally.done
    tally.rates = Rates()
    return tally


class Lines:
    """A reporter for files and pipes: one line per note and per result, and the rates from time to time."""

    def __init__(self) -> None:
        """Nothing is printed before the first note."""
        self._tally: Tally | None = None
        self._said_s = time.monotonic()

    def __enter__(self) -> Self:
        """Return itself; there is nothing to prepare."""
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing; there is nothing to restore."""

    def note(self, text: str) -> None:
        """Print `text`."""
        print(printable(text), flush=True)

    def begin(self, info: RunInfo, budget: Budget, stored: tuple[Result, ...], elapsed_s: float) -> None:
        """Print the program, the device and the baseline."""
        self._tally = make_tally(info, budget, stored, elapsed_s)
        self.note(headline(info, self._tally))

    def result(self, result: Result) -> None:
        """Print how an evaluation ended, and the best result so far."""
        if self._tally is None:
            return
        self._tally.add(result)
        asked, ms = result.evaluation, cost_ms(result.outcome)
        of = "" if self._tally.total is None else f"/{self._tally.total}"
        status = kind_of(result.outcome).replace("_", " ") if ms is None else describe_ms(ms)
        where = "default plan" if asked.number == 0 else f"iteration {asked.iteration} ant {asked.ant}"
        self.note(f"[{asked.number}{of}] {where}: {status}; {self._tally.best()}")
        if time.monotonic() - self._said_s >= EVERY_S:
            self._said_s = time.monotonic()
            self.note("; ".join(words for words in (self._tally.pace(), self._tally.rates.words()) if words))


class Bar:
    """A reporter for terminals: a bar with the pace, and lines with the best result, the rates of the phases and
    failures.
    """

    def __init__(self) -> None:
        """The bar appears at `begin`."""
        from rich.console import Console
        from rich.live import Live
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        self._console = Console()
        self._progress: Progress = Progress(MofNCompleteColumn(), BarColumn(bar_width=30),
                                            TextColumn("{task.description}"), console=self._console)
        self._task: TaskID | None = None
        self._tally: Tally | None = None
        self._live: Live = Live(get_renderable=self._view, console=self._console)

    def __enter__(self) -> Self:
        """Return itself; there is nothing to prepare."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the last view on the screen, and restore the cursor."""
        self._live.stop()

    def note(self, text: str) -> None:
        """Print `text` above the bar."""
        self._console.print(printable(text), markup=False, highlight=False, soft_wrap=True)

    def begin(self, info: RunInfo, budget: Budget, stored: tuple[Result, ...], elapsed_s: float) -> None:
        """Print the program, the device and the baseline, and show the bar."""
        self._tally = make_tally(info, budget, stored, elapsed_s)
        self.note(headline(info, self._tally))
        self._task = self._progress.add_task("", total=self._tally.total, completed=self._tally.done)
        self._live.start()

    def result(self, result: Result) -> None:
        """Move the bar."""
        if self._tally is not None:
            self._tally.add(result)

    def _view(self) -> Group:
        """Return four lines, made anew several times a second: the time left is updated even if no result arrives."""
        from rich.console import Group
        from rich.text import Text

        if self._tally is None or self._task is None:
            return Group()
        self._progress.update(self._task, completed=self._tally.done, description=self._tally.pace())
        lines = [Text(self._tally.best()), Text(self._tally.rates.words(), style="dim"),
                 Text(self._tally.failed(), style="red")]
        return Group(self._progress, *(line for line in lines if line.plain))


def headline(info: RunInfo, tally: Tally) -> str:
    """Return the program, the device and the baseline in one line."""
    if tally.sequential_ms is None:
        return f"tuning {info.subject.name} on {info.device.name} ({info.device.platform})"
    return (
        f"tuning {info.subject.name} on {info.device.name} ({info.device.platform}); "
        f"sequential C takes {describe_ms(tally.sequential_ms)} (wall-clock time, {info.compiler}); times of plans "
        f"are device times"
    )


def make_reporter() -> Lines | Bar:
    """Return the reporter that fits standard output."""
    return Bar() if sys.stdout.isatty() else Lines()
