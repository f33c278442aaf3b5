"""Explorers by name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Any, TypeAlias

from explorer.ant_systems import ANT_SYSTEMS
from explorer.base import Explorer
from explorer.colony import Colony, ColonyOptions, Starts, coding_ants, published
from explorer.exhaustive import Exhaustive
from explorer.genetic import Genetic
from explorer.halide_ga import HalideGa
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


ExplorerMaker: TypeAlias = Callable[[Space, int, Starts], Explorer]
"""Makes an explorer of a space, with a seed and plans to start with."""
_MAKERS: Mapping[str, ExplorerMaker] = MappingProxyType(
    {
        "colony": lambda space, seed, starts: Colony(space, seed, starts=starts),
        "genetic": lambda space, seed, starts: Genetic(space, seed, starts=starts),
        "halide-ga": lambda space, seed, starts: HalideGa(space, seed, starts=starts),
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
"""The names of antune's own, the default first."""
ENTRY_POINTS = "antune.explorers"
"""The group of entry points in which other packages name explorers of theirs."""


def explorers() -> tuple[str, ...]:
    """All names: antune's own, then those of installed packages."""
    return (*EXPLORERS, *sorted(set(_installed()) - set(EXPLORERS)))


def _installed() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=ENTRY_POINTS)}


def find_maker(name: str) -> ExplorerMaker:
    """What makes the explorer called `name`: one of antune's own, or one of an installed package.

    `MODULE:CLASS` is a class of the Python program that runs: only what that has imported is ever looked at, since
    names are stored, and runs may come from somebody else.

    Raises:
        InputError: there is none, or it cannot be imported.
    """
    if name in _MAKERS:
        return _MAKERS[name]
    if ":" in name:
        return _of_program(name)
    entry = _installed().get(name)
    if entry is None:
        raise InputError(
            f"unknown explorer {name!r}; use one of {', '.join(explorers())}, or install the package that brings it"
        )
    try:
        made: ExplorerMaker = entry.load()
    except (ImportError, AttributeError) as error:
        raise InputError(
            f"the explorer {name!r} ({entry.value}) cannot be imported: {error}; mend or reinstall its package"
        ) from None
    return made


def _of_program(name: str) -> ExplorerMaker:
    module, _, place = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in place.split("."):
        found = getattr(found, part, None)
    if not (isinstance(found, type) and hasattr(found, "ask") and hasattr(found, "tell")):
        raise InputError(f"the explorer {name!r} is a class of a Python program: go on from a program that imports it "
                         "(antune.resume), or give it a name by an entry point (docs/python.md)")
    maker: ExplorerMaker = found
    return maker


def make_explorer(name: str, space: Space, seed: int, starts: Starts = ()) -> Explorer:
    """A new explorer of `space` with its default options; ours that learn ask `starts` first.

    Raises:
        InputError: there is no explorer of this name, or the seed is negative.
    """
    if seed < 0:
        raise InputError(f"the seed is negative: {seed}; use 0 or a positive number")
    return find_maker(name)(space, seed, starts)
