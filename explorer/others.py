"""Explorers of other packages (found by entry points), and explorer classes of the running Python program.

They are checked before use, and every error of theirs becomes an InputError that names the explorer and its package.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from explorer.base import Explorer
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
        raise InputError(f"{whose} cannot be imported: {_told(error)}; mend or reinstall its package") from error
    return _checked(whose, found)


def find_class(name: str) -> Callable[[Space, int, Starts], Any]:
    """Return the class MODULE:CLASS of the running Python program.

    Raises:
        InputError: the program has not imported it, it is not an explorer, or it takes other arguments.
    """
    module, _, place = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in place.split("."):
        found = getattr(found, part, None)
    if not (isinstance(found, type) and hasattr(found, "ask") and hasattr(found, "tell")):
        raise InputError(f"the explorer {name!r} is a class of a Python program: go on from a program that imports it "
                         "(antune.resume), or give it a name by an entry point (docs/python.md)")
    return _checked(f"the explorer {name!r}", found)


def make_other(name: str, maker: Callable[[Space, int, Starts], Any], space: Space, seed: int,
               starts: Starts) -> Explorer:
    """Make an explorer with a maker of another package.

    Raises:
        InputError: the maker raises an error, or its result is not an explorer.
    """
    try:
        explorer = maker(space, seed, starts)
    except InputError:
        raise
    except Exception as error:  # the author's code may raise anything
        raise InputError(f"the explorer {name!r} ({_place(maker)}) cannot be made: its own code raised {_told(error)}; "
                         "tell its author") from error
    for method, arguments in (("ask", (1,)), ("tell", (None, None))):
        if not _takes(getattr(explorer, method, None), *arguments):
            raise InputError(f"the explorer {name!r} ({_place(maker)}) returned {type(explorer).__name__!r}, whose "
                             f"`{method}` is missing or takes other arguments; {_EXPECTED}")
    made: Explorer = explorer
    return made


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


def _told(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
