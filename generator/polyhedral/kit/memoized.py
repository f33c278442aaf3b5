"""A cache that also stores refusals: for isl, finding that a request is impossible takes as long as answering it."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar

from generator.errors import IllegalPlan

_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")


def memoized(maxsize: int) -> Callable[[Callable[_Given, _Found]], Callable[_Given, _Found]]:
    """Like `functools.lru_cache`, but an IllegalPlan is also cached and raised again."""

    def decorate(function: Callable[_Given, _Found]) -> Callable[_Given, _Found]:
        @lru_cache(maxsize)
        def answer(*given: _Given.args, **named: _Given.kwargs) -> _Found | IllegalPlan:
            try:
                return function(*given, **named)
            except IllegalPlan as error:
                return copy(error)  # without its traceback and context, which keep all that the call had made

        @wraps(function)
        def ask(*given: _Given.args, **named: _Given.kwargs) -> _Found:
            found = answer(*given, **named)  # type: ignore[arg-type]  # lru_cache asks for hashable arguments
            if isinstance(found, IllegalPlan):
                raise copy(found)  # raising gives it a traceback: the cache would keep the frames of all callers
            return found

        return ask

    return decorate
