"""Explorers by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from explorer.ant_systems import ANT_SYSTEMS
from explorer.base import Explorer
from explorer.beam import Beam
from explorer.colony import Colony, ColonyOptions, Starts, coding_ants, published
from explorer.exhaustive import Exhaustive
from explorer.genetic import Genetic
from explorer.halide_ga import HalideGa
from explorer.local import Local
from explorer.others import find_class, installed, load_maker, make_other
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


ExplorerMaker: TypeAlias = Callable[[Space, int, Starts], Explorer]
"""Makes an explorer of a space, with a seed and plans to start with."""
_MAKERS: Mapping[str, ExplorerMaker] = MappingProxyType(
    {
        "colony": lambda space, seed, starts: Colony(space, seed, starts=starts),
        "genetic": lambda space, seed, starts: Genetic(space, seed, starts=starts),
        "halide-ga": lambda space, seed, starts: HalideGa(space, seed, starts=starts),
        "beam": lambda space, seed, starts: Beam(space, seed, starts=starts),
        "local": lambda space, seed, starts: Local(space, seed, starts=starts),
        "portfolio": _portfolio,
        "random": lambda space, seed, starts: RandomWalk(space, seed),  # a baseline knows nothing
        "sioutas": lambda space, seed, starts: Local(space, seed, starts=starts),  # the starts are the model's
        "polymage-dp": lambda space, seed, starts: Local(space, seed, starts=starts),
        "exhaustive": lambda space, seed, starts: Exhaustive(space),
        "coding-ants-base": _as_published(coding_ants(metrics=False, tree=False)),
        "coding-ants-metrics": _as_published(coding_ants(metrics=True, tree=False)),
        "coding-ants": _as_published(coding_ants(metrics=True, tree=True)),
        **{name: _as_published(published(rule)) for name, rule in ANT_SYSTEMS.items()},
    }
)

EXPLORERS = tuple(_MAKERS)
"""The names of antune's own, the default first."""
PLAN_MAKERS = ("sioutas", "polymage-dp")
"""Those that follow a cost model of the stages of a program: local search after the plans that it chose."""
SEARCHES = tuple(name for name in EXPLORERS if name not in PLAN_MAKERS)
"""Those that search any space."""


def explorers() -> tuple[str, ...]:
    """All names: antune's own, then those of installed packages."""
    return (*EXPLORERS, *sorted(set(installed()) - set(EXPLORERS)))


def find_maker(name: str) -> ExplorerMaker:
    """What makes the explorer called `name`: one of antune's own, or one of an installed package.

    `MODULE:CLASS` is a class of the Python program that runs: only what that has imported is ever looked at, since
    names are stored, and runs may come from somebody else.

    Raises:
        InputError: there is none, it cannot be imported, or it cannot be called as a maker.
    """
    if name in _MAKERS:
        return _MAKERS[name]
    if ":" in name:
        return find_class(name)
    entry = installed().get(name)
    if entry is None:
        raise InputError(
            f"unknown explorer {name!r}; use one of {', '.join(explorers())}, or install the package that brings it"
        )
    return load_maker(entry)


def make_explorer(name: str, space: Space, seed: int, starts: Starts = ()) -> Explorer:
    """A new explorer of `space` with its default options; ours that learn ask `starts` first.

    Raises:
        InputError: there is no explorer of this name, the seed is negative, or what another package brings is no
            explorer.
    """
    if seed < 0:
        raise InputError(f"the seed is negative: {seed}; use 0 or a positive number")
    maker = find_maker(name)
    return maker(space, seed, starts) if name in _MAKERS else make_other(name, maker, space, seed, starts)
