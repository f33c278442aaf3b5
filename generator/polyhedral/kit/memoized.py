"""A cache that also stores refusals: isl takes as long to find a request impossible as to answer it."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar

from generator.errors import IllegalPlan

_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")


def memoized(maxsize: int) -> Callable[[Callable[_Given, _Found]], Callable[_Given, _Found]]:
    """Cache like `functools.lru_cache`, but also cache an IllegalPlan and raise it again."""

    def decorate(function: Callable[_Given, _Found]) -> Callable[_Given, _Found]:
        @lru_cache(maxsize)
        def answer(*given: _Given.args, **named: _Given.kwargs) -> _Found | IllegalPlan:
            try:
                return function(*given, **named)
            except IllegalPlan as error:
                return copy(error)  # without traceback and context, which keep everything that the call made alive

        @wraps(function)
        def ask(*given: _Given.args, **named: _Given.kwargs) -> _Found:
            found = answer(*given, **named)  # type: ignore[arg-type]  # lru_cache asks for hashable arguments
            if isinstance(found, IllegalPlan):
                raise copy(found)  # raising adds a traceback: the cache would keep the frames of all callers
            return found

        return ask

    return decorate
