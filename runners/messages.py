"""What the two ends of a worker process say to each other: values, pickled over a pipe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from metrics.outcome import Phase


class Report(Protocol):
    """Tells the parent, before it begins, which phase follows; a crash or a hang is then put down to it."""

    def __call__(self, phase: Phase, limit_s: float | None) -> None:
        """`limit_s` is the time allowed from now on in seconds; None lifts the limit (waiting for a lock)."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A task's result.

    `retire`: the worker may be damaged and wants to be replaced. `doubtful`: it failed, which may be the fault of an
    earlier task; a worker that says so is replaced, too.
    """

    value: Any
    retire: bool = False
    doubtful: bool = False


Handler: TypeAlias = Callable[[Any, Report], Answer]


@dataclass(frozen=True, slots=True)
class Startup:
    """First message to a worker: `factory(*arguments)` makes the handler of all tasks that follow."""

    factory: Callable[..., Handler]
    arguments: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Ready:
    """The worker has started and waits for tasks."""


@dataclass(frozen=True, slots=True)
class StartFailed:
    """The factory raised; the worker ends."""

    message: str


@dataclass(frozen=True, slots=True)
class InPhase:
    """A `Report`."""

    phase: Phase
    limit_s: float | None


@dataclass(frozen=True, slots=True)
class Raised:
    """The handler raised an exception; the worker is replaced."""

    message: str
