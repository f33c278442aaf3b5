"""Expressions: one closed union for statement bodies, subscripts, loop bounds and host code.

Operators have their C meaning (`/` and `%` truncate on integers), so that an expression prints as it was read.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from operator import is_, itemgetter
from typing import TypeAlias, assert_never


@dataclass(frozen=True, slots=True)
class Int:
    """An integer literal."""

    value: int


@dataclass(frozen=True, slots=True)
class Real:
    """A floating-point literal in the notation of the source (`0.2f`)."""

    text: str


@dataclass(frozen=True, slots=True)
class Name:
    """A variable of the generated code: an iterator, a block or thread index, a scalar argument, or a variable of a
    Fold.
    """

    name: str
    type: str = field(default="int", repr=False)  # digests are older


@dataclass(frozen=True, slots=True)
class Load:
    """An array element, or a scalar if `index` is empty.

    `access` is the number of the access in its statement (-1: none); lowering uses it to replace the subscripts.
    """

    array: str
    index: tuple[Expr, ...] = ()
    access: int = -1


@dataclass(frozen=True, slots=True)
class Unary:
    """`op operand` with op one of - + ! ~."""

    op: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class Binary:
    """`left op right` with a C binary operator; `min` and `max` are operators too."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a pure mathematical function."""

    function: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Cast:
    """`(type) operand`."""

    type: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class Select:
    """`condition ? then : otherwise`."""

    condition: Expr
    then: Expr
    otherwise: Expr


@dataclass(frozen=True, slots=True)
class Fold:
    """The final value of a variable of a loop whose bounds may depend on data. The loop is part of one statement.

    `for (iterator = start; condition; iterator += step) { lets; all changes at once }`. Each of `changes` is a variable
    with its initial and its next value; the result is the first variable. `lets`: variables of one iteration, in order
    of computation. `usual`: the approximate number of iterations. A fold is the value of an assignment or of a let, or
    a branch of a Select that is such a value; it is never an operand.
    """

    changes: tuple[tuple[Name, Expr, Expr], ...]
    iterator: Name
    start: Expr
    condition: Expr
    step: int
    lets: tuple[tuple[Name, Expr], ...]
    usual: int

    @property
    def total(self) -> Name:
        """The variable that holds the result."""
        return self.changes[0][0]


Expr: TypeAlias = Int | Real | Name | Load | Unary | Binary | Call | Cast | Select | Fold
Evaluation: TypeAlias = Callable[[Mapping[str, int]], int]


def evaluate(expr: Expr, names: Mapping[str, int]) -> int:
    """Return the integer value of `expr` for these values of `names`; used for host loops and grids.

    Raises:
        KeyError: a name has no value.
        TypeError: the expression is not an integer expression.
    """
    return evaluation(expr)(names)


def evaluation(expr: Expr) -> Evaluation:
    """Return a function like `evaluate` of `expr`, for many values of its names. Raises TypeError as `evaluate`."""
    match expr:
        case Int(value):
            return lambda _: value
        case Name(name):
            return itemgetter(name)
        case Unary(op, operand):
            one, inner = _SIGNS[op], evaluation(operand)
            return lambda names: one(inner(names))
        case Binary(op, left, right):
            if op not in _OPERATORS:
                raise TypeError(f"not an integer operator: {op}")
            both, first, second = _OPERATORS[op], evaluation(left), evaluation(right)
            return lambda names: both(first(names), second(names))
        case Select(condition, then, otherwise):
            holds, chosen, other = evaluation(condition), evaluation(then), evaluation(otherwise)
            return lambda names: chosen(names) if holds(names) else other(names)
        case Real() | Load() | Call() | Cast() | Fold():
            raise TypeError(f"not an integer expression: {expr}")
        case _:
            assert_never(expr)


def _quotient(left: int, right: int) -> int:
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _shifted(shift: Callable[[int, int], int], left: int, right: int) -> int:
    if not 0 <= right < 64:
        raise TypeError(f"not a number of bits: {right}")
    return shift(left, right)


_SIGNS: Mapping[str, Callable[[int], int]] = {"-": operator.neg, "+": operator.pos, "!": lambda value: int(not value),
                                              "~": operator.invert}
def _truth(compare: Callable[[int, int], bool]) -> Callable[[int, int], int]:
    return lambda left, right: int(compare(left, right))


_OPERATORS: Mapping[str, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": _quotient,
    "%": lambda left, right: left - right * _quotient(left, right), "min": min, "max": max,
    "&": operator.and_, "^": operator.xor, "<<": partial(_shifted, operator.lshift),
    ">>": partial(_shifted, operator.rshift), "&&": lambda left, right: int(bool(left and right)),
    "||": lambda left, right: int(bool(left or right)), "<": _truth(operator.lt), "<=": _truth(operator.le),
    ">": _truth(operator.gt), ">=": _truth(operator.ge), "==": _truth(operator.eq), "!=": _truth(operator.ne)}


def children(expr: Expr) -> tuple[Expr, ...]:
    """Return the direct operands of `expr`, in source order."""
    match expr:
        case Binary():
            return (expr.left, expr.right)
        case Int() | Real() | Name():
            return ()
        case Load():
            return expr.index
        case Unary() | Cast():
            return (expr.operand,)
        case Call():
            return expr.arguments
        case Select():
            return (expr.condition, expr.then, expr.otherwise)
        case Fold():
            firsts, nexts = [first for _, first, _ in expr.changes], [following for _, _, following in expr.changes]
            return (expr.start, *firsts, expr.condition, *(value for _, value in expr.lets), *nexts)
        case _:
            assert_never(expr)


def parts(expr: Expr) -> Iterator[Expr]:
    """Yield `expr` and all its subexpressions in source order, operands after their parents."""
    waiting = [expr]
    while waiting:
        part = waiting.pop()
        yield part
        if not isinstance(part, Name | Int | Real):
            waiting += reversed(children(part))


def loads_of(expr: Expr) -> Iterator[Load]:
    """Yield all loads in `expr`, including those in subscripts, with repetitions."""
    waiting = [expr]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Load):
            yield part
            waiting += reversed(part.index)
        elif not isinstance(part, Name | Int | Real):
            waiting += reversed(children(part))


def names_of(expr: Expr) -> frozenset[str]:
    """Return the names of the variables of the generated code in `expr`."""
    return frozenset(part.name for part in parts(expr) if isinstance(part, Name))


def map_children(expr: Expr, function: Callable[[Expr], Expr]) -> Expr:
    """Return `expr` with `function` applied to its direct operands; the same object if nothing changes."""
    match expr:
        case Binary():
            left, right = function(expr.left), function(expr.right)
            return expr if left is expr.left and right is expr.right else Binary(expr.op, left, right)
        case Int() | Real() | Name():
            return expr
        case Load():
            index = tuple(map(function, expr.index))
            return expr if all(map(is_, index, expr.index)) else Load(expr.array, index, expr.access)
        case Unary():
            return Unary(expr.op, function(expr.operand))
        case Call():
            return Call(expr.function, tuple(map(function, expr.arguments)))
        case Cast():
            return Cast(expr.type, function(expr.operand))
        case Select():
            return Select(function(expr.condition), function(expr.then), function(expr.otherwise))
        case Fold():
            changes = tuple((name, function(first), function(following)) for name, first, following in expr.changes)
            lets = tuple((name, function(value)) for name, value in expr.lets)
            return replace(
                expr, changes=changes, start=function(expr.start), condition=function(expr.condition), lets=lets
            )
        case _:
            assert_never(expr)
