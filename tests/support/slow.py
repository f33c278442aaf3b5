"""Cases of a test of which only some run by default; the others are marked as slow."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from datetime import date
from typing import Any

import pytest

DAY = "ANTUNE_TEST_DAY"
"""A variable of the environment: the date (ISO 8601) whose cases run. All processes of a session have the same."""


def few(cases: Iterable[Any], fast: int | Collection[Any]) -> list[Any]:
    """Return parameters of a test: the first `fast` cases, or those in it, run by default, the others with `-m slow`.

    A case that is a tuple has a value for each of several parameters. Raises ValueError if no case runs by default.
    """
    cases = list(cases)
    if (fast < 1) if isinstance(fast, int) else not any(case in fast for case in cases):
        raise ValueError("no case runs by default; use pytest.mark.slow for a test that is slow as a whole")
    return [case if (number < fast if isinstance(fast, int) else case in fast)
            else pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)
            for number, case in enumerate(cases)]


def counted(cases: Iterable[Any], fast: int | Collection[Any], count: int, full: int) -> list[Any]:
    """Return pairs of a case and a number, as of random plans: `count` for cases that run by default, as in `few`, and
    with `-m slow` `full` for every case.
    """
    cases = list(cases)
    sample = [case for case in few(cases, fast) if case in cases]
    return few([(case, number) for number, some in ((count, sample), (full, cases)) for case in some], len(sample))


def day() -> date:
    """Return the date whose cases run. Raises pytest.UsageError."""
    text = os.environ.get(DAY) or date.today().isoformat()
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise pytest.UsageError(f"{DAY}={text!r} is no date such as 2026-11-28") from None


def of_today(cases: Sequence[Any], count: int = 1) -> list[Any]:
    """Return `count` of the cases, those of the day: each has its turn, and all have had one after a few days.

    To run the cases of another day, set `ANTUNE_TEST_DAY`.
    """
    first = day().toordinal() * count
    return [cases[(first + number) % len(cases)] for number in range(count)]
