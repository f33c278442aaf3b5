"""The host program of a Variant as text: in C (printed by `generator.emit`) and in Python."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias, assert_never

from generator.emit.cstyle import c_text
from generator.expr import Binary, Call, Cast, Expr, Fold, Int, Load, Name, Real, Select, Unary, map_children
from generator.variant import HostBranch, HostLoop, HostOp, Launch

LaunchText: TypeAlias = Callable[[Launch, Callable[[Expr], str]], list[str]]
"""Return the lines that launch a kernel; the second argument prints expressions."""
_TAKEN = frozenset(("context", "min", "max", "int", "_div", "_mod"))
"""Names that the statements in Python use."""


def c_lines(ops: Sequence[HostOp], launch: LaunchText, prefix: str, depth: int = 1) -> Iterator[str]:
    """Yield the host program as C statements. `prefix_min` and `prefix_max` are functions of two ints."""

    def text(expr: Expr) -> str:
        return c_text(_functions(expr, prefix))

    pad = "  " * depth
    for op in ops:
        match op:
            case Launch():
                yield from (pad + line for line in launch(op, text))
            case HostLoop(name, start, condition, step, body):
                yield f"{pad}for (int {name} = {text(start)}; {text(condition)}; {name} += {step}) {{"
                yield from c_lines(body, launch, prefix, depth + 1)
                yield f"{pad}}}"
            case HostBranch(condition, then, otherwise):
                yield f"{pad}if ({text(condition)}) {{"
                yield from c_lines(then, launch, prefix, depth + 1)
                if otherwise:
                    yield f"{pad}}} else {{"
                    yield from c_lines(otherwise, launch, prefix, depth + 1)
                yield f"{pad}}}"
            case _:
                assert_never(op)


def _functions(expr: Expr, prefix: str) -> Expr:
    """Replace `min` and `max`, which are not operators in C, by function calls."""
    inner = map_children(expr, lambda child: _functions(child, prefix))
    match inner:
        case Binary("min" | "max" as op, left, right):
            return Call(f"{prefix}_{op}", (left, right))
        case _:
            return inner


def python_lines(ops: Sequence[HostOp], launch: LaunchText, depth: int) -> Iterator[str]:
    """Yield the host program as Python statements; `_div` and `_mod` are C's `/` and `%`."""
    pad = "    " * depth
    for op in ops:
        match op:
            case Launch():
                yield from (pad + line for line in launch(op, python_text))
            case HostLoop(name, start, condition, step, body):
                yield f"{pad}{python_name(name)} = {python_text(start)}"
                yield f"{pad}while {python_text(condition)}:"
                yield from python_lines(body, launch, depth + 1)
                yield f"{pad}    {python_name(name)} += {step}"
            case HostBranch(condition, then, otherwise):
                yield f"{pad}if {python_text(condition)}:"
                yield from python_lines(then, launch, depth + 1)
                if not then:
                    yield f"{pad}    pass"
                if otherwise:
                    yield f"{pad}else:"
                    yield from python_lines(otherwise, launch, depth + 1)
            case _:
                assert_never(op)


def python_name(name: str) -> str:
    """Return a C name in a form that is valid in Python, and that the code around it does not use; different ones for
    different names.
    """
    own = name.rstrip("_")
    return f"{name}_" if keyword.iskeyword(own) or own in _TAKEN else name


def python_text(expr: Expr) -> str:
    """Return an integer expression in Python, fully parenthesised."""
    match expr:
        case Int(value):
            return str(value)
        case Name(name):
            return python_name(name)
        case Unary(op, operand):
            return f"int(not {python_text(operand)})" if op == "!" else f"({op}{python_text(operand)})"
        case Binary(op, left, right):
            return _python_binary(op, python_text(left), python_text(right))
        case Select(condition, then, otherwise):
            return f"({python_text(then)} if {python_text(condition)} else {python_text(otherwise)})"
        case Real() | Load() | Call() | Cast() | Fold():
            raise TypeError(f"not an integer expression: {expr}")
        case _:
            assert_never(expr)


def _python_binary(op: str, left: str, right: str) -> str:
    if function := {"/": "_div", "%": "_mod", "min": "min", "max": "max"}.get(op):
        return f"{function}({left}, {right})"
    return f"({left} { {'&&': 'and', '||': 'or'}.get(op, op)} {right})"
