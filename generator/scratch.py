"""Temporary folders that are deleted with the process, also if it is terminated by a signal."""

from __future__ import annotations

import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

_ASKED = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def scratch_folder(prefix: str) -> Iterator[Path]:
    """Make a temporary folder and yield its resolved path; SIGTERM and SIGHUP delete it before they end the process."""
    with _ending_in_order(), tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as name:
        yield Path(name).resolve()


@contextmanager
def _ending_in_order() -> Iterator[None]:
    """Within this context, signals that would end the process at once raise SystemExit instead.

    Handlers of others are kept; outside the main thread nothing can be installed.
    """
    alone = threading.current_thread() is threading.main_thread()
    taken = [number for number in _ASKED if alone and signal.getsignal(number) is signal.SIG_DFL]
    try:
        for number in taken:
            signal.signal(number, _leave)
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def _leave(number: int, _frame: FrameType | None) -> None:
    for other in _ASKED:  # once is enough: a second signal must not interrupt the cleanup
        if signal.getsignal(other) is _leave:
            signal.signal(other, signal.SIG_IGN)
    sys.exit(128 + number)  # the exit code of shells
