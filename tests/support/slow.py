"""Cases of a test of which only some run by default; the others are marked as slow."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def few(cases: Iterable[Any], fast: int | Collection[Any]) -> list[Any]:
    """Return parameters of a test: the first `fast` cases, or those in it, run by default, the others with `-m slow`.

    A case that is a tuple has a value for each of several parameters.
    """
    return [case if (number < fast if isinstance(fast, int) else case in fast)
            else pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)
            for number, case in enumerate(cases)]
