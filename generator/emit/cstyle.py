"""Print expressions and loops in C syntax; a dialect supplies names of functions and literals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import assert_never

from generator.emit.row_starts import from_row_start
from generator.expr import Binary, Call, Cast, Expr, Fold, Int, Load, Name, Real, Select, Unary

_PRECEDENCE = {"*": 13, "/": 13, "%": 13, "+": 12, "-": 12, "<<": 11, ">>": 11, "<": 10, "<=": 10, ">": 10,
               ">=": 10, "==": 9, "!=": 9, "&": 8, "^": 7, "|": 6, "&&": 5, "||": 4}
_COMPARISONS = frozenset(["<", "<=", ">", ">=", "==", "!="])
_UNARY, _ATOM, _TERNARY, _SHIFT = 14, 20, 3, 11
FACTOR = _PRECEDENCE["*"]
"""The least precedence of the left operand of a product or a quotient."""


def plain_call(name: str, arguments: list[str]) -> str:
    """Return `name(a, b)`, the C syntax of a function call."""
    return f"{name}({', '.join(arguments)})"


def c_text(expr: Expr) -> str:
    """Return `expr` in C syntax, with arrays indexed as written."""
    return Printer({}, {}, plain_call).text(expr)


@dataclass(frozen=True, slots=True)
class Printer:
    """Prints expressions. `shapes`: the extents of arrays that are indexed linearly (row-major).

    Arrays not in `shapes` are indexed as written (`a[i][j]`). `call` prints a function call, also of `min` and `max`.
    `scalars` maps names of scalars to their text (`alpha`, `sum[0]`). `textures`: for arrays that are textures, the
    function that reads an element and its number of coordinates, one (linear) or two (the last index; the others,
    linear). `symbols`, `reals`: the texts of arrays and real numbers that have other names in the text. `row_starts`:
    other arrays are addressed as `row_starts.py` says.
    """

    shapes: Mapping[str, tuple[int, ...]]
    scalars: Mapping[str, str]
    call: Callable[[str, list[str]], str]
    textures: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    symbols: Mapping[str, str] = field(default_factory=dict)
    reals: Mapping[str, str] = field(default_factory=dict)
    stride_suffix: str = ""
    row_starts: bool = False

    def text(self, expr: Expr, outer: int = 0) -> str:
        """Return the C text of `expr`, in parentheses if its precedence is less than `outer`."""
        text, strength = self._print(expr)
        return f"({text})" if strength < outer else text

    def _print(self, expr: Expr) -> tuple[str, int]:
        match expr:
            case Name():
                return expr.name, _ATOM
            case Load():
                return self.element(expr.array, expr.index), _ATOM
            case Int():
                return str(expr.value), _ATOM if expr.value >= 0 else _UNARY
            case Real():
                return self.reals.get(expr.text, expr.text), _ATOM
            case Unary(op, operand):
                inner = self.text(operand, _UNARY)
                return f"{op} {inner}" if inner[0] == op else op + inner, _UNARY
            case Binary("min" | "max" as op, left, right):
                return self.call(op, [self.text(left), self.text(right)]), _ATOM
            case Binary(op, left, right):
                strength = _PRECEDENCE[op]
                least = _SHIFT if op in _COMPARISONS else strength  # Intel's compiler warns about `a < b < c`
                after = FACTOR if op == "^" else max(least, strength + 1)  # few people know the precedence of ^
                return f"{self.text(left, least)} {op} {self.text(right, after)}", strength
            case Call(function, arguments):
                return self.call(function, [self.text(a) for a in arguments]), _ATOM
            case Cast(kind, operand):
                return f"({kind}){self.text(operand, _UNARY)}", _UNARY
            case Select(condition, then, otherwise):
                return (f"{self.text(condition, _TERNARY + 1)} ? {self.text(then)} : "
                        f"{self.text(otherwise, _TERNARY)}"), _TERNARY
            case Fold():
                raise AssertionError("a fold is not an expression of C: statements write it (generator/emit/folds.py)")
            case _:
                assert_never(expr)

    def element(self, array: str, index: tuple[Expr, ...]) -> str:
        """Return an array element or scalar."""
        if not index:
            return self.scalars.get(array, array)
        if array not in self.shapes:
            if self.row_starts and len(index) == 1 and (split := from_row_start(index[0])) is not None:
                return f"({array} + {self.text(split[0], 12)})[{self.text(split[1])}]"
            return array + "".join(f"[{self.text(i)}]" for i in index)
        extents = self.shapes[array]
        name = self.symbols.get(array, array)
        if array not in self.textures:
            return f"{name}[{self._linear(extents, index)}]"
        function, coordinates = self.textures[array]
        if coordinates == 1:
            return f"{function}({name}, {self._linear(extents, index)})"
        return f"{function}({name}, {self.text(index[-1])}, {self._linear(extents[:-1], index[:-1])})"

    def _linear(self, extents: tuple[int, ...], index: tuple[Expr, ...]) -> str:
        """Return the number of an element, counted row by row."""
        linear = self.text(index[0], 13 if len(index) > 1 else 0)
        for number, (extent, part) in enumerate(zip(extents[1:], index[1:], strict=True), 2):
            inner = f"{linear} * {extent}{self.stride_suffix} + {self.text(part, 12)}"
            linear = f"({inner})" if number < len(index) else inner
        return linear
