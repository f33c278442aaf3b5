"""Ctrl-C in two steps: the first ends the run in an orderly way, the second ends it at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Self


class Interrupt:
    """Signal handler: the first SIGINT or SIGTERM sets `requested`, the next one raises KeyboardInterrupt.

    `announce` is called at the first signal. Signals can be caught only in the main thread; in other threads no handler
    is installed, and the caller may set `requested`.
    """

    def __init__(self, announce: Callable[[], None] = lambda: None) -> None:
        """Create the object; the handlers are installed by `with`."""
        self.requested = False
        self._announce = announce
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        """Install the handlers."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        """Restore the previous handlers."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
        self._announce()
