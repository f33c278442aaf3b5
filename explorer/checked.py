"""Explorers of other people, checked at each call: an error in their code is one sentence that names it.

antune's own explorers are not wrapped (`tests/explorer/test_contract.py` checks them), so they stay as fast.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import explorer as own
from explorer.base import Explorer, ExplorerFailed, WalkRefused
from generator.errors import InputError
from generator.plan import Plan
from graph.optimization_graph import OptimizationGraph
from graph.policies import first, replay
from graph.space import Space
from graph.walk import Choice, Walk
from metrics.outcome import Outcome

_OPTIONAL = ("asks_ahead", "prepare", "graph", "trails")
"""What an explorer may have besides `ask` and `tell` (`explorer.base`, `experiments.graphs.history`)."""


class Checked:
    """An explorer whose answers are checked. `whose`: its name and the place of its code, for messages."""

    def __init__(self, inner: Explorer, whose: str, space: Space) -> None:
        self.inner = inner
        self._whose = whose
        self._space: Space | None = space

    def ask(self, count: int) -> Sequence[Walk]:
        """See `Explorer`. Raises ExplorerFailed."""
        try:
            walks: object = self.inner.ask(count)
        except InputError:
            raise
        except Exception as error:
            raise self._failure("ask", error) from error
        return self._checked(walks, count)

    def tell(self, walk: Walk, outcome: Outcome) -> None:
        """See `Explorer`. Raises ExplorerFailed."""
        try:
            self.inner.tell(walk, outcome)
        except InputError:
            raise
        except Exception as error:
            raise self._failure("tell", error) from error

    def _failure(self, method: str, error: Exception) -> ExplorerFailed:
        kind = WalkRefused if isinstance(error, ValueError) else ExplorerFailed
        return kind(f"{self._whose}: its `{method}` raised {told(error)}; mend it: "
                    f"{_line(error, type(self.inner))}")

    def _checked(self, walks: object, count: int) -> Sequence[Walk]:
        asked = f"{self._whose}: its `ask({count})` returned"
        expected = f"let it return a list or a tuple of at most {count} walks of its space (docs/python.md)"
        if not isinstance(walks, Sequence) or isinstance(walks, str | bytes):
            raise ExplorerFailed(f"{asked} {_shown(walks)}; {expected}")
        if len(walks) > count:
            raise ExplorerFailed(f"{asked} {len(walks)} walks; {expected}")
        for walk in walks:
            if not _is_walk(walk):
                raise ExplorerFailed(f"{asked} {_shown(walk)} as a walk; {expected}")
        if walks:
            self._check_space(walks, f"{asked} a walk whose choices do not lead to its plan; {expected}")
        return tuple(walks)

    def _check_space(self, walks: Sequence[Walk], message: str) -> None:
        """Raise ExplorerFailed if a walk of the first call does not lead to its plan; later ones would take time."""
        space, self._space = self._space, None
        if space is None:
            return
        graph = OptimizationGraph()
        for walk in walks:
            try:
                found = graph.walk(space, replay(walk.choices, first))
            except (LookupError, TypeError, ValueError):  # choices may hold anything
                found = None
            if found is None or found.identity != walk.identity:
                raise ExplorerFailed(message)


def check_calls(found: Explorer, whose: str, space: Space) -> Explorer:
    """Return `found` with its calls checked; an explorer of antune's own, made by other people's code, as it is."""
    if type(found).__module__.startswith(f"{own.__name__}."):
        return found
    passed = {name: property(attrgetter(f"inner.{name}")) for name in _OPTIONAL if hasattr(found, name)}
    kind: Callable[[Explorer, str, Space], Checked] = type(Checked.__name__, (Checked,), passed)
    return kind(found, whose, space)


def told(error: BaseException) -> str:
    """Return the type and the message of an exception, in one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def repeats_note(name: str, repeats: int, evaluations: int) -> str | None:
    """Return a note if `repeats` of an explorer's `evaluations` were of plans that it had asked for before."""
    if not repeats:
        return None
    return (f"the explorer {name} asked for plans again: {repeats:,} of {evaluations:,} evaluations repeat an earlier "
            "one and have its result; an explorer should return no plan twice (docs/python.md)")


def _line(error: Exception, kind: type) -> str:
    """Return the last line of the package of `kind` that an exception went through, as FILE:LINE."""
    package = kind.__module__.partition(".")[0]
    lines = [(frame.f_code.co_filename, line, str(frame.f_globals.get("__name__")).partition(".")[0] == package)
             for frame, line in traceback.walk_tb(error.__traceback__)]
    file, line, _ = max(enumerate(lines), key=lambda one: (one[1][2], one[0]))[1]
    return f"{file}:{line}"


def _is_walk(walk: Any) -> bool:
    return (isinstance(walk, Walk) and isinstance(walk.plan, Plan) and isinstance(walk.choices, tuple)
            and all(isinstance(choice, Choice) for choice in walk.choices))


def _shown(value: object) -> str:
    kind = f"{type(value).__module__}.".removeprefix("builtins.") + type(value).__qualname__
    try:
        text = " ".join(repr(value).split())
    except Exception:  # noqa: BLE001  a class of other people
        return kind
    return "None" if value is None else f"{text[:40]} ({kind})"
