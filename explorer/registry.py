"""Explorers by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from explorer.base import Explorer
from explorer.colony import Colony, Starts
from explorer.random_walk import RandomWalk
from generator.errors import InputError
from graph.space import Space

_MAKERS: Mapping[str, Callable[[Space, int, Starts], Explorer]] = MappingProxyType(
    {
        "colony": lambda space, seed, starts: Colony(space, seed, starts=starts),
        "random": lambda space, seed, starts: RandomWalk(space, seed),  # a baseline knows nothing
    }
)

EXPLORERS = tuple(_MAKERS)
"""The names, the default first."""


def make_explorer(name: str, space: Space, seed: int, starts: Starts = ()) -> Explorer:
    """A new explorer of `space` with its default options; those that learn ask the walks closest to `starts` first.

    Raises:
        InputError: there is no explorer of this name, or the seed is negative.
    """
    if name not in _MAKERS:
        raise InputError(f"there is no explorer {name!r}; use one of {', '.join(EXPLORERS)}")
    if seed < 0:
        raise InputError(f"the seed is negative: {seed}; use 0 or a positive number")
    return _MAKERS[name](space, seed, starts)
