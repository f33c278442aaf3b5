"""Short forms: several Vars or Funcs at once (`x, y = vars("x y")`), a Func in one call, the value of an expression."""

from __future__ import annotations

from typing import Any

from generator.errors import InputError
from generator.frontend_py.func import Func
from generator.frontend_py.nodes import Var
from generator.frontend_py.where import here


def vars(names: str) -> tuple[Var, ...]:
    """Return a Var for each of the names, which are separated by spaces or commas."""
    return tuple(Var(name) for name in names.replace(",", " ").split())


def funcs(names: str) -> tuple[Func, ...]:
    """Return a Func for each of the names, which are separated by spaces or commas."""
    return tuple(Func(name) for name in names.replace(",", " ").split())


def lambda_func(*given: Any) -> Func:
    """Return the Func of a value at these Vars: `lambda_func(x, y, x + y)`. Raises InputError without a value."""
    if not given or (isinstance(given[-1], Var) and len(given) == 1):
        raise InputError("lambda_func needs its Vars, then the value", here())
    made = Func("lambda")
    made[given[:-1]] = given[-1]
    return made


def evaluate(value: Any) -> Any:
    """Return the number that an expression without Vars is, by the interpreter; a list of them for a tuple."""
    made = Func("value")
    made[()] = value
    found = made.realize()
    return [one[()] for one in found] if isinstance(found, list) else found[()]
