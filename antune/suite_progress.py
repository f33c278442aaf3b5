"""What the user sees while a suite runs: a bar on a terminal, now and then a line anywhere else; on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

EVERY_S = 20.0


@contextmanager
def reporting() -> Iterator[Callable[[int, int], None]]:
    """A function to be told how many searches are done, and of how many."""
    if sys.stderr.isatty():
        with _bar() as show:
            yield show
    else:
        yield _Lines()


@contextmanager
def _bar() -> Iterator[Callable[[int, int], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    with Progress(TextColumn("searches"), MofNCompleteColumn(), BarColumn(bar_width=40),
                  TimeRemainingColumn(elapsed_when_finished=True), console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


class _Lines:
    """A line at the start and every EVERY_S seconds."""

    def __init__(self) -> None:
        self._started_s = self._said_s = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        from experiments.words import describe_seconds

        now_s = time.monotonic()
        if done == 0:
            print(f"{total} searches", file=sys.stderr, flush=True)
        elif now_s - self._said_s >= EVERY_S:
            self._said_s = now_s
            left = describe_seconds((now_s - self._started_s) / done * (total - done))
            print(f"{done} of {total} searches; {left} left", file=sys.stderr, flush=True)
