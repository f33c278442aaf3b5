"""Start walks that are made on first use, or while the device measures the default plan.

Those of a large pipeline take seconds, in which a device would wait. A run that continues from a checkpoint, and
explorers without start walks, never use them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import overload

from graph.walk import Walk


class Coming(Sequence[Walk]):
    """The walks that `make` returns. It is called once."""

    def __init__(self, make: Callable[[], Sequence[Walk]]) -> None:
        self._make = make
        self._made: Sequence[Walk] | None = None
        self._failed: Exception | None = None

    def prepare(self) -> None:
        """Make the walks; an error is raised where they are used."""
        if self._made is None and self._failed is None:
            try:
                self._made = self._make()
            except Exception as error:  # noqa: BLE001  raised again where the walks are used
                self._failed = error

    @property
    def _walks(self) -> Sequence[Walk]:
        """The walks. Raises what `make` raises."""
        self.prepare()
        if self._failed is not None:
            raise self._failed
        assert self._made is not None
        return self._made

    def __len__(self) -> int:
        return len(self._walks)

    @overload
    def __getitem__(self, place: int) -> Walk: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Walk]: ...

    def __getitem__(self, place: int | slice) -> Walk | Sequence[Walk]:
        return self._walks[place]
