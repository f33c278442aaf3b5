"""Reporters of the progress of runs that are started from Python."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from html import escape
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, assert_never

from antune.errors import InputError
from antune.progress import Bar, Lines
from generator.plain_text import printable

if TYPE_CHECKING:
    from experiments.run import Reporter
    from experiments.values.options import Budget
    from experiments.values.records import Result, RunInfo

ReporterName: TypeAlias = Literal["silent", "text", "rich", "notebook"]
NAMES: tuple[ReporterName, ...] = ("silent", "text", "rich", "notebook")


METHODS = ("note", "begin", "result")


class Silent:
    """Prints nothing; `Result.warnings` has the warnings all the same."""

    def note(self, text: str) -> None:
        """Do nothing."""

    def begin(self, info: RunInfo, budget: Budget, stored: tuple[Result, ...], elapsed_s: float) -> None:
        """Do nothing."""

    def result(self, result: Result) -> None:
        """Do nothing."""


class Notebook(Lines):
    """An output of a notebook's cell that changes: a bar, and the last lines below; plain lines without IPython."""

    LINES = 6

    def __init__(self) -> None:
        """The output appears with the first note."""
        super().__init__()
        self._shown: list[str] = []
        self._display: Any = None

    def note(self, text: str) -> None:
        """Show `text` below the previous notes."""
        try:
            from IPython.display import HTML, display
        except ImportError:
            super().note(text)
            return
        self._shown = [*self._shown, printable(text)][-self.LINES:]
        content = HTML(f"{self._bar()}<pre>{escape(chr(10).join(self._shown))}</pre>")
        if self._display is None:
            self._display = display(content, display_id=True)
        else:
            self._display.update(content)

    def _bar(self) -> str:
        """Return the bar, once the total is known."""
        tally = self._tally
        if tally is None or tally.total is None:
            return ""
        return (f"<progress max='{tally.total}' value='{tally.done}' style='width:20em'></progress> "
                f"{tally.done} of {tally.total}, {escape(tally.best())} {escape(tally.pace())}")


class Calling:
    """A reporter that also calls a function with every evaluation."""

    def __init__(self, reporter: Reporter, on_result: Callable[[Result], object]) -> None:
        """`reporter` is told everything first."""
        self._reporter, self._on_result = reporter, on_result

    def note(self, text: str) -> None:
        """Pass it on."""
        self._reporter.note(text)

    def begin(self, info: RunInfo, budget: Budget, stored: tuple[Result, ...], elapsed_s: float) -> None:
        """Pass it on."""
        self._reporter.begin(info, budget, stored, elapsed_s)

    def result(self, result: Result) -> None:
        """Pass it on, then call the function."""
        self._reporter.result(result)
        self._on_result(result)


def check_reporter(reporter: object) -> None:
    """Raise InputError unless `reporter` is None, a name, or an object with the three methods of reporters."""
    if isinstance(reporter, str):
        if reporter in NAMES:
            return
        raise InputError(f"there is no reporter {reporter!r}; use one of {', '.join(NAMES)}, or an object with "
                         f"{', '.join(METHODS)}")
    missing = [name for name in METHODS if not callable(getattr(reporter, name, None))]
    if reporter is not None and (missing or isinstance(reporter, type)):
        raise InputError(f"reporter is {reporter!r}, ".replace("\n", " ")[:200] + (
            f"which has no method {missing[0]}" if missing else "a class") + f"; use one of {', '.join(NAMES)}, or an "
            f"object with {', '.join(METHODS)}")


@contextmanager
def opened(reporter: ReporterName | Reporter | None,
           on_result: Callable[[Result], object] | None = None) -> Iterator[Reporter]:
    """Yield the reporter with a name, or the given one; None: the one that fits.

    Raises:
        InputError: as `check_reporter`.
    """
    check_reporter(reporter)
    name = ("notebook" if in_notebook() else "text") if reporter is None else reporter
    with _made(name) if isinstance(name, str) else nullcontext(name) as made:
        yield made if on_result is None else Calling(made, on_result)


def in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook, whose cells can update their output."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return shell is not None and hasattr(shell, "kernel")


@contextmanager
def _made(name: ReporterName) -> Iterator[Reporter]:
    match name:
        case "silent":
            yield Silent()
        case "text":
            yield Lines()
        case "notebook":
            yield Notebook()
        case "rich":
            with Bar() as bar:
                yield bar
        case _:
            assert_never(name)
