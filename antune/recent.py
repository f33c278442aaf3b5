"""A bounded cache that keeps the most recently used values."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Recent(Generic[Value]):
    """At most `most` values by key; the least recently used is dropped first. Threads may share it."""

    def __init__(self, most: int) -> None:
        """Start empty."""
        self._most, self._lock = most, Lock()
        self._found: OrderedDict[Hashable, Value] = OrderedDict()

    def get(self, key: Hashable) -> Value | None:
        """Return the value of `key`; None if there is none (any more)."""
        with self._lock:
            found = self._found.get(key)
            if found is not None:
                self._found.move_to_end(key)
            return found

    def put(self, key: Hashable, value: Value) -> None:
        """Keep `value` for `key`."""
        with self._lock:
            self._found[key] = value
            while len(self._found) > self._most:
                self._found.popitem(last=False)
