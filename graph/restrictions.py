"""Restrictions on named parameters: Python expressions, or functions with the names of their parameters.

An expression may use arithmetic, comparisons, `and`, `or`, `not`, `x if y else z`, `in (1, 2, 3)`, numbers, texts,
`min`, `max` and `abs`: what auto-tuners' users write, e.g. `block_size_x * block_size_y <= 1024`. Nothing else gets
through, so that a file from somebody else can be read without running what it likes.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass

from generator.errors import InputError
from generator.plan import Value

_FUNCTIONS = {"min": min, "max": max, "abs": abs}
_ALLOWED = (
    ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.UAdd, ast.IfExp, ast.Compare,
    ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn, ast.BinOp, ast.Add, ast.Sub, ast.Mult,
    ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.Tuple, ast.List, ast.Name, ast.Load, ast.Constant, ast.Call,
)
_LARGEST_POWER = 64
_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Restriction:
    """A condition that a legal configuration fulfils; `names` are the parameters that `holds` takes, in this order."""

    names: tuple[str, ...]
    holds: Callable[..., object]
    text: str

    def allows(self, values: tuple[Value, ...]) -> bool:
        """Whether these values of `names` fulfil it. Raises InputError where it cannot be computed."""
        try:
            return bool(self.holds(*values))
        except (ArithmeticError, TypeError, ValueError) as error:
            given = ", ".join(f"{name} = {value!r}" for name, value in zip(self.names, values, strict=True))
            raise InputError(f"the restriction `{self.text}` cannot be computed for {given}: {error}; guard that case, "
                             "as in `b == 0 or a % b == 0`") from None


def parse_restriction(text: str) -> Restriction:
    """The restriction that the Python expression `text` states.

    Raises:
        InputError: it is no expression, or uses more than this module's docstring lists.
    """
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    try:
        return _parse(text.strip(), shown)
    except (SyntaxError, ValueError) as error:
        raise InputError(f"the restriction `{shown}` is no Python expression: {error}") from None
    except (RecursionError, MemoryError):
        raise InputError(f"the restriction `{shown}` is too long; split it at its `and`s") from None


def _parse(text: str, shown: str) -> Restriction:
    tree = ast.parse(text, mode="eval")
    for node in ast.walk(tree):
        _check(node, shown)
    renaming = _Renaming()
    body = renaming.visit(tree.body)
    parameters = [ast.arg(new) for new in renaming.names.values()]
    function = ast.Lambda(ast.arguments([], parameters, None, [], [], None, []), body)
    code = compile(ast.fix_missing_locations(ast.Expression(function)), "<restriction>", "eval")
    holds = eval(code, {"__builtins__": {}, **_FUNCTIONS})  # every node was checked above
    return Restriction(tuple(renaming.names), holds, shown.strip())


class _Renaming(ast.NodeTransformer):
    """Gives parameters names that no function has."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}

    def visit_Name(self, node: ast.Name) -> ast.Name:  # the name that ast asks for
        """A parameter in an expression."""
        return ast.Name(self.names.setdefault(node.id, f"p{len(self.names)}"), node.ctx)

    def visit_Call(self, node: ast.Call) -> ast.Call:
        """A function keeps its name."""
        return ast.Call(node.func, [self.visit(argument) for argument in node.args], [])


def _check(node: ast.AST, text: str) -> None:
    """Raise InputError unless `node` is of an allowed kind."""
    if not isinstance(node, _ALLOWED):
        raise InputError(f"the restriction `{text}` uses {type(node).__name__}; use arithmetic, comparisons, and, or, "
                         "not, numbers, min, max and abs")
    if isinstance(node, ast.Call) and not (isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS
                                           and node.args and not node.keywords):
        raise InputError(f"the restriction `{text}` calls `{ast.unparse(node.func)}`; only min, max and abs can be")
    if isinstance(node, ast.Constant) and not isinstance(node.value, str | int | float):
        raise InputError(f"the restriction `{text}` uses the constant {node.value!r}; use numbers and texts")
    if isinstance(node, ast.BinOp) and any(_is_sequence(operand) for operand in (node.left, node.right)):
        raise InputError(f"the restriction `{text}` calculates with a sequence; compare it, or use numbers")
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and not (
            isinstance(node.right, ast.Constant) and isinstance(node.right.value, int)
            and 0 <= node.right.value <= _LARGEST_POWER):
        raise InputError(f"the restriction `{text}` uses `**`; its exponent must be a number from 0 to {_LARGEST_POWER}")


def _is_sequence(node: ast.expr) -> bool:
    """Whether `*` would repeat it, a billion times if it likes."""
    return isinstance(node, ast.Tuple | ast.List) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
