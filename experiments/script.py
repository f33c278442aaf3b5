"""Run a file of this room as a command: `python -m experiments...`."""

from __future__ import annotations

from collections.abc import Callable

import typer

from generator.errors import AntuneError


def run(command: Callable[..., None]) -> None:
    """Run `command` with the arguments of the process; an error that the user can fix is one message, no traceback."""
    try:
        typer.run(command)
    except AntuneError as error:
        raise SystemExit(f"error: {error}") from None
