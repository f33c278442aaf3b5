"""The display during a suite, on standard error: a bar on a terminal, a line from time to time anywhere else."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

EVERY_S, ENOUGH = 20.0, 3


@contextmanager
def reporting(what: str = "searches") -> Iterator[Callable[[int, int], None]]:
    """Yield a function that takes the numbers of finished searches (or `what` is counted) and of all."""
    if sys.stderr.isatty():
        with _bar(what) as show:
            yield show
    else:
        yield _Lines(what)


@contextmanager
def _bar(what: str) -> Iterator[Callable[[int, int], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    with Progress(TextColumn(what), MofNCompleteColumn(), BarColumn(bar_width=40),
                  TimeRemainingColumn(elapsed_when_finished=True), console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


class _Lines:
    """Print a line at the start and every EVERY_S seconds; the time left is estimated from at least ENOUGH that are
    done since.
    """

    def __init__(self, what: str) -> None:
        self._what, self._before = what, -1
        self._started_s = self._said_s = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        from experiments.words import describe_seconds

        now_s = time.monotonic()
        if self._before < 0:
            self._before = done
            print(f"{total} {self._what}" + (f", {done} of them done" if done else ""), file=sys.stderr, flush=True)
        elif now_s - self._said_s >= EVERY_S and self._before + ENOUGH <= done < total:
            self._said_s = now_s
            left = describe_seconds((now_s - self._started_s) / (done - self._before) * (total - done))
            print(f"{done} of {total} {self._what}; about {left} left", file=sys.stderr, flush=True)
