"""Explorers of other packages (found by entry points), and explorers of the running Python program.

They are checked before use and while they run (explorer.checked), and every error of theirs becomes an InputError that
names the explorer and its package.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from types import FunctionType
from typing import Any

from explorer.base import Explorer
from explorer.checked import check_calls, told
from explorer.colony import Starts
from generator.errors import InputError
from graph.space import Space

ENTRY_POINTS = "antune.explorers"
"""The group of entry points in which other packages register their explorers."""
_EXPECTED = ("expected is `maker(space, seed, starts)`, which returns an object with `ask(count)` and "
             "`tell(walk, outcome)` (docs/python.md)")


def installed() -> dict[str, EntryPoint]:
    """Return the entry points of installed packages by name."""
    return {entry.name: entry for entry in entry_points(group=ENTRY_POINTS)}


def load_maker(entry: EntryPoint) -> Callable[[Space, int, Starts], Any]:
    """Import what `entry` names: a callable that makes an explorer.

    Raises:
        InputError: it cannot be imported, or cannot be called with these arguments.
    """
    whose = f"the explorer {entry.name!r} ({entry.value}{f' of the package {entry.dist.name}' if entry.dist else ''})"
    try:
        found = entry.load()
    except (Exception, SystemExit) as error:  # a module may raise anything while it is imported
        raise InputError(f"{whose} cannot be imported: {told(error)}; mend or reinstall its package") from error
    return _checked(whose, found)


def find_here(name: str) -> Callable[[Space, int, Starts], Any]:
    """Return the class or function MODULE:NAME of the running Python program.

    A run that somebody else made may name anything: only what is written as an explorer is called.

    Raises:
        InputError: the program has not imported it, it is neither a class with `ask` and `tell` nor a function of
            `space`, `seed` and `starts`, or it takes other arguments.
    """
    found = _named(name)
    if not (isinstance(found, type) and hasattr(found, "ask") and hasattr(found, "tell")) and not _is_maker(found):
        raise InputError(f"the explorer {name!r} is a class or a function of a Python program: go on from a program "
                         "that imports it (antune.resume), or give it a name by an entry point (docs/python.md)")
    return _checked(f"the explorer {name!r}", found)


def name_here(explorer: object) -> str:
    """Return the name MODULE:NAME by which `find_here` finds a class or a function of the running program again.

    Raises:
        InputError: it is something else, or it cannot be found by a name: a lambda, a partial, or inside a function.
    """
    remedy = ("give its name as text, a class, or a function `def NAME(space, seed, starts)` that returns an explorer, "
              "both at the top level of a module, so that a run can store the name (docs/python.md)")
    if not isinstance(explorer, type) and not _is_maker(explorer):
        raise InputError(f"explorer is {explorer!r:.60}; {remedy}")
    name = _place(explorer)
    if _named(name) is not explorer:
        raise InputError(f"explorer is {name}, which is not found by this name; {remedy}")
    return name


def _named(name: str) -> Any:
    module, _, place = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in place.split("."):
        found = getattr(found, part, None)
    return found


def _is_maker(found: object) -> bool:
    """Return whether `found` is a function whose parameters begin with `space`, `seed` and `starts`."""
    return isinstance(found, FunctionType) and found.__code__.co_varnames[:3] == ("space", "seed", "starts")


def make_other(name: str, maker: Callable[[Space, int, Starts], Any], space: Space, seed: int,
               starts: Starts) -> Explorer:
    """Make an explorer with a maker of another package; its calls are checked (explorer.checked).

    Raises:
        InputError: the maker raises an error, or its result is not an explorer.
    """
    try:
        explorer = maker(space, seed, starts)
    except InputError:
        raise
    except Exception as error:  # the author's code may raise anything
        raise InputError(f"the explorer {name!r} ({_place(maker)}) cannot be made: its own code raised {told(error)}; "
                         "tell its author") from error
    for method, arguments in (("ask", (1,)), ("tell", (None, None))):
        if not _takes(getattr(explorer, method, None), *arguments):
            raise InputError(f"the explorer {name!r} ({_place(maker)}) returned {type(explorer).__name__!r}, whose "
                             f"`{method}` is missing or takes other arguments; {_EXPECTED}")
    place = _place(type(explorer))
    return check_calls(explorer, f"the explorer {name!r}{f' ({place})' if place != name else ''}", space)


def _checked(whose: str, found: Any) -> Callable[[Space, int, Starts], Any]:
    if not callable(found):
        raise InputError(f"{whose} is {type(found).__name__!r}, which cannot be called; {_EXPECTED}")
    if not _takes(found, None, 0, ()):
        raise InputError(f"{whose} takes other arguments, `{inspect.signature(found)}`; {_EXPECTED}")
    maker: Callable[[Space, int, Starts], Any] = found
    return maker


def _takes(function: Any, *arguments: object) -> bool:
    """Return whether `function` can be called with so many arguments; true if its signature is unknown."""
    if not callable(function):
        return False
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # no signature, for example in a compiled module: the call will show
        return True
    try:
        signature.bind(*arguments)
    except TypeError:
        return False
    return True


def _place(maker: object) -> str:
    """Return where the code of a maker is, as MODULE:NAME."""
    kind = maker if hasattr(maker, "__qualname__") else type(maker)
    return f"{getattr(kind, '__module__', '?')}:{getattr(kind, '__qualname__', '?')}"
