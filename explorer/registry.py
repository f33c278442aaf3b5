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
from explorer.others import find_here, installed, load_maker, make_other
from explorer.portfolio import Maker, Portfolio, PortfolioOptions
from explorer.random_walk import RandomWalk
from generator.errors import InputError
from graph.space import Space


def _portfolio(space: Space, seed: int, starts: Starts) -> Portfolio:
    """Make the portfolio: colony (which begins with the starts), genetic, local and random search."""
    makers: tuple[Maker, ...] = (lambda space, seed: Colony(space, seed, starts=starts), Genetic, Local)
    return Portfolio(space, seed, makers, PortfolioOptions(opening=len(starts)))


def _as_published(options: ColonyOptions) -> Callable[[Space, int, Starts], Explorer]:
    """Return a maker of a colony without start walks, as in the papers."""
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
        "random": lambda space, seed, starts: RandomWalk(space, seed),  # the baseline uses no start walks
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
"""The names of antune's own explorers, the default first."""
PLAN_MAKERS = ("sioutas", "polymage-dp")
"""Explorers that first try the plans that a cost model of the program's stages chose; then they search locally."""
STARTED = ("colony", "genetic", "halide-ga", "beam", "local", "portfolio", *PLAN_MAKERS)
"""antune's own explorers that begin with start walks (`halide-ga` only if the space has no stages)."""
FORETOLD = ("colony", "genetic", "portfolio")
"""antune's own explorers that choose plans by the costs that a space predicts (graph.foretelling)."""
FORESEEN = ("colony", "portfolio", "coding-ants-base", "coding-ants-metrics", "coding-ants", *ANT_SYSTEMS)
"""antune's own explorers whose ants prefer options with low predicted costs."""
MODELLED = ("colony", "genetic", "local", "portfolio")
"""antune's own explorers that begin with plans of a cost model where these usually pay."""
SEARCHES = tuple(name for name in EXPLORERS if name not in PLAN_MAKERS)
"""Explorers that work on any space."""


def explorers() -> tuple[str, ...]:
    """Return all names: antune's own explorers, then those of installed packages."""
    return (*EXPLORERS, *sorted(set(installed()) - set(EXPLORERS)))


def find_maker(name: str) -> ExplorerMaker:
    """Return the maker of the explorer `name`: one of antune's own, or one of an installed package.

    `MODULE:NAME` is a class or a function of the running Python program. It must be imported already: names are stored
    in runs, and a run of another person must not import code.

    Raises:
        InputError: the name is unknown, the explorer cannot be imported, or it cannot be called as a maker.
    """
    if name in _MAKERS:
        return _MAKERS[name]
    if ":" in name:
        return find_here(name)
    entry = installed().get(name)
    if entry is None:
        raise InputError(
            f"unknown explorer {name!r}; use one of {', '.join(explorers())}, or install the package that brings it"
        )
    return load_maker(entry)


def searches() -> tuple[str, ...]:
    """Return the names of the explorers that work on any space: SEARCHES, then those of installed packages."""
    return tuple(name for name in explorers() if name not in PLAN_MAKERS)


def check_search(name: str) -> None:
    """Raise InputError if `name` is not an explorer that works on any space, or cannot be used."""
    if name not in searches() and ":" not in name:
        wrong = f"the explorer {name!r} needs a program" if name in PLAN_MAKERS else f"there is no explorer {name!r}"
        raise InputError(f"{wrong}; use some of {', '.join(searches())}, or install the package that brings another")
    find_maker(name)


def overshadowed(name: str) -> str | None:
    """Return a note if an installed package registers an explorer with the name of one of antune's own."""
    entry = installed().get(name) if name in _MAKERS else None
    if entry is None:
        return None
    package = f"the package {entry.dist.name}" if entry.dist else "another package"
    return (f"{name!r} is antune's own explorer; that of {package} ({entry.value}) has the same name and is "
            "not used: register it under another one (docs/python.md)")


def make_explorer(name: str, space: Space, seed: int, starts: Starts = ()) -> Explorer:
    """Return a new explorer of `space` with its default options. Most explorers ask `starts` first.

    Raises:
        InputError: the name is unknown, the seed is negative, or an explorer of another package is not usable.
    """
    if seed < 0:
        raise InputError(f"the seed is negative: {seed}; use 0 or a positive number")
    maker = find_maker(name)
    return maker(space, seed, starts) if name in _MAKERS else make_other(name, maker, space, seed, starts)
