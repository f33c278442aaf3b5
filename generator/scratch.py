"""Temporary folders that go with the process, also when it is asked to end."""

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
    """A temporary folder with its true path; SIGTERM and SIGHUP delete it before they end the process."""
    with _ending_in_order(), tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as name:
        yield Path(name).resolve()


@contextmanager
def _ending_in_order() -> Iterator[None]:
    """While entered, signals that would end the process at once raise SystemExit instead.

    Handlers that somebody else has installed stay; outside the main thread nothing can be installed.
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
    for other in _ASKED:  # once is enough: the next one must not stop the cleaning
        if signal.getsignal(other) is _leave:
            signal.signal(other, signal.SIG_IGN)
    sys.exit(128 + number)  # as a shell counts
