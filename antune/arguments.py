"""Arguments of `antune.tune` and `antune.jit` as Python programs write them: one value or a list of them, and the type
of each.

The command line has texts only, which its library checks; a program may pass anything.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from functools import wraps
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ParamSpec, TypeAlias, TypeVar, get_args

from experiments.values.options import LevelName, SpaceName
from generator.errors import InputError

Texts: TypeAlias = "str | Sequence[str]"
ExplorerLike: TypeAlias = "str | type[Any] | Callable[[Any, int, Any], Any]"
Paths: TypeAlias = "str | Path | Sequence[str | Path]"
P = ParamSpec("P")
T = TypeVar("T")
_WHOLE = ("ants", "seed", "finalists", "scop")
_CHOICES = {"space": get_args(SpaceName), "level": get_args(LevelName)}


def with_plain_numbers(function: Callable[P, T]) -> Callable[P, T]:
    """Return `function` with its numbers as Python's own, which a run can store: arrays of numpy have others."""
    @wraps(function)
    def called(*given: P.args, **named: P.kwargs) -> T:
        plain: Any = _plain  # a number keeps its kind, so the types stay right
        return function(*map(plain, given), **{name: plain(value) for name, value in named.items()})

    return called


def _plain(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, Real):
        return value
    return int(value) if isinstance(value, Integral) else float(value)


def texts(name: str, given: Texts) -> tuple[str, ...]:
    """Return the texts of an argument that is one text or several. Raises InputError for anything else."""
    found = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, list | tuple) else None
    if found is None or not all(isinstance(text, str) for text in found):
        raise InputError(f"{name} is {given!r:.60}; give a text, or a list of texts")
    return found


def paths(name: str, given: Paths) -> tuple[Path, ...]:
    """Return the paths of an argument that is one path or several. Raises InputError for anything else."""
    found = (given,) if isinstance(given, str | Path) else tuple(given) if isinstance(given, list | tuple) else None
    if found is None or not all(isinstance(path, str | Path) for path in found):
        raise InputError(f"{name} is {given!r:.60}; give a path, or a list of paths")
    return tuple(map(Path, found))


def words(name: str, given: Texts) -> str:
    """Return the text of an argument that is split as a shell does; a list has the words themselves. Raises
    InputError for anything else.
    """
    return given if isinstance(given, str) else shlex.join(texts(name, given))


def explorer_name(explorer: ExplorerLike) -> str:
    """Return the name by which a run finds its explorer again: for a class or a function, where to import it from.

    Raises:
        InputError: it is something else, or it cannot be found by a name.
    """
    if isinstance(explorer, str):
        return explorer
    from explorer.others import name_here

    return name_here(explorer)


def check_single(**given: object) -> None:
    """Raise InputError if an argument that is a single text or number is of another type, or none of its choices. None
    stands for an argument that was left out.
    """
    for name, value in given.items():
        kind, wanted = ((int, "a whole number") if name in _WHOLE else
                        (int | float, "a number of seconds") if name == "program_limit" else (str, "a text"))
        choices = _CHOICES.get(name, ())
        if value is not None and (not isinstance(value, kind) or (choices and value not in choices)):
            remedy = f"use {', '.join(choices[:-1])} or {choices[-1]}" if choices else f"give {wanted}"
            raise InputError(f"{name} is {value!r:.60}; {remedy}")
