"""Run a file of this room as a command: `python -m experiments...`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import typer

from generator.errors import AntuneError, InputError


def run(command: Callable[..., None]) -> None:
    """Run `command` with the arguments of the process; an error that the user can fix is one message, no traceback."""
    with plain_errors():
        typer.run(command)


@contextmanager
def plain_errors() -> Iterator[None]:
    """End the process with one message, without a traceback, if what follows raises an error that the user can fix."""
    try:
        yield
    except AntuneError as error:
        raise SystemExit(f"error: {error}") from None


def numbers_of(words: Sequence[str]) -> dict[str, int]:
    """Return the numbers in words like `stages=100`. Raises InputError for any other word."""
    found: dict[str, int] = {}
    for word in words:
        name, _, value = word.partition("=")
        try:
            found[name] = int(value)
        except ValueError:
            raise InputError(f"{word!r} is not a parameter; write NAME=INTEGER, e.g. stages=100") from None
    return found
