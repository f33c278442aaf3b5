"""Operations whose results a shared copy holds, so that they are computed once per copied element (`prologue`).

    A_shared[e0][e1] = A[..][..];                     A_shared[e0][e1] = alpha * A[..][..];
    C += alpha * A_shared[..] * B_shared[..];   ->    C += A_shared[..] * B_shared[..];

The operation reads one element of the copied array, scalars and literals, and has the copy's type. All reads of the
copy are operands of the same operation. So the same operation runs on the same values, and the rounded result is the
same. Results that a compiler could have kept unrounded are left out: a product that is added to something else
(`alpha * A[i] + x`, a fused multiply-add). So are operations on integers: a copy may have elements that the program
does not read, and a division of those may fail.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

from generator.arithmetic import BIT_FUNCTIONS, FLOATING, c_type
from generator.expr import Binary, Call, Cast, Expr, Int, Load, Real, Unary, children, loads_of, map_children
from generator.polyhedral.memory.footprint import StagedArray
from generator.program import Program, Statement

_ARITHMETIC = frozenset("+-*/")
_MOST = 10_000
"""Expressions that several others share count as often."""

_Path: TypeAlias = "tuple[Expr, _Path | None]"
"""An expression, and the path to what is around it (None: an assignment): expressions are deep, and share theirs."""


def operation_on(program: Program, footprint: StagedArray) -> Expr | None:
    """Return the largest operation that a copy can hold, on the element `array` without subscripts; None if there is
    none.
    """
    return _operation(program, footprint.array, footprint.accesses)


@lru_cache(maxsize=1024)
def _operation(program: Program, array: str, accesses: tuple[tuple[str, int], ...]) -> Expr | None:
    types = {one.name: one.type for one in program.arrays}
    shared: list[Expr] | None = None
    for name, number in accesses:
        own = {access for reader, access in accesses if reader == name}
        for path in _paths(program.statement(name)).get(number, (None,)):
            found = list(_Operations(program, array, own, types).around(path))
            shared = found if shared is None else [operation for operation in shared if operation in found]
            if not shared:
                return None
    return shared[-1] if shared else None


def element_of(value: Expr) -> Load:
    """Return the element of an array in the value of a copied element."""
    return next(load for load in loads_of(value) if load.index)


def with_element(value: Expr, element: Load) -> Expr:
    """Return the operation `value` on another element."""
    if isinstance(value, Load):
        return element if value.index else value
    return map_children(value, lambda child: with_element(child, element))


def on_element(operation: Expr, array: str, element: Load) -> Expr:
    """Return `operation` (of `operation_on`) on an element of `array`."""
    if operation == Load(array):
        return element
    return map_children(operation, lambda child: on_element(child, array, element))


def operation_in(expr: Expr, accesses: Collection[int]) -> Expr:
    """Return `expr` without the numbers of its accesses, and without subscripts in accesses to an array: so it is equal
    to an operation that its copy may hold.
    """
    if isinstance(expr, Load):
        return Load(expr.array, () if expr.access in accesses else expr.index)
    return map_children(expr, lambda child: operation_in(child, accesses))


class _Operations:
    """Finds the operations around accesses `own` of a statement to `array`."""

    def __init__(self, program: Program, array: str, own: Collection[int], types: Mapping[str, str]) -> None:
        self.program, self.array, self.own, self.types = program, array, own, types

    def around(self, path: _Path | None) -> Iterator[Expr]:
        """Yield those on the path to an access, the innermost first."""
        element, path = path or (None, None)
        while path is not None:
            node, path = path
            outside = None if path is None else path[0]
            if not isinstance(element, Load) or not self._is_plain(node, element.index):
                return
            if c_type(node, self.types) == self.types[self.array] and _is_rounded(node, outside):
                yield operation_in(node, self.own)

    def _is_plain(self, expr: Expr, index: tuple[Expr, ...]) -> bool:
        """Return whether an expression computes a real number from the element at `index`, scalars and literals."""
        match expr:
            case Int() | Real():
                return True
            case Load(index=()):
                return self.program.array(expr.array).by_value
            case Load():
                return expr.access in self.own and expr.index == index
            case Unary("-" | "+") | Cast() | Call() | Binary():
                if isinstance(expr, Binary) and expr.op not in _ARITHMETIC:
                    return False
                if isinstance(expr, Call) and expr.function in BIT_FUNCTIONS:
                    return False
                return c_type(expr, self.types) in FLOATING and all(self._is_plain(c, index) for c in children(expr))
            case _:
                return False


@lru_cache(maxsize=1024)
def _paths(statement: Statement) -> Mapping[int, Sequence[_Path]]:
    """Return the paths to all occurrences of each access that a statement computes with: `0.04 * A[i] * A[i]` is one
    access. Nothing is known of statements that are very long.
    """
    body, found, visited = statement.body, dict[int, list[_Path]](), 0
    waiting: list[_Path] = [(value, None) for value in (*body.computed, *((body.guard,) if body.guard else ()))]
    while waiting:
        path = waiting.pop()
        expr, visited = path[0], visited + 1
        if visited > _MOST:
            return {}
        if isinstance(expr, Load) and expr.access >= 0:
            found.setdefault(expr.access, []).append(path)
        waiting += [(child, path) for child in children(expr)]
    return found


def _is_rounded(expr: Expr, around: Expr | None) -> bool:
    """Return whether no compiler fuses `expr` with what is `around` it (None: an assignment)."""
    product = expr
    while isinstance(product, Unary):
        product = product.operand
    if not (isinstance(product, Binary) and product.op == "*"):
        return True
    return isinstance(around, Call) or (isinstance(around, Binary) and around.op in "*/")
