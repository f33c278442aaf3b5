"""The cost of an element by the rules of Halide's autoscheduler, and the registers that its expressions need.

Mullapudi, Adams, Sharlet, Ragan-Kelley & Fatahalian, "Automatically scheduling Halide image processing pipelines"
(2016), as in Sioutas et al. (2020): an operation, cast, comparison, select, load or store counts 1; `abs` and bit
counting 5; a mathematical function 10, in double precision 20. Subscripts count like everything else.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from generator.arithmetic import BIT_FUNCTIONS
from generator.expr import Call, Expr, Fold, Int, Load, Name, Real, Unary, children

_CHEAP = frozenset(["fmin", "fmax", "fminf", "fmaxf"])
_FIVE = frozenset(["abs", "labs", "fabs", "fabsf", *BIT_FUNCTIONS])


def arithmetic_of(expr: Expr) -> float:
    """Return the cost of `expr` with its loads; the repeated parts of a Fold are multiplied by its usual trip count."""
    match expr:
        case Fold():
            found = [arithmetic_of(part) for part in children(expr)]
            before = 1 + len(expr.changes)
            return sum(found[:before]) + expr.usual * sum(found[before:])
        case Int() | Real() | Name():
            return 0.0
        case Call(function, _):
            own = 1.0 if function in _CHEAP else 5.0 if function in _FIVE else 10.0 if function.endswith("f") else 20.0
        case Unary("+", _):
            own = 0.0
        case _:
            own = 1.0
    return own + sum(map(arithmetic_of, children(expr)))


def counted_loads(expr: Expr, often: float = 1.0) -> Iterator[tuple[Load, float]]:
    """Yield all loads in `expr`, each with its number of executions if `expr` is computed `often` times."""
    if isinstance(expr, Load):
        yield expr, often
    before = 1 + len(expr.changes) if isinstance(expr, Fold) else None
    for place, part in enumerate(children(expr)):
        inside = before is not None and place >= before
        yield from counted_loads(part, often * expr.usual if inside and isinstance(expr, Fold) else often)


@lru_cache(maxsize=8192)
def registers_of(expr: Expr) -> int:
    """Return the registers needed to compute `expr` without storing anything: its Strahler number.

    Ershov 1958; Sethi & Ullman 1970: a value needs one, an operation on two parts of equal need one more than either.
    """
    if isinstance(expr, Int | Real | Name | Load):
        return 1
    needs = sorted((registers_of(child) for child in children(expr)), reverse=True)
    return max((need + place for place, need in enumerate(needs)), default=1)
