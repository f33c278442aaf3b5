"""The messages between the two ends of a worker process: values, pickled over a pipe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from metrics.outcome import Phase


class Report(Protocol):
    """Tells the parent which phase begins; a crash or a hang is then attributed to this phase."""

    def __call__(self, phase: Phase, limit_s: float | None) -> None:
        """`limit_s` is the time limit from now on in seconds; None removes the limit (waiting for a lock)."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A task's result.

    `retire`: the worker may be damaged, and asks to be replaced. `doubtful`: it failed, but an earlier task may be the
    cause; the worker is replaced, too.
    """

    value: Any
    retire: bool = False
    doubtful: bool = False


Handler: TypeAlias = Callable[[Any, Report], Answer]


@dataclass(frozen=True, slots=True)
class Startup:
    """The first message to a worker: `factory(*arguments)` makes the handler of all later tasks.

    `imports` are modules that the worker needs and that load no driver: its fork server imports them once.
    """

    factory: Callable[..., Handler]
    arguments: tuple[Any, ...]
    imports: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ready:
    """The worker has started and waits for tasks."""


@dataclass(frozen=True, slots=True)
class StartFailed:
    """The factory raised an exception; the worker ends."""

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


@dataclass(frozen=True, slots=True)
class NotInstalled:
    """A worker's answer if Oclgrind is not installed."""
