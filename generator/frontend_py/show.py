"""Definitions as text, for comments and messages: `blur(x, y) = (in(x, y) + in(x + 1, y)) / 2`."""

from __future__ import annotations

from generator.frontend_py.definition import Definition
from generator.frontend_py.nodes import Call, Const, Edge, Expr, Given, Op, Pixel, RVar, Var

_INFIX = {"*": 5, "/": 5, "%": 5, "fmod": 5, "+": 4, "-": 4, "<<": 3, ">>": 3, "&": 2, "^": 2, "|": 2,
          "<": 1, "<=": 1, ">": 1, ">=": 1, "==": 1, "!=": 1}
_MOST = 160


def describe(name: str, definition: Definition, index: int) -> str:
    """Return value number `index` of a definition, with at most 160 characters."""
    left = f"{name}({', '.join(_Text(60).of(a) for a in definition.args)})"
    text = f"{left} = {_Text(_MOST).of(definition.values[index])}"
    return text if len(text) <= _MOST else text[:_MOST - 4] + " ..."


class _Text:
    """Writes one expression; stops descending when the text is long enough."""

    def __init__(self, budget: int) -> None:
        self.budget = budget

    def of(self, expr: Expr, outer: int = 0) -> str:
        if self.budget <= 0:
            return "..."
        text, strength = self._plain(expr)
        return f"({text})" if strength < outer else text

    def _plain(self, expr: Expr) -> tuple[str, int]:
        match expr:
            case Const(kind, value):
                self.budget -= 2
                return (f"{value:.9g}" if kind.is_float() else str(value)), 9
            case Var():
                self.budget -= len(expr.name)
                return expr.name or "_", 9
            case RVar(domain, dim):
                self.budget -= len(expr.name)
                return domain.name if len(domain.ranges) == 1 else f"{domain.name}.{'xyzw'[dim]}", 9
            case Edge(image, dim, what):
                return f"{image.title}.{what}[{dim}]", 9
            case Given(param):
                return param.name or f"{param.number():g}", 9
            case Call(func, args) | Pixel(func, args):
                self.budget -= len(func.title)
                return f"{func.name or 'f'}({', '.join(self.of(a) for a in args)})", 9
            case Op(name, kind, args):
                return self._operator(name, str(kind), args)
            case _:
                return "?", 9

    def _operator(self, name: str, kind: str, args: tuple[Expr, ...]) -> tuple[str, int]:
        self.budget -= len(name)
        if name in _INFIX:
            strength = _INFIX[name]
            word = "%" if name == "fmod" else name
            return f"{self.of(args[0], strength)} {word} {self.of(args[1], strength + 1)}", strength
        if name in ("neg", "!", "~"):
            return f"{'-' if name == 'neg' else name}{self.of(args[0], 9)}", 8
        word = kind if name == "cast" else name
        return f"{word}({', '.join(self.of(a) for a in args)})", 9
