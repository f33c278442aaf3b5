"""Ctrl-C in two steps: once asks the run to end in order, twice ends it at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Self


class Interrupt:
    """While entered, the first SIGINT or SIGTERM sets `requested`, the next one raises KeyboardInterrupt.

    `announce` is called at the first one. Outside the main thread signals cannot be caught: then nothing is
    installed, and `requested` can be set by the caller.
    """

    def __init__(self, announce: Callable[[], None] = lambda: None) -> None:
        """Nothing is installed before `with`."""
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
        """Put the former handlers back."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
        self._announce()
