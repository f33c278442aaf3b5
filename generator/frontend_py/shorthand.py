"""Several Vars or Funcs at once: `x, y = vars("x y")`."""

from __future__ import annotations

from generator.frontend_py.func import Func
from generator.frontend_py.nodes import Var


def vars(names: str) -> tuple[Var, ...]:
    """Return a Var for each of the names, which are separated by spaces or commas."""
    return tuple(Var(name) for name in names.replace(",", " ").split())


def funcs(names: str) -> tuple[Func, ...]:
    """Return a Func for each of the names, which are separated by spaces or commas."""
    return tuple(Func(name) for name in names.replace(",", " ").split())
