"""What an element costs by the rules of Halide's autoscheduler, and the registers that its expressions take.

Mullapudi, Adams, Sharlet, Ragan-Kelley & Fatahalian, "Automatically scheduling Halide image processing pipelines"
(2016), as Sioutas et al. (2020) have it: an operation, cast, comparison, choice, load or store counts 1; `abs` and
counting of bits 5; a mathematical function 10, in double precision 20. Subscripts count like everything else.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from generator.arithmetic import BIT_FUNCTIONS
from generator.expr import Call, Expr, Fold, Int, Load, Name, Real, Unary, children

_CHEAP = frozenset(["fmin", "fmax", "fminf", "fmaxf"])
_FIVE = frozenset(["abs", "labs", "fabs", "fabsf", *BIT_FUNCTIONS])


def arithmetic_of(expr: Expr) -> float:
    """The cost of `expr`, its loads included; what a Fold has after its first values counts as often as it runs."""
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
    """All loads in `expr`, each with how often it happens when `expr` is computed `often` times."""
    if isinstance(expr, Load):
        yield expr, often
    before = 1 + len(expr.changes) if isinstance(expr, Fold) else None
    for place, part in enumerate(children(expr)):
        inside = before is not None and place >= before
        yield from counted_loads(part, often * expr.usual if inside and isinstance(expr, Fold) else often)


@lru_cache(maxsize=8192)
def registers_of(expr: Expr) -> int:
    """Registers that it takes to compute `expr` without storing anything: its Strahler number.

    Ershov 1958; Sethi & Ullman 1970: a value takes one, an operation on two parts of equal need one more than either.
    """
    if isinstance(expr, Int | Real | Name | Load):
        return 1
    needs = sorted((registers_of(child) for child in children(expr)), reverse=True)
    return max((need + place for place, need in enumerate(needs)), default=1)
