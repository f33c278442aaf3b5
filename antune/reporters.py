"""Who tells how a run gets on, for runs that are begun from Python."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, assert_never

from antune.errors import InputError
from antune.progress import Bar, Lines

if TYPE_CHECKING:
    from experiments.run import Reporter
    from experiments.values.options import Budget
    from experiments.values.records import Result, RunInfo

ReporterName: TypeAlias = Literal["silent", "text", "rich", "notebook"]
NAMES: tuple[ReporterName, ...] = ("silent", "text", "rich", "notebook")


class Silent:
    """Tells nothing; warnings are in `Result.warnings` all the same."""

    def note(self, text: str) -> None:
        """Nothing."""

    def begin(self, info: RunInfo, budget: Budget, stored: tuple[Result, ...], elapsed_s: float) -> None:
        """Nothing."""

    def result(self, result: Result) -> None:
        """Nothing."""


class Notebook(Lines):
    """One output of a notebook's cell whose last lines change; plain lines where there is no IPython."""

    LINES = 8

    def __init__(self) -> None:
        """The output appears with the first note."""
        super().__init__()
        self._shown: list[str] = []
        self._display: Any = None

    def note(self, text: str) -> None:
        """Show `text` below what was said last."""
        try:
            from IPython.display import Pretty, display
        except ImportError:
            super().note(text)
            return
        self._shown = [*self._shown, text][-self.LINES:]
        content = Pretty("\n".join(self._shown))
        if self._display is None:
            self._display = display(content, display_id=True)
        else:
            self._display.update(content)


@contextmanager
def opened(reporter: ReporterName | Reporter) -> Iterator[Reporter]:
    """The reporter of a name, or the one that is given. Raises InputError for an unknown name."""
    if not isinstance(reporter, str):
        yield reporter
        return
    if reporter not in NAMES:
        raise InputError(
            f"there is no reporter {reporter!r}; use one of {', '.join(NAMES)}, or an object with note, begin and "
            f"result"
        )
    with _made(reporter) as made:
        yield made


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
