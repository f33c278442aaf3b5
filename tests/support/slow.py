"""Cases of a test of which only some run by default; the others are marked as slow."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import date
from typing import Any, TypeVar
from zlib import crc32

import pytest

DAY = "ANTUNE_TEST_DAY"
"""A variable of the environment: the date (ISO 8601) whose cases run, or `every`. All processes of a session have the
same.
"""
EVERY = "every"
TURN_DAYS = 4
QUICK_ONLY = "ANTUNE_TESTS_QUICK_ONLY"
"""A variable of the environment, set where a session leaves out what is marked as slow: then its cases are not even
made, because collecting them takes as long as collecting all others.
"""

Test = TypeVar("Test", bound=Callable[..., Any])


def few(cases: Iterable[Any], fast: int | Collection[Any], names: Sequence[str] | None = None) -> list[Any]:
    """Return parameters of a test: the first `fast` cases, or those in it, run by default, the others with `-m slow`.

    A case that is a tuple has a value for each of several parameters. `names` are those of the cases (pytest's `ids`).
    Raises ValueError if no case runs by default.
    """
    cases = list(cases)
    quick = _quick(cases, fast)
    return [case if quick[number] and names is None
            else pytest.param(*(case if isinstance(case, tuple) else (case,)), id=names[number] if names else None,
                              marks=() if quick[number] else pytest.mark.slow)
            for number, case in enumerate(cases) if quick[number] or not os.environ.get(QUICK_ONLY)]


def counted(cases: Iterable[Any], fast: int | Collection[Any], count: int, full: int) -> list[Any]:
    """Return pairs of a case and a number, as of random plans: `count` for cases that run by default, as in `few`, and
    with `-m slow` `full` for every case.
    """
    cases = list(cases)
    sample = [case for case, is_quick in zip(cases, _quick(cases, fast), strict=True) if is_quick]
    return few([(case, number) for number, some in ((count, sample), (full, cases)) for case in some], len(sample))


def _quick(cases: list[Any], fast: int | Collection[Any]) -> list[bool]:
    quick = [number < fast if isinstance(fast, int) else case in fast for number, case in enumerate(cases)]
    if not any(quick):
        raise ValueError("no case runs by default; use pytest.mark.slow for a test that is slow as a whole")
    return quick


def day() -> date | None:
    """Return the date whose cases run, None if those of every day do. Raises pytest.UsageError."""
    text = os.environ.get(DAY) or date.today().isoformat()
    if text == EVERY:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise pytest.UsageError(f"{DAY}={text!r} is neither a date such as 2026-11-28 nor {EVERY!r}") from None


def of_today(cases: Sequence[Any], count: int = 1) -> list[Any]:
    """Return `count` of the cases, those of the day: each has its turn, and all have had one after a few days.

    To run the cases of another day, or all, set `ANTUNE_TEST_DAY`.
    """
    if (today := day()) is None:
        return list(cases)
    first = today.toordinal() * count
    return [cases[(first + number) % len(cases)] for number in range(count)]


def in_turn(test: Test) -> Test:
    """Decorate a test that takes more than a second, of which there are hundreds: it runs on every fourth day, on the
    others with `-m slow` only. Its name says on which, so that a new test moves no other.
    """
    if (today := day()) is None:
        return test
    turn = crc32(f"{test.__module__}.{test.__qualname__}".encode()) % TURN_DAYS
    return test if today.toordinal() % TURN_DAYS == turn else pytest.mark.slow(test)
