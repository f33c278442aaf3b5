"""What the user sees while a run goes on: a bar on a terminal, plain lines anywhere else."""

from __future__ import annotations

import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Self

from experiments.options import Budget
from experiments.outcome_rows import kind_of
from experiments.records import Result, RunInfo, speedup
from experiments.words import describe_ms, describe_ratio, describe_seconds
from metrics.outcome import cost_ms

if TYPE_CHECKING:
    from rich.console import Group
    from rich.live import Live
    from rich.progress import Progress, TaskID


@dataclass(slots=True)
class Tally:
    """The numbers of the display: times in milliseconds, `done` without the default plan."""

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

    def add(self, result: Result) -> None:
        """Count one more result."""
        ms = cost_ms(result.outcome)
        if result.evaluation.number == 0:
            self.default_ms = ms
        else:
            self.done += 1
        if ms is None:
            self.failures[kind_of(result.outcome).replace("_", " ")] += 1
        elif self.best_ms is None or ms < self.best_ms:
            self.best_ms = ms

    def best(self) -> str:
        """`best 3.2 ms (12x sequential, 1.8x default)`."""
        if self.best_ms is None:
            return "nothing valid yet"
        over = (describe_ratio(speedup(self.sequential_ms, self.best_ms)),
                describe_ratio(speedup(self.default_ms, self.best_ms)))
        return f"best {describe_ms(self.best_ms)} ({over[0]} sequential, {over[1]} default)"

    def failed(self) -> str:
        """`failed: 2 illegal, 1 timed out`, empty when nothing failed."""
        counts = ", ".join(f"{count} {kind}" for kind, count in self.failures.most_common())
        return f"failed: {counts}" if counts else ""

    def left(self) -> str:
        """The time left as far as this session's pace tells, empty before the first result."""
        active_s = time.monotonic() - self.started_s
        guesses = [] if self.minutes is None else [60 * self.minutes - self.elapsed_before_s - active_s]
        fresh = self.done - self.done_before
        if self.total is not None and fresh > 0:
            guesses.append(active_s / fresh * (self.total - self.done))
        return f"{describe_seconds(max(0.0, min(guesses)))} left" if guesses else ""


def make_tally(info: RunInfo, budget: Budget, stored: tuple[Result, ...], elapsed_s: float) -> Tally:
    """The numbers at the start of a session."""
    sequential_ms = median(info.sequential_ms) if info.sequential_ms else None
    tally = Tally(sequential_ms, budget.total(info.options.ants), budget.minutes, elapsed_s)
    for result in stored:
        tally.add(result)
    tally.done_before = tally.done
    return tally


class Lines:
    """A reporter for files and pipes: one line per note and per result."""

    def __init__(self) -> None:
        """Nothing is printed before the first note."""
        self._tally: Tally | None = None

    def __enter__(self) -> Self:
        """Nothing to prepare."""
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to put back."""

    def note(self, text: str) -> None:
        """Print `text`."""
        print(text, flush=True)

    def begin(self, info: RunInfo, budget: Budget, stored: tuple[Result, ...], elapsed_s: float) -> None:
        """Print what is tuned and where."""
        self._tally = make_tally(info, budget, stored, elapsed_s)
        self.note(headline(info, self._tally))

    def result(self, result: Result) -> None:
        """Print how evaluation `number` ended and what is best now."""
        if self._tally is None:
            return
        self._tally.add(result)
        asked, ms = result.evaluation, cost_ms(result.outcome)
        of = "" if self._tally.total is None else f"/{self._tally.total}"
        status = kind_of(result.outcome).replace("_", " ") if ms is None else describe_ms(ms)
        where = "default plan" if asked.number == 0 else f"iteration {asked.iteration} ant {asked.ant}"
        self.note(f"[{asked.number}{of}] {where}: {status}; {self._tally.best()}")


class Bar:
    """A reporter for terminals: a bar with the time left, below it what is best and what failed."""

    def __init__(self) -> None:
        """The bar appears at `begin`."""
        from rich.console import Console
        from rich.live import Live
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        self._console = Console()
        self._progress: Progress = Progress(MofNCompleteColumn(), BarColumn(bar_width=40),
                                            TextColumn("{task.description}"), console=self._console)
        self._task: TaskID | None = None
        self._tally: Tally | None = None
        self._live: Live = Live(get_renderable=self._view, console=self._console)

    def __enter__(self) -> Self:
        """Nothing to prepare."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the last view on the screen and give the cursor back."""
        self._live.stop()

    def note(self, text: str) -> None:
        """Print `text` above the bar."""
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def begin(self, info: RunInfo, budget: Budget, stored: tuple[Result, ...], elapsed_s: float) -> None:
        """Say what is tuned and show the bar."""
        self._tally = make_tally(info, budget, stored, elapsed_s)
        self.note(headline(info, self._tally))
        self._task = self._progress.add_task("", total=self._tally.total, completed=self._tally.done)
        self._live.start()

    def result(self, result: Result) -> None:
        """Move the bar."""
        if self._tally is not None:
            self._tally.add(result)

    def _view(self) -> Group:
        """Three lines, made anew several times a second: the time left goes on when nothing arrives."""
        from rich.console import Group
        from rich.text import Text

        if self._tally is None or self._task is None:
            return Group()
        self._progress.update(self._task, completed=self._tally.done, description=self._tally.left())
        lines = [Text(self._tally.best()), Text(self._tally.failed(), style="red")]
        return Group(self._progress, *(line for line in lines if line.plain))


def headline(info: RunInfo, tally: Tally) -> str:
    """What is tuned, on what, against which baseline."""
    return (f"tuning {info.program.name} on {info.device.name} ({info.device.platform}); "
            f"sequential C takes {describe_ms(tally.sequential_ms)}")


def make_reporter() -> Lines | Bar:
    """The reporter that fits standard output."""
    return Bar() if sys.stdout.isatty() else Lines()
