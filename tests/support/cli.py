"""The command line, called in the process of a test."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TypeAlias

import pytest

from antune.cli import main

Antune: TypeAlias = Callable[..., int]
"""Takes the words of a command line, returns the exit code."""


def antune_command(monkeypatch: pytest.MonkeyPatch, *first: str) -> Antune:
    """Return `antune` with `first` before all other words."""

    def call(*words: object) -> int:
        monkeypatch.setattr(sys, "argv", ["antune", *first, *map(str, words)])
        try:
            main()
        except SystemExit as end:
            return end.code if isinstance(end.code, int) else int(end.code is not None)
        return 0

    return call
