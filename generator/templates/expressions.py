"""Expressions over named parameters: restrictions, sizes of launches, metrics.

An expression may use arithmetic, comparisons, `and`, `or`, `not`, `x if y else z`, `in (1, 2, 3)`, numbers, texts,
`min`, `max`, `abs` and `ceil`: the expressions of auto-tuners' users, e.g. `block_size_x * block_size_y <= 1024`.
Nothing else is allowed, so that reading a file from outside cannot run arbitrary code.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from generator.errors import InputError
from generator.plain_text import one_line
from generator.plan import Value

_FUNCTIONS = {"min": min, "max": max, "abs": abs, "ceil": math.ceil}
_ALLOWED = (
    ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.UAdd, ast.IfExp, ast.Compare,
    ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn, ast.BinOp, ast.Add, ast.Sub, ast.Mult,
    ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.Tuple, ast.List, ast.Name, ast.Load, ast.Constant, ast.Call,
)
_LARGEST_POWER, _LONGEST, _MOST_BITS = 64, 2500, 500_000  # division takes less than a second for such numbers
_WORD = 64
"""The most bits of a parameter's value."""


@dataclass(frozen=True, slots=True)
class Restriction:
    """A condition on legal configurations. `names`: the parameters of `holds`, in this order.

    `calculated`: those that are operands of arithmetic, which must not be texts. `kind`: its name in messages; for
    other kinds than restrictions the value matters.
    """

    names: tuple[str, ...]
    holds: Callable[..., object]
    text: str
    calculated: frozenset[str] = frozenset()
    kind: str = "restriction"

    def allows(self, values: tuple[Value, ...]) -> bool:
        """Return whether these values of `names` fulfil it. Raises InputError if it cannot be computed."""
        return bool(self._computed(values))

    def number(self, values: Mapping[str, Value]) -> float:
        """Return its value as a number. Raises InputError if it is not a number or cannot be computed."""
        found = self._computed(tuple([values[name] for name in self.names]))
        if isinstance(found, int) and abs(found) >> (_WORD - 1):
            raise InputError(f"the {self.kind} `{self.text}` is too large a number: it has {found.bit_length()} bits")
        if not isinstance(found, int | float) or not math.isfinite(found):
            raise InputError(f"the {self.kind} `{self.text}` is {repr(found)[:80]}; it has to be a number")
        return found

    def _computed(self, values: tuple[Value, ...]) -> object:
        for name, value in zip(self.names, values, strict=True):
            if isinstance(value, str) and name in self.calculated:  # `*` would repeat it
                raise InputError(f"the {self.kind} `{self.text}` calculates with `{name}`, which is the text "
                                 f"{value!r:.80}; compare it, or use numbers")
            if isinstance(value, int) and abs(value) >> _WORD:
                raise InputError(f"the {self.kind} `{self.text}` uses `{name}`, a number of {value.bit_length()} bits; "
                                 f"values have at most {_WORD}")
        try:
            return self.holds(*values)
        except (ArithmeticError, TypeError, ValueError) as error:
            given = ", ".join(f"{name} = {value!r}" for name, value in zip(self.names, values, strict=True))
            raise InputError(f"the {self.kind} `{self.text}` cannot be computed for {given}: {error}; guard that case, "
                             "as in `b == 0 or a % b == 0`") from None


def parse_restriction(text: str, kind: str = "restriction") -> Restriction:
    """Parse the Python expression `text`. `kind`: its name in messages.

    Raises:
        InputError: it is not an expression, or uses more than this module's docstring lists.
    """
    shown = one_line(text)
    label = f"{kind} `{shown}`"
    if len(text) > _LONGEST:
        raise InputError(
            f"the {label} is too long ({len(text)} characters); split it at its `and`s, into parts of "
            f"at most {_LONGEST}"
        )
    try:
        return _parse(text.strip(), shown, kind)
    except (SyntaxError, ValueError) as error:
        raise InputError(f"the {label} is not a Python expression: {error}") from None
    except (RecursionError, MemoryError):
        raise InputError(f"the {label} is too long; split it at its `and`s") from None


