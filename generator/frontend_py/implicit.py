"""Implicit Vars: `_` replaces all coordinates that are not written out.

    g[x, _] = f[x, _] + 1         with a Func f of three dimensions:         g[x, _0, _1] = f[x, _0, _1] + 1
"""

from __future__ import annotations

from collections.abc import Sequence

from generator.frontend_py.nodes import Expr, Var, parts

REST = Var("_")
NUMBERED = tuple(Var(f"_{k}") for k in range(10))
_NUMBER = {var.key: k for k, var in enumerate(NUMBERED)}


def is_rest(arg: Expr) -> bool:
    """Return whether `arg` is `_`."""
    return isinstance(arg, Var) and arg.key == REST.key


def placed(args: tuple[Expr, ...], wanted: int) -> tuple[Expr, ...]:
    """Return `args` with `_` replaced by numbered Vars, `wanted` coordinates in all; unchanged without `_`."""
    place = next((k for k, arg in enumerate(args) if is_rest(arg)), None)
    if place is None:
        return args
    return (*args[:place], *NUMBERED[:max(wanted - len(args) + 1, 0)], *args[place + 1:])


def used(values: Sequence[Expr]) -> int:
    """Return the number of implicit Vars in `values`, which `_` on the left side replaces."""
    return 1 + max((_NUMBER[n.key] for n in parts(*values) if isinstance(n, Var) and n.key in _NUMBER), default=-1)
