"""Explorers by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from explorer.ant_systems import ANT_SYSTEMS
from explorer.base import Explorer
from explorer.colony import Colony, ColonyOptions, Starts, coding_ants, published
from explorer.exhaustive import Exhaustive
from explorer.genetic import Genetic
from explorer.local import Local
from explorer.portfolio import Maker, Portfolio, PortfolioOptions
from explorer.random_walk import RandomWalk
from generator.errors import InputError
from graph.space import Space


def _portfolio(space: Space, seed: int, starts: Starts) -> Portfolio:
    """Colony (which follows the starts), evolution, local search and random search."""
    makers: tuple[Maker, ...] = (lambda space, seed: Colony(space, seed, starts=starts), Genetic, Local)
    return Portfolio(space, seed, makers, PortfolioOptions(opening=len(starts)))


def _as_published(options: ColonyOptions) -> Callable[[Space, int, Starts], Explorer]:
    """A colony that begins with its own ants: the papers know no start plans."""
    return lambda space, seed, starts: Colony(space, seed, options)


_MAKERS: Mapping[str, Callable[[Space, int, Starts], Explorer]] = MappingProxyType(
    {
        "colony": lambda space, seed, starts: Colony(space, seed, starts=starts),
        "genetic": lambda space, seed, starts: Genetic(space, seed, starts=starts),
        "local": lambda space, seed, starts: Local(space, seed, starts=starts),
        "portfolio": _portfolio,
        "random": lambda space, seed, starts: RandomWalk(space, seed),  # a baseline knows nothing
        "exhaustive": lambda space, seed, starts: Exhaustive(space),
        "coding-ants-base": _as_published(coding_ants(metrics=False, tree=False)),
        "coding-ants-metrics": _as_published(coding_ants(metrics=True, tree=False)),
        "coding-ants": _as_published(coding_ants(metrics=True, tree=True)),
        **{name: _as_published(published(rule)) for name, rule in ANT_SYSTEMS.items()},
    }
)

EXPLORERS = tuple(_MAKERS)
"""The names, the default first."""


def make_explorer(name: str, space: Space, seed: int, starts: Starts = ()) -> Explorer:
    """A new explorer of `space` with its default options; ours that learn ask the walks closest to `starts` first.

    Raises:
        InputError: there is no explorer of this name, or the seed is negative.
    """
    if name not in _MAKERS:
        raise InputError(f"there is no explorer {name!r}; use one of {', '.join(EXPLORERS)}")
    if seed < 0:
        raise InputError(f"the seed is negative: {seed}; use 0 or a positive number")
    return _MAKERS[name](space, seed, starts)