def _parse(text: str, shown: str, kind: str) -> Restriction:
    label = f"{kind} `{shown}`"
    tree = _tree(text)
    calculated: set[str] = set()
    for node in ast.walk(tree):
        _check(node, label)
        if isinstance(node, ast.BinOp):
            calculated |= set(_names(node.left, label)) | set(_names(node.right, label))
            _check_power(node, label)
    if _bits(tree.body) > _MOST_BITS:
        raise InputError(f"the {label} may come to numbers of more than {_MOST_BITS} bits; use smaller ones")
    renaming = _Renaming()
    body = renaming.visit(tree.body)
    parameters = [ast.arg(new) for new in renaming.names.values()]
    function = ast.Lambda(ast.arguments([], parameters, None, [], [], None, []), body)
    code = compile(ast.fix_missing_locations(ast.Expression(function)), "<restriction>", "eval")
    holds = eval(code, {"__builtins__": {}, **_FUNCTIONS})  # every node was checked above
    return Restriction(tuple(renaming.names), holds, shown.strip(), frozenset(calculated), kind)


def _tree(text: str) -> ast.Expression:
    """Parse the expression, which may span several lines. Raises SyntaxError."""
    if "\n" not in text:
        return ast.parse(text, mode="eval")
    ast.parse(f"[\n{text}\n]", mode="eval")  # fails if brackets of the text would close the added ones
    return ast.parse(f"(\n{text}\n)", mode="eval")


def _bits(node: ast.expr) -> int:
    """Return the most bits that an expression's value may have as an integer."""
    match node:
        case ast.Constant(value=int(value)):
            return value.bit_length()
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _bits(left) + _bits(right)
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int(exponent))):
            return _bits(left) * exponent
        case ast.BinOp(left=left, right=right):
            return max(_bits(left), _bits(right)) + 1
        case _:
            return max((_bits(part) for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)),
                       default=_WORD)


class _Renaming(ast.NodeTransformer):
    """Renames parameters so that they cannot clash with functions."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}

    def visit_Name(self, node: ast.Name) -> ast.Name:  # the name that ast asks for
        """Rename a parameter in an expression."""
        return ast.Name(self.names.setdefault(node.id, f"p{len(self.names)}"), node.ctx)

    def visit_Call(self, node: ast.Call) -> ast.Call:
        """Keep the name of a function."""
        return ast.Call(node.func, [self.visit(argument) for argument in node.args], [])


def _check(node: ast.AST, label: str) -> None:
    """Raise InputError unless `node` is of an allowed kind."""
    if not isinstance(node, _ALLOWED):
        raise InputError(f"the {label} uses {type(node).__name__}; use arithmetic, comparisons, and, or, "
                         "not, numbers, min, max, abs and ceil")
    if isinstance(node, ast.Call) and not (isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS
                                           and node.args and not node.keywords):
        raise InputError(f"the {label} calls `{ast.unparse(node.func)}`; only min, max, abs and ceil can be")
    if isinstance(node, ast.Constant) and not isinstance(node.value, str | int | float):
        raise InputError(f"the {label} uses the constant {node.value!r}; use numbers and texts")


def _names(operand: ast.expr, label: str) -> Iterator[str]:
    """Yield the parameters that may be operands of arithmetic.

    Raises InputError for texts and sequences, which `*` would repeat.
    """
    match operand:
        case ast.Name(id=name):
            yield name
        case ast.IfExp():
            yield from _names(operand.body, label)
            yield from _names(operand.orelse, label)
        case ast.BoolOp(values=parts) | ast.Call(args=parts):
            for part in parts:
                for value in part.elts if isinstance(part, ast.Tuple | ast.List) else [part]:
                    yield from _names(value, label)
        case ast.UnaryOp(operand=part):
            yield from _names(part, label)
        case ast.Tuple() | ast.List() | ast.Constant(value=str()):
            raise InputError(f"the {label} calculates with a text or sequence; compare it, or use numbers")
        case _:  # numbers, truth values and results of arithmetic
            return


def _check_power(node: ast.BinOp, label: str) -> None:
    """Raise InputError for powers that could be too large to compute."""
    if not isinstance(node.op, ast.Pow):
        return
    if not (
        isinstance(node.right, ast.Constant)
        and isinstance(node.right.value, int)
        and 0 <= node.right.value <= _LARGEST_POWER
    ):
        raise InputError(
            f"the {label} uses `**`; its exponent must be a number from 0 to {_LARGEST_POWER}"
        )
    if any(isinstance(part, ast.Pow) for part in ast.walk(node.left)):
        raise InputError(f"the {label} takes a power of a power; write one power")
