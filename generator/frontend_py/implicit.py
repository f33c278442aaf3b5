"""Implicit Vars: `_` stands for all coordinates that are not written out.

    g[x, _] = f[x, _] + 1       with a Func f of three dimensions:       g[x, _0, _1] = f[x, _0, _1] + 1
"""

from __future__ import annotations

from collections.abc import Sequence

from generator.frontend_py.nodes import Expr, Var, parts

REST = Var("_")
NUMBERED = tuple(Var(f"_{k}") for k in range(10))
_NUMBER = {var.key: k for k, var in enumerate(NUMBERED)}


def is_rest(arg: Expr) -> bool:
    """Whether `arg` is `_`."""
    return isinstance(arg, Var) and arg.key == REST.key


def placed(args: tuple[Expr, ...], wanted: int) -> tuple[Expr, ...]:
    """`args`, of which `_` is replaced by as many numbered Vars as make them `wanted`; unchanged without `_`."""
    place = next((k for k, arg in enumerate(args) if is_rest(arg)), None)
    if place is None:
        return args
    return (*args[:place], *NUMBERED[:max(wanted - len(args) + 1, 0)], *args[place + 1:])


def used(values: Sequence[Expr]) -> int:
    """How many implicit Vars `values` have: that is what `_` on the left side stands for."""
    return 1 + max((_NUMBER[n.key] for n in parts(*values) if isinstance(n, Var) and n.key in _NUMBER), default=-1)
